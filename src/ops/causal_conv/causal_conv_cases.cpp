// Conformance cases of CausalConvWithState.
#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> causal_conv_cases() {
    std::vector<OpCase> cases;
    struct Extents {
        int64_t batch, channels, length, kernel;
    };
    const auto add = [&cases](const std::string& name, const Extents& e, bool has_bias,
                              bool has_past, const std::string& activation,
                              DType dtype = DType::kFloat32) {
        std::vector<CaseInput> inputs{random_input({e.batch, e.channels, e.length}, dtype),
                                      random_input({e.channels, 1, e.kernel}, dtype)};
        inputs.push_back(has_bias ? random_input({e.channels}, dtype) : absent_input());
        if (has_past) {
            inputs.push_back(random_input({e.batch, e.channels, e.kernel - 1}, dtype));
        }
        cases.push_back(make_case("CausalConvWithState", name, std::move(inputs),
                                  {{"activation", activation}}));
        cases.back().output_count = 2;
        cases.back().atol = 1e-5;
    };
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32}) {
        const std::string name(name_of(dtype));
        add(name + "_plain", {2, 3, 8, 4}, false, false, "none", dtype);
        add(name + "_all", {2, 3, 8, 4}, true, true, "silu", dtype);
        for (size_t i = cases.size() - 2; bits_of(dtype) == 16 && i < cases.size(); ++i) {
            cases[i].rtol = cases[i].atol = 5e-2;
        }
    }
    add("bias", {2, 3, 5, 3}, true, false, "none");
    add("past", {2, 3, 5, 3}, false, true, "swish");
    add("one_position", {2, 5, 1, 4}, true, true, "silu");
    add("shorter_than_state", {2, 3, 2, 6}, false, true, "none");
    add("shorter_than_zeros", {2, 3, 2, 6}, false, false, "none");
    add("kernel_1", {2, 3, 4, 1}, true, true, "none");
    add("no_positions", {2, 3, 0, 4}, true, true, "silu");
    add("no_batch", {0, 3, 4, 4}, true, true, "silu");
    add("large", {2, 70, 301, 4}, true, true, "silu");
    return cases;
}

}  // namespace leat::testing
