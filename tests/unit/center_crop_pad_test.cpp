// CenterCropPad: what the standard's text says of odd differences, and the types of results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

OneNode cropped(const Tensor& x, const std::vector<int64_t>& shape, Attributes attributes = {}) {
    return {"CenterCropPad", {x, list_of(shape)}, std::move(attributes), 0, 1, 0b10};
}

TEST(CenterCropPad, RoundsTheBeginningOfACropDown) {
    expect_result(cropped(counted({5}), {2}), tensor_of<float>({2}, {2, 3}));
    expect_result(cropped(counted({5}), {3}), tensor_of<float>({3}, {2, 3, 4}));
    expect_result(cropped(counted({4}), {1}), tensor_of<float>({1}, {2}));
}

TEST(CenterCropPad, PutsTheOddZeroBehind) {
    expect_result(cropped(counted({2}), {5}), tensor_of<float>({5}, {0, 1, 2, 0, 0}));
    expect_result(cropped(counted({2}), {4}), tensor_of<float>({4}, {0, 1, 2, 0}));
}

TEST(CenterCropPad, CropsOneAxisAndPadsAnother) {
    expect_result(cropped(counted({4, 2}), {1, 5}), tensor_of<float>({1, 5}, {0, 3, 4, 0, 0}));
}

TEST(CenterCropPad, LeavesOtherAxesAlone) {
    const Tensor want = tensor_of<float>({2, 2}, {1, 2, 4, 5});
    expect_result(cropped(counted({2, 3}), {2}, {{"axes", std::vector<int64_t>{1}}}), want);
    expect_result(cropped(counted({2, 3}), {2}, {{"axes", std::vector<int64_t>{-1}}}), want);
    expect_result(cropped(counted({2, 3}), {2, 2}, {{"axes", std::vector<int64_t>{-1, 0}}}), want);
    expect_result(cropped(counted({2, 3}), {}, {{"axes", std::vector<int64_t>{}}}),
                  counted({2, 3}));
}

TEST(CenterCropPad, HasTheShapeThatTheOperandSays) {
    const ValueFact x = fact_of({"n", 3, 8});
    EXPECT_EQ(inferred_type("CenterCropPad", {x, fact_of_ints({2, 3, 4})}), "f32[2,3,4]");
    const Attributes last = {{"axes", std::vector<int64_t>{2}}};
    EXPECT_EQ(inferred_type("CenterCropPad", {x, fact_of_ints({9})}, last), "f32[n,3,9]");
    EXPECT_EQ(inferred_type("CenterCropPad", {x, fact_of({1}, DType::kInt64)}, last), "f32[n,3,?]");
    const ValueFact anything = fact_of_unknown_rank();
    EXPECT_EQ(inferred_type("CenterCropPad", {anything, fact_of_ints({4, 5})}), "f32[4,5]");
    EXPECT_EQ(inferred_type("CenterCropPad", {anything, fact_of_ints({4})}, last), "f32[*]");
}

TEST(CenterCropPad, NamesFoundAndNeeded) {
    const ValueFact x = fact_of({2, 3});
    EXPECT_THAT(inferred_type("CenterCropPad", {x, fact_of_ints({2, -3})}),
                AllOf(HasSubstr("-3"), HasSubstr(">= 0")));
    EXPECT_THAT(inferred_type("CenterCropPad", {x, fact_of_ints({2})}),
                AllOf(HasSubstr("1 elements"), HasSubstr("2, one for each axis")));
    EXPECT_THAT(
        inferred_type("CenterCropPad", {x, fact_of_ints({2})}, {{"axes", std::vector<int64_t>{2}}}),
        HasSubstr("found 2"));
    EXPECT_THAT(inferred_type("CenterCropPad", {x, fact_of_ints({2, 2})},
                              {{"axes", std::vector<int64_t>{1, -1}}}),
                HasSubstr("twice"));
}

}  // namespace
}  // namespace leat::testing
