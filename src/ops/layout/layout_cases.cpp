#include "conformance/op_case.h"

namespace leat::testing {

// Cases describe logical tensors; what Layout does to strides is tested in
// tests/unit/movement_copy_test.cpp.
std::vector<OpCase> layout_cases() {
    return {};
}

}  // namespace leat::testing
