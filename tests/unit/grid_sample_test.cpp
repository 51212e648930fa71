// GridSample: places and modes, results that ONNX Runtime gives, too.
#include <limits>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;

class GridSample : public ::testing::TestWithParam<const char*> {
  protected:
    // x = 1 2 3 / 4 5 6 at its first corner, in the middle, and further.
    Result<Tensor> sampled(const Attributes& attributes, int64_t opset = 22) {
        return result_on(GetParam(),
                         {"GridSample",
                          {floats_of({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                           floats_of({1, 1, 4, 2}, {-1, -1, 0, 0, 0.5F, 0.25F, 1.5F, 0})},
                          attributes,
                          opset});
    }
};

TEST_P(GridSample, ReadsBetweenElements) {
    expect_floats(sampled({}), {1, 1, 1, 4}, {0.25F, 3.5F, 5, 0});
    expect_floats(sampled({{"align_corners", int64_t{1}}}), {1, 1, 1, 4}, {1, 3.5F, 4.375F, 2.25F});
    expect_floats(sampled({{"padding_mode", std::string("reflection")}}), {1, 1, 1, 4},
                  {1, 3.5F, 5, 4.25F});
}

TEST_P(GridSample, TakesHalvesToTheEvenElement) {
    expect_floats(
        sampled({{"mode", std::string("nearest")}, {"padding_mode", std::string("border")}}),
        {1, 1, 1, 4}, {1, 2, 6, 3});
}

TEST_P(GridSample, GoesOnBeyondTheBorderInCubicMode) {
    expect_floats(sampled({{"mode", std::string("cubic")},
                           {"align_corners", int64_t{1}},
                           {"padding_mode", std::string("border")}}),
                  {1, 1, 1, 4}, {1, 3.5F, 4.5126953F, 4.59375F});
}

TEST_P(GridSample, KnowsTheModesOfOpset16) {
    expect_floats(sampled({{"mode", std::string("bilinear")}}, 16), {1, 1, 1, 4},
                  {0.25F, 3.5F, 5, 0});
    expect_floats(sampled({{"mode", std::string("bicubic")},
                           {"align_corners", int64_t{1}},
                           {"padding_mode", std::string("border")}},
                          16),
                  {1, 1, 1, 4}, {1, 3.5F, 4.5126953F, 4.59375F});
}

TEST_P(GridSample, TakesPlacesThatAreNoNumbers) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<Tensor> inputs = {floats_of({1, 1, 3}, {1, 2, 3}),
                                        floats_of({1, 4, 1}, {nan, infinity, -infinity, 1e30F})};
    expect_floats(result_on(GetParam(), {"GridSample", inputs, {}, 24}), {1, 1, 4}, {0, 0, 0, 0});
    expect_floats(result_on(GetParam(),
                            {"GridSample", inputs, {{"padding_mode", std::string("border")}}, 24}),
                  {1, 1, 4}, {1, 3, 1, 3});
}

TEST_P(GridSample, FindsNothingInAnEmptyImage) {
    const std::vector<Tensor> inputs = {floats_of({1, 1, 0}, {}), floats_of({1, 1, 1}, {0})};
    expect_floats(result_on(GetParam(), {"GridSample", inputs, {}, 24}), {1, 1, 1}, {0});
    EXPECT_THAT(
        result_on(GetParam(), {"GridSample", inputs, {{"padding_mode", std::string("border")}}, 24})
            .error()
            .message(),
        HasSubstr("no element to read"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         GridSample,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GridSampleInference, TakesExtentsFromBoth) {
    EXPECT_EQ(inferred_type("GridSample", {fact_of({"n", "c", 5, 6}), fact_of({2, "h", 7, 2})}),
              "f32[2,c,h,7]");
    EXPECT_EQ(inferred_type("GridSample", {fact_of_unknown_rank(), fact_of({2, "h", 7, 2})}),
              "f32[2,?,h,7]");
    EXPECT_THAT(inferred_type("GridSample", {fact_of({1, 1, 5, 6}), fact_of({1, 4, 7, 3})}),
                HasSubstr("2 coordinates"));
    EXPECT_THAT(inferred_type("GridSample", {fact_of({1, 1, 5, 6}), fact_of({1, 4, 3})}),
                HasSubstr("rank 4"));
    EXPECT_THAT(inferred_type("GridSample", {fact_of({1, 1, 5, 6}), fact_of({1, 4, 7, 2})},
                              {{"mode", std::string("bilinear")}}),
                HasSubstr("linear, nearest or cubic"));
    EXPECT_THAT(
        inferred_type("GridSample", {fact_of({1, 1, 5}, DType::kString), fact_of({1, 4, 1})}),
        HasSubstr("mode nearest"));
}

}  // namespace
}  // namespace leat::testing
