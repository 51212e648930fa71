// Conformance cases of LRN.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

OpCase lrn(const char* name, Shape shape, Attributes attributes, DType dtype = DType::kFloat32) {
    return {std::string("LRN/") + name,
            "LRN",
            {random_input(shape, dtype, -20, 20)},
            std::move(attributes)};
}

}  // namespace

std::vector<OpCase> lrn_cases() {
    const int64_t five = 5;
    std::vector<OpCase> cases{
        lrn("alexnet", {1, 96, 13, 13}, {{"size", five}, {"alpha", 1e-4F}, {"beta", 0.75F}}),
        lrn("defaults", {2, 7, 5, 6}, {{"size", int64_t{3}}}),
        lrn("even_size", {2, 33, 5, 3}, {{"size", int64_t{4}}, {"alpha", 0.02F}}),
        lrn("size_1", {1, 9, 4, 4}, {{"size", int64_t{1}}, {"alpha", 0.1F}}),
        lrn("size_beyond_channels", {1, 4, 9, 4}, {{"size", int64_t{11}}, {"alpha", 0.1F}}),
        lrn("beta_half", {1, 20, 4, 5}, {{"size", five}, {"alpha", 0.1F}, {"beta", 0.5F}}),
        lrn("beta_one", {1, 20, 4, 5}, {{"size", five}, {"alpha", 0.1F}, {"beta", 1.0F}}),
        lrn("beta_other", {1, 20, 4, 5},
            {{"size", five}, {"alpha", 0.1F}, {"beta", 0.6F}, {"bias", 2.0F}}),
        lrn("1d", {2, 20, 9}, {{"size", five}, {"alpha", 0.1F}}),
        lrn("matrix", {3, 40}, {{"size", five}, {"alpha", 0.1F}}),
        lrn("batch_zero", {0, 20, 4, 5}, {{"size", five}}),
        lrn("f64", {1, 9, 4, 4}, {{"size", five}}, DType::kFloat64),
        lrn("f16", {1, 9, 4, 4}, {{"size", five}}, DType::kFloat16),
    };
    cases.back().rtol = cases.back().atol = 1e-2;
    return cases;
}

}  // namespace leat::testing
