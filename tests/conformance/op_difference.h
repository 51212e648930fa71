// Results of an OpCase against those of the reference kernel.
#pragma once

#include <iosfwd>
#include <string>

#include "conformance/op_case.h"

namespace leat::testing {

// For GoogleTest's messages.
std::ostream& operator<<(std::ostream& stream, const OpCase& op_case);

// The case's name as GoogleTest takes it.
std::string test_name_of(const OpCase& op_case);

// Empty if all elements agree within the case's tolerance, else the first that does not.
std::string difference(const Tensor& got, const Tensor& want, const OpCase& op_case);

}  // namespace leat::testing
