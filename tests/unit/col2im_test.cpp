// Col2Im: the standard's examples in small, sums of every kind, and what does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

OneNode image_of(const Tensor& x,
                 const Ints& image,
                 const Ints& block,
                 Attributes attributes = {}) {
    return {"Col2Im", {x, list_of(image), list_of(block)}, std::move(attributes), 0, 1, 0b110};
}

TEST(Col2Im, PutsBlocksSideBySide) {
    expect_result(image_of(tensor_of<float>({1, 4, 2}, {1, 5, 2, 6, 3, 7, 4, 8}), {2, 4}, {2, 2},
                           {{"strides", Ints{1, 2}}}),
                  tensor_of<float>({1, 1, 2, 4}, {1, 2, 5, 6, 3, 4, 7, 8}));
}

TEST(Col2Im, AddsWhatOverlaps) {
    expect_result(image_of(counted({1, 2, 3}), {1, 4}, {1, 2}),
                  tensor_of<float>({1, 1, 1, 4}, {1, 6, 8, 6}));
}

TEST(Col2Im, LeavesOutWhatLiesOnPads) {
    expect_result(image_of(counted({1, 2, 3}), {2}, {2}, {{"pads", Ints{1, 1}}}),
                  tensor_of<float>({1, 1, 2}, {6, 8}));
}

TEST(Col2Im, SkipsPixelsBetweenTapsAndBlocks) {
    expect_result(image_of(counted({1, 2, 2}), {4}, {2}, {{"dilations", Ints{2}}}),
                  tensor_of<float>({1, 1, 4}, {1, 2, 3, 4}));
    expect_result(image_of(counted({1, 1, 2}), {4}, {1}, {{"strides", Ints{3}}}),
                  tensor_of<float>({1, 1, 4}, {1, 0, 0, 2}));
}

TEST(Col2Im, AddsIntegersAsTheyWrapAround) {
    expect_result(image_of(tensor_of<uint8_t>({1, 2, 2}, {1, 200, 100, 2}), {3}, {2}),
                  tensor_of<uint8_t>({1, 1, 3}, {1, 44, 2}));
}

TEST(Col2Im, HasTheShapeThatTheOperandsSay) {
    const ValueFact x = fact_of({"n", 12, "l"});
    const ValueFact unknown = fact_of({2}, DType::kInt64);
    EXPECT_EQ(inferred_type("Col2Im", {x, fact_of_ints({5, 6}), fact_of_ints({2, 2})}),
              "f32[n,3,5,6]");
    EXPECT_EQ(inferred_type("Col2Im", {x, unknown, fact_of_ints({2, 2})}), "f32[n,3,?,?]");
    EXPECT_EQ(inferred_type("Col2Im", {x, fact_of_ints({5, 6}), unknown}), "f32[n,?,5,6]");
}

TEST(Col2Im, NamesFoundAndNeeded) {
    const ValueFact x = fact_of({1, 12, 9});
    const auto error = [&](const Ints& image, const Ints& block, Attributes attributes = {}) {
        return inferred_type("Col2Im", {x, fact_of_ints(image), fact_of_ints(block)},
                             std::move(attributes));
    };
    EXPECT_THAT(error({5, 6}, {2, 2}), AllOf(HasSubstr("extent 9"), HasSubstr("20")));
    EXPECT_THAT(error({4, 4}, {5, 1}), AllOf(HasSubstr("extent 12"), HasSubstr("multiple of 5")));
    EXPECT_THAT(error({4, 4}, {2}), HasSubstr("2 and 1"));
    EXPECT_THAT(error({-4, 4}, {2, 2}), HasSubstr("-4"));
    EXPECT_THAT(error({4, 4}, {0, 2}), HasSubstr("[0, 2]"));
    EXPECT_THAT(error({4, 4}, {2, 6}), HasSubstr("6 pixels of 4"));
    EXPECT_THAT(error({4, 4}, {2, 2}, {{"strides", Ints{0, 1}}}), HasSubstr("strides"));
    EXPECT_THAT(error({4, 4}, {2, 2}, {{"pads", Ints{0, 1}}}), HasSubstr("4 integers"));
    EXPECT_THAT(error({4, 4}, {2147483647, 2147483647}), HasSubstr("multiple of"));
}

}  // namespace
}  // namespace leat::testing
