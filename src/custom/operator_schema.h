// What a CustomOperator must be, and what its nodes' attributes must be.
#pragma once

#include <string>

#include "base/error.h"
#include "leat/custom_operator.h"

namespace leat::custom {

// invalid_argument that names the operator and the first contradiction in its description.
Status check_schema(const CustomOperator& described);

// A node's attributes are declared, of their types, and none that is required is missing.
Status check_attributes(const CustomOperator& described, const Attributes& attributes);

}  // namespace leat::custom
