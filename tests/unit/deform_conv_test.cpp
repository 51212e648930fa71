// DeformConv: results that ONNX Runtime and the reference evaluator give.
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;

class DeformConv : public ::testing::TestWithParam<const char*> {
  protected:
    static Tensor image() { return floats_of({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}); }
    static Tensor weights() { return floats_of({1, 1, 2, 2}, {1, 2, 3, 4}); }
    // [tap, axis, position]
    static Tensor offsets() {
        std::vector<float> values(32, 0.0F);
        values[0] = 0.5F;
        values[5 * 4 + 1] = -0.25F;
        values[6 * 4 + 3] = 1.5F;
        return floats_of({1, 8, 2, 2}, values);
    }
};

TEST_P(DeformConv, ReadsBesideTheWindow) {
    expect_floats(result_on(GetParam(), {"DeformConv", {image(), weights(), offsets()}, {}, 24}),
                  {1, 1, 2, 2}, {28.5F, 36.25F, 57, 35});
}

TEST_P(DeformConv, WeighsTapsByTheMask) {
    std::vector<float> mask(16, 1.0F);
    std::fill(mask.begin() + 12, mask.end(), 0.5F);
    expect_floats(result_on(GetParam(), {"DeformConv",
                                         {image(), weights(), offsets(), floats_of({1}, {10}),
                                          floats_of({1, 4, 2, 2}, mask)},
                                         {},
                                         24}),
                  {1, 1, 2, 2}, {30.5F, 36.25F, 53, 45});
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         DeformConv,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DeformConvInference, ComparesOperands) {
    const ValueFact x = fact_of({"n", 4, 5, 6});
    const ValueFact w = fact_of({3, 4, 2, 2});
    EXPECT_EQ(inferred_type("DeformConv", {x, w, fact_of({"n", 8, 4, 5})}), "f32[n,3,4,5]");
    EXPECT_EQ(inferred_type("DeformConv", {fact_of_unknown_rank(), w, fact_of({2, 8, 4, "o"})}),
              "f32[2,3,4,o]");
    EXPECT_THAT(inferred_type("DeformConv", {x, w, fact_of({"n", 9, 4, 5})}),
                HasSubstr("8 channels"));
    EXPECT_THAT(inferred_type("DeformConv", {x, w, fact_of({"n", 8, 4, 4})}), HasSubstr("5 and 4"));
    EXPECT_THAT(inferred_type("DeformConv", {x, w, fact_of({"n", 24, 4, 5})},
                              {{"offset_group", int64_t{3}}}),
                HasSubstr("divide the input channels"));
}

}  // namespace
}  // namespace leat::testing
