// Conformance cases of LayerNormalization.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

OpCase normalization(const char* name, std::vector<CaseInput> inputs, Attributes attributes = {}) {
    OpCase op_case{std::string("LayerNormalization/") + name, "LayerNormalization",
                   std::move(inputs), std::move(attributes)};
    op_case.atol = 1e-5;
    return op_case;
}

}  // namespace

std::vector<OpCase> layer_normalization_cases() {
    const Shape wide{768};
    std::vector<OpCase> cases{
        normalization("rows_of_768",
                      {random_input({20, 768}), random_constant(wide), random_constant(wide)}),
        normalization("rows_of_13",
                      {random_input({7, 13}), random_input({13}), random_input({13})}),
        normalization("rows_of_1", {random_input({7, 1}), random_input({1}), random_input({1})}),
        normalization("no_bias", {random_input({4, 5, 33}), random_input({33})}),
        normalization("far_from_zero",
                      {random_input({4, 100}, DType::kFloat32, 999, 1001), random_input({100})}),
        normalization("axis1",
                      {random_input({3, 4, 9}), random_input({4, 9}), random_input({4, 9})},
                      {{"axis", int64_t{1}}, {"epsilon", 0.1F}}),
        normalization("axis0", {random_input({6, 5}), random_input({6, 5})},
                      {{"axis", int64_t{0}}}),
        normalization("broadcast_scale",
                      {random_input({3, 4, 9}), random_input({9}), random_input({4, 1})},
                      {{"axis", int64_t{1}}}),
        normalization("scalar_scale", {random_input({3, 9}), random_input({})}),
        normalization("no_rows", {random_input({0, 9}), random_input({9})}),
        normalization("f64",
                      {random_input({3, 9}, DType::kFloat64), random_input({9}, DType::kFloat64)}),
    };
    OpCase statistics = normalization(
        "statistics", {random_input({5, 6, 40}), random_input({40}), random_input({40})});
    statistics.output_count = 3;
    cases.push_back(std::move(statistics));
    // Nearly equal elements: every rounding of a running sum goes one way.
    std::vector<float> ramp(100'001);
    for (size_t i = 0; i < ramp.size(); ++i) {
        ramp[i] = 0.1F + 1e-6F * float(i % 1000);
    }
    cases.push_back(normalization(
        "long_row", {given_input<float>({1, 100'001}, ramp), random_input({100'001})}));
    cases.back().attributes = {{"epsilon", 1e-12F}};
    cases.back().output_count = 3;
    cases.back().rtol = 1e-4;  // of elements that are near to the mean
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        const std::string name(name_of(dtype));
        OpCase half =
            normalization(name.c_str(), {random_input({3, 9}, dtype), random_input({9}, dtype)});
        half.rtol = half.atol = 5e-2;
        half.output_count = 3;
        cases.push_back(std::move(half));
    }
    return cases;
}

}  // namespace leat::testing
