// TensorScatter: both modes as the standard's pseudocode has them, and indices that leave the
// cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Attributes kCircular = {{"mode", std::string("circular")}};

// Samples of 3 positions of 2 elements.
const Tensor kPast = tensor_of<float>({2, 3, 2}, std::vector<float>(12, 0.5F));

OneNode updated(const Tensor& update,
                const std::vector<int64_t>& indices,
                Attributes attributes = {}) {
    return {"TensorScatter", {kPast, update, list_of(indices)}, std::move(attributes)};
}

TEST(TensorScatter, WritesEachSampleFromItsIndexOn) {
    expect_result(updated(counted({2, 2, 2}), {1, 0}),
                  tensor_of<float>({2, 3, 2}, {0.5F, 0.5F, 1, 2, 3, 4, 5, 6, 7, 8, 0.5F, 0.5F}));
}

TEST(TensorScatter, BeginsWithTheFirstPositionWithoutIndices) {
    expect_result(
        {"TensorScatter", {kPast, counted({2, 1, 2})}},
        tensor_of<float>({2, 3, 2}, {1, 2, 0.5F, 0.5F, 0.5F, 0.5F, 3, 4, 0.5F, 0.5F, 0.5F, 0.5F}));
}

TEST(TensorScatter, GoesRoundInModeCircular) {
    expect_result(updated(counted({2, 2, 2}), {2, 4}, kCircular),
                  tensor_of<float>({2, 3, 2}, {3, 4, 0.5F, 0.5F, 1, 2, 0.5F, 0.5F, 5, 6, 7, 8}));
}

TEST(TensorScatter, WorksAlongAnotherAxis) {
    const Tensor past = tensor_of<float>({1, 2, 3}, std::vector<float>(6, 0.5F));
    expect_result(
        {"TensorScatter", {past, counted({1, 2, 1}), list_of({1})}, {{"axis", int64_t{-1}}}},
        tensor_of<float>({1, 2, 3}, {0.5F, 1, 0.5F, 0.5F, 2, 0.5F}));
}

TEST(TensorScatter, NamesAnIndexThatLeavesTheCache) {
    EXPECT_THAT(
        error_of(updated(counted({2, 2, 2}), {0, 2})),
        AllOf(HasSubstr("at 1"), HasSubstr("found 2 for 2 positions"), HasSubstr("needed 0 to 1")));
    EXPECT_THAT(error_of(updated(counted({2, 2, 2}), {-1, 0})), HasSubstr("found -1"));
}

TEST(TensorScatter, NamesFoundAndNeeded) {
    const ValueFact past = fact_of({2, 3, 4});
    const auto error = [&](std::vector<DimSpec> update, Attributes attributes = {}) {
        return inferred_type("TensorScatter", {past, fact_of(std::move(update))},
                             std::move(attributes));
    };
    EXPECT_EQ(error({"n", 2, 4}), "f32[2,3,4]");
    EXPECT_THAT(error({2, 4, 4}), AllOf(HasSubstr("extent 4 on axis 1"), HasSubstr("at most 3")));
    EXPECT_THAT(error({2, 2, 5}), HasSubstr("axis 2"));
    EXPECT_THAT(error({2, 2}), HasSubstr("ranks"));
    EXPECT_THAT(error({2, 3, 4}, {{"axis", int64_t{0}}}), HasSubstr("batch"));
    EXPECT_THAT(error({2, 3, 4}, {{"axis", int64_t{3}}}), HasSubstr("found 3"));
    EXPECT_THAT(error({2, 3, 4}, {{"mode", std::string("ring")}}),
                AllOf(HasSubstr("ring"), HasSubstr("linear or circular")));
    EXPECT_THAT(inferred_type("TensorScatter", {past, fact_of({2, 3, 4}, DType::kFloat16)}),
                HasSubstr("f16"));
}

}  // namespace
}  // namespace leat::testing
