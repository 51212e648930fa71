// What a CustomOperator must be.
#pragma once

#include "leat/custom_operator.h"

namespace leat::custom {

// invalid_argument that names the operator and the first contradiction in its description.
Status check_schema(const CustomOperator& described);

}  // namespace leat::custom
