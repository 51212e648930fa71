#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> mel_weight_matrix_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, int64_t bands, int64_t length, CaseInput low,
                              CaseInput high, Attributes attributes = {}) {
        OpCase each =
            make_case("MelWeightMatrix", name,
                      {given_input<int64_t>({}, {bands}), given_input<int64_t>({}, {length}),
                       given_input<int64_t>({}, {8192}), std::move(low), std::move(high)},
                      std::move(attributes));
        for (CaseInput& input : each.inputs) {
            input.constant = true;
        }
        cases.push_back(std::move(each));
    };
    const auto edge = [](float hertz) { return given_input<float>({}, {hertz}); };
    add("plain", 8, 16, edge(0), edge(4096));
    add("more_bands", 10, 16, edge(0), edge(4096));
    add("longer", 8, 64, edge(0), edge(4096));
    add("narrow", 4, 256, edge(125), edge(3000));
    add("no_bands", 0, 16, edge(0), edge(4096));
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat64, DType::kInt32,
                              DType::kInt64, DType::kUint8}) {
        add(std::string(name_of(dtype)), 5, 64, edge(0), edge(4000),
            {{"output_datatype", int64_t(dtype)}});
    }
    add("f64_edges", 5, 64, given_input<double>({}, {20}), given_input<double>({1}, {4000}));
    return cases;
}

}  // namespace leat::testing
