// Loops of many forms are in tests/conformance/control_flow_test.cpp: their operands decide what
// they do.
#include "conformance/op_case.h"

namespace leat::testing {

std::vector<OpCase> control_flow_cases() {
    return {};
}

}  // namespace leat::testing
