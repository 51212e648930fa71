#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> ml_cases() {
    return {};
}

}  // namespace leat::testing
