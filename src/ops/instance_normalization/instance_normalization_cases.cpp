// Conformance cases of InstanceNormalization.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

OpCase normalization(const char* name, Shape shape, DType dtype = DType::kFloat32) {
    const Shape channels{shape[1]};
    OpCase op_case{
        std::string("InstanceNormalization/") + name,
        "InstanceNormalization",
        {random_input(shape, dtype), random_input(channels, dtype), random_input(channels, dtype)}};
    op_case.atol = 1e-5;
    return op_case;
}

}  // namespace

std::vector<OpCase> instance_normalization_cases() {
    std::vector<OpCase> cases{
        normalization("images", {2, 5, 9, 11}),
        normalization("many_channels", {1, 70, 6, 5}),
        normalization("large_plane", {1, 3, 65, 70}),
        normalization("1d", {3, 4, 33}),
        normalization("3d", {1, 9, 3, 4, 5}),
        normalization("one_position", {2, 8, 1, 1}),
        normalization("batch_zero", {0, 3, 4, 4}),
        normalization("f64", {1, 3, 4, 4}, DType::kFloat64),
        normalization("f16", {1, 3, 4, 4}, DType::kFloat16),
    };
    cases.back().rtol = cases.back().atol = 2e-2;
    OpCase far = normalization("far_from_zero", {1, 9, 8, 8});
    far.inputs[0].low = 999;
    far.inputs[0].high = 1001;
    cases.push_back(std::move(far));
    // Nearly equal elements: every rounding of a running sum goes one way.
    std::vector<float> ramp(size_t{3} * 300 * 301);
    for (size_t i = 0; i < ramp.size(); ++i) {
        ramp[i] = 0.1F + 1e-6F * float(i % 1000);
    }
    OpCase large = normalization("long_plane", {1, 3, 300, 301});
    large.inputs[0] = given_input<float>({1, 3, 300, 301}, ramp);
    large.attributes = {{"epsilon", 1e-12F}};
    large.rtol = 1e-4;  // of elements that are near to the mean
    cases.push_back(std::move(large));
    OpCase epsilon = normalization("epsilon", {2, 3, 4, 5});
    epsilon.attributes = {{"epsilon", 0.02F}};
    cases.push_back(std::move(epsilon));
    return cases;
}

}  // namespace leat::testing
