// Conformance cases of RMSNormalization.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

OpCase rms_case(std::string_view name, std::vector<CaseInput> inputs, Attributes attributes = {}) {
    OpCase op_case = make_case("RMSNormalization", name, std::move(inputs), std::move(attributes));
    op_case.atol = 1e-5;
    return op_case;
}

}  // namespace

std::vector<OpCase> rms_normalization_cases() {
    std::vector<OpCase> cases{
        rms_case("rows_of_768", {random_input({20, 768}), random_constant({768})}),
        rms_case("rows_of_13", {random_input({7, 13}), random_input({13})}),
        rms_case("rows_of_1", {random_input({7, 1}), random_input({1})}),
        rms_case("axis0", {random_input({6, 5}), random_input({6, 5})}, {{"axis", int64_t{0}}}),
        rms_case("axis1", {random_input({3, 4, 9}), random_input({4, 9})},
                 {{"axis", int64_t{1}}, {"epsilon", 0.1F}}),
        rms_case("axis_from_last", {random_input({3, 4, 9}), random_input({4, 9})},
                 {{"axis", int64_t{-2}}}),
        rms_case("broadcast_scale", {random_input({3, 4, 9}), random_input({4, 1})},
                 {{"axis", int64_t{1}}}),
        rms_case("scale_by_row", {random_input({3, 4, 9}), random_input({3, 1, 9})}),
        rms_case("scalar_scale", {random_input({3, 9}), random_input({})}),
        rms_case("large_values",
                 {random_input({3, 70}, DType::kFloat32, 1e20, 2e20), random_input({70})}),
        rms_case("small_values",
                 {random_input({3, 70}, DType::kFloat32, -1e-3, 1e-3), random_input({70})}),
        rms_case("long_row", {random_input({1, 100'001}), random_input({100'001})}),
        rms_case("no_rows", {random_input({0, 9}), random_input({9})}),
        rms_case("no_columns", {random_input({3, 0}), random_input({0})}),
        rms_case("rank_8", {random_input({1, 2, 1, 2, 1, 2, 1, 3}), random_input({3})}),
        rms_case("f64", {random_input({3, 9}, DType::kFloat64), random_input({9}, DType::kFloat64)},
                 {{"stash_type", int64_t{11}}}),
        rms_case("f32_scaled_to_f64", {random_input({3, 9}), random_input({9}, DType::kFloat64)}),
    };
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        const std::string name(name_of(dtype));
        cases.push_back(rms_case(name, {random_input({3, 9}, dtype), random_input({9}, dtype)}));
        cases.back().rtol = cases.back().atol = 2e-2;
        cases.push_back(
            rms_case(name + "_scaled_to_f32", {random_input({3, 9}, dtype), random_input({9})}));
    }
    return cases;
}

}  // namespace leat::testing
