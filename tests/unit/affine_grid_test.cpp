// AffineGrid: positions that the reference evaluator gives.
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;

// A 1-D list of extents.
ValueFact fact_of_extents(std::vector<DimSpec> extents) {
    ValueFact fact = fact_of({int64_t(extents.size())}, DType::kInt64);
    fact.extents = std::move(extents);
    return fact;
}

class AffineGrid : public ::testing::TestWithParam<const char*> {
  protected:
    Result<Tensor> grid(int64_t height, int64_t width, int64_t align_corners) {
        return result_on(GetParam(),
                         {"AffineGrid",
                          {floats_of({1, 2, 3}, {1, 0, 0.5F, 0, 2, -1}),
                           *Tensor::from<int64_t>({4}, std::vector<int64_t>{1, 1, height, width})},
                          {{"align_corners", align_corners}},
                          20});
    }
};

TEST_P(AffineGrid, GoesFromEdgeToEdge) {
    expect_floats(grid(2, 3, 0), {1, 2, 3, 2},
                  {-1.0F / 6, -2, 0.5F, -2, 7.0F / 6, -2, -1.0F / 6, 0, 0.5F, 0, 7.0F / 6, 0});
}

TEST_P(AffineGrid, GoesFromCenterToCenterWithAlignedCorners) {
    expect_floats(grid(2, 3, 1), {1, 2, 3, 2},
                  {-0.5F, -3, 0.5F, -3, 1.5F, -3, -0.5F, 1, 0.5F, 1, 1.5F, 1});
}

TEST_P(AffineGrid, BeginsOneElementWhereItsAxisDoes) {
    expect_floats(grid(1, 1, 1), {1, 1, 1, 2}, {-0.5F, -3});
    expect_floats(grid(1, 1, 0), {1, 1, 1, 2}, {0.5F, -1});
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         AffineGrid,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(AffineGridInference, FollowsSize) {
    const ValueFact theta = fact_of({"n", 2, 3});
    EXPECT_EQ(inferred_type("AffineGrid", {theta, fact_of_extents({"n", 3, "h", 8})}),
              "f32[n,h,8,2]");
    EXPECT_EQ(inferred_type("AffineGrid", {theta, fact_of({4}, DType::kInt64)}), "f32[n,?,?,2]");
    EXPECT_EQ(
        inferred_type("AffineGrid", {fact_of_unknown_rank(), fact_of_extents({1, 2, 3, 4, 5})}),
        "f32[1,3,4,5,3]");
    EXPECT_THAT(inferred_type("AffineGrid", {theta, fact_of_extents({1, 2, 3, 4, 5})}),
                HasSubstr("[n, 3, 4]"));
    EXPECT_THAT(inferred_type("AffineGrid", {theta, fact_of({3}, DType::kInt64)}),
                HasSubstr("3 elements"));
    EXPECT_THAT(inferred_type("AffineGrid", {theta, fact_of_ints({1, 2, -3, 4})}), HasSubstr("-3"));
}

}  // namespace
}  // namespace leat::testing
