// The cases of these operators are graphs: tests/unit/sequences_test.cpp.
#include "conformance/op_case.h"

namespace leat::testing {

std::vector<OpCase> sequence_cases() {
    return {};
}

}  // namespace leat::testing
