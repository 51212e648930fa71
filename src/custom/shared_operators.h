// Shared objects with custom operators.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "leat/custom_operator.h"

namespace leat::custom {

// What a shared object registers. `library` closes it and goes last.
struct SharedOperators {
    std::shared_ptr<const void> library;
    std::vector<CustomOperator> operators;
};

// An error names the file and what is wrong: it is no shared object, none with operators, of
// another version, or its registration fails or throws. Nothing stays open then.
Result<SharedOperators> open_shared_operators(const std::string& file);

}  // namespace leat::custom
