// RoiAlign and MaxRoiPool: results that ONNX Runtime gives, too.
#include <numeric>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

class Roi : public ::testing::TestWithParam<const char*> {
  protected:
    // 0 to 15, in rows of four.
    static Tensor image() {
        std::vector<float> values(16);
        std::iota(values.begin(), values.end(), 0.0F);
        return floats_of({1, 1, 4, 4}, values);
    }
    std::vector<Tensor> aligned(int64_t image_number = 0) {
        return {image(), floats_of({2, 4}, {0, 0, 2, 2, 1, 1, 4, 3}),
                *Tensor::from<int64_t>({2}, Ints{0, image_number})};
    }
};

constexpr int64_t kTwo = 2;

TEST_P(Roi, AlignsCells) {
    expect_floats(
        result_on(GetParam(),
                  {"RoiAlign", aligned(), {{"output_height", kTwo}, {"output_width", kTwo}}, 24}),
        {2, 1, 2, 2}, {0, 1, 4, 5, 5.25F, 6.6875F, 9.25F, 10.6875F});
}

TEST_P(Roi, AlignsCellsWithoutHalfPixelsInOpset10) {
    const std::vector<float> want = {2.5F, 3.5F, 6.5F, 7.5F, 7.75F, 8.9375F, 11.75F, 12.9375F};
    Attributes attributes = {{"output_height", kTwo}, {"output_width", kTwo}};
    expect_floats(result_on(GetParam(), {"RoiAlign", aligned(), attributes, 10}), {2, 1, 2, 2},
                  want);
    attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
    expect_floats(result_on(GetParam(), {"RoiAlign", aligned(), attributes, 22}), {2, 1, 2, 2},
                  want);
}

TEST_P(Roi, TakesTheLargestTermOfASample) {
    expect_floats(result_on(GetParam(), {"RoiAlign",
                                         aligned(),
                                         {{"output_height", kTwo},
                                          {"output_width", kTwo},
                                          {"sampling_ratio", kTwo},
                                          {"mode", std::string("max")}},
                                         24}),
                  {2, 1, 2, 2}, {1, 0.9375F, 3, 2.8125F, 3.28125F, 5.25F, 5.90625F, 8.25F});
}

TEST_P(Roi, PoolsCells) {
    expect_floats(
        result_on(GetParam(), {"MaxRoiPool",
                               {image(), floats_of({2, 5}, {0, 0, 0, 2, 2, 0, 1, 1, 9, 3})},
                               {{"pooled_shape", Ints{2, 2}}},
                               24}),
        {2, 1, 2, 2}, {5, 6, 9, 10, 11, 0, 15, 0});
    expect_floats(
        result_on(GetParam(), {"MaxRoiPool",
                               {image(), floats_of({2, 5}, {0, 0, 0, 6, 5, 0, 20, 20, 30, 30})},
                               {{"pooled_shape", Ints{2, 1}}, {"spatial_scale", 0.5F}},
                               1}),
        {2, 1, 2, 1}, {7, 15, 0, 0});
}

TEST_P(Roi, RefusesImagesThatAreNotThere) {
    EXPECT_THAT(result_on(GetParam(), {"RoiAlign", aligned(1), {}, 24}).error().message(),
                HasSubstr("region 1 lies in no image"));
    EXPECT_THAT(result_on(GetParam(), {"MaxRoiPool",
                                       {image(), floats_of({1, 5}, {-1, 0, 0, 2, 2})},
                                       {{"pooled_shape", Ints{1, 1}}},
                                       24})
                    .error()
                    .message(),
                HasSubstr("region 0 lies in no image"));
}

INSTANTIATE_TEST_SUITE_P(Devices, Roi, ::testing::Values("cpu", "reference"), [](const auto& info) {
    return std::string(info.param);
});

TEST(RoiInference, TakesExtentsFromAllOperands) {
    const ValueFact x = fact_of({2, "c", 7, 8});
    EXPECT_EQ(inferred_type("RoiAlign", {x, fact_of_unknown_rank(), fact_of({"k"}, DType::kInt64)},
                            {{"output_height", int64_t{3}}}),
              "f32[k,c,3,1]");
    EXPECT_EQ(inferred_type("MaxRoiPool", {x, fact_of({"k", 5})}, {{"pooled_shape", Ints{3, 2}}}),
              "f32[k,c,3,2]");
    EXPECT_THAT(inferred_type("RoiAlign", {x, fact_of({4, 5}), fact_of({4}, DType::kInt64)}),
                HasSubstr("4 elements"));
    EXPECT_THAT(inferred_type("RoiAlign", {x, fact_of({4, 4}), fact_of({4}, DType::kInt64)},
                              {{"output_width", int64_t{0}}}),
                HasSubstr("output_width"));
    EXPECT_THAT(inferred_type("MaxRoiPool", {x, fact_of({4, 5})}, {{"pooled_shape", Ints{3}}}),
                HasSubstr("pooled_shape"));
}

}  // namespace
}  // namespace leat::testing
