// MaxUnpool: which extents indices count in, and what lies outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

const Attributes kHalves = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};

// Of 1x1x1x2 elements, which become 2x4 ones.
OneNode unpooled(const Ints& indices, const Ints& output = {}) {
    OneNode one{
        "MaxUnpool", {counted({1, 1, 1, 2}), tensor_of<int64_t>({1, 1, 1, 2}, indices)}, kHalves};
    if (!output.empty()) {
        one.inputs.push_back(list_of(output));
        one.constants = 0b100;
    }
    return one;
}

TEST(MaxUnpool, CountsInWhatTheAttributesGive) {
    expect_result(unpooled({1, 6}), tensor_of<float>({1, 1, 2, 4}, {0, 1, 0, 0, 0, 0, 2, 0}));
    expect_result(unpooled({1, 6}, {1, 1, 2, 5}),
                  tensor_of<float>({1, 1, 2, 5}, {0, 1, 0, 0, 0, 0, 0, 2, 0, 0}));
}

// As of a pooling that reached beyond its input.
TEST(MaxUnpool, CountsInASmallerShapeThatIsGiven) {
    expect_result(unpooled({1, 4}, {1, 1, 2, 3}),
                  tensor_of<float>({1, 1, 2, 3}, {0, 1, 0, 0, 2, 0}));
}

TEST(MaxUnpool, NamesAnIndexOutside) {
    EXPECT_THAT(error_of(unpooled({1, 8})), AllOf(HasSubstr("found 8"), HasSubstr("[0, 8)")));
    EXPECT_THAT(error_of(unpooled({-1, 0})), HasSubstr("found -1"));
    EXPECT_THAT(error_of(unpooled({1, 6}, {1, 1, 2, 3})), HasSubstr("[0, 6)"));
}

TEST(MaxUnpool, HasTheShapeOfAttributesOrOperand) {
    const ValueFact x = fact_of({"n", 3, "h", 5});
    const ValueFact indices = fact_of({"n", 3, "h", 5}, DType::kInt64);
    EXPECT_EQ(inferred_type("MaxUnpool", {x, indices}, kHalves), "f32[n,3,2*h,10]");
    EXPECT_EQ(inferred_type("MaxUnpool", {x, indices, fact_of_ints({4, 3, 7, 10})}, kHalves),
              "f32[4,3,7,10]");
    EXPECT_EQ(inferred_type("MaxUnpool", {x, indices, fact_of({4}, DType::kInt64)}, kHalves),
              "f32[n,3,?,?]");
    EXPECT_THAT(inferred_type("MaxUnpool", {x, indices, fact_of_ints({4, 2, 7, 10})}, kHalves),
                HasSubstr("axis 1"));
    EXPECT_THAT(inferred_type("MaxUnpool", {x, indices}, {{"kernel_shape", Ints{2}}}),
                AllOf(HasSubstr("rank 4"), HasSubstr("rank 3")));
    EXPECT_THAT(inferred_type("MaxUnpool", {x, indices},
                              {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 3, 0, 4}}}),
                AllOf(HasSubstr("pads 7"), HasSubstr(">= 0")));
}

}  // namespace
}  // namespace leat::testing
