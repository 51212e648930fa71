// ReverseSequence: the standard's examples in small, and lengths and axes that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

OneNode reversed(const std::vector<int64_t>& lengths, Attributes attributes = {}) {
    return {"ReverseSequence", {counted({3, 2}), list_of(lengths)}, std::move(attributes)};
}

TEST(ReverseSequence, TurnsTheBeginningOfEachSequence) {
    expect_result(reversed({3, 1}), tensor_of<float>({3, 2}, {5, 2, 3, 4, 1, 6}));
    expect_result(reversed({2, 0, 1}, {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}}),
                  tensor_of<float>({3, 2}, {2, 1, 3, 4, 5, 6}));
}

TEST(ReverseSequence, NamesALengthThatIsNone) {
    EXPECT_THAT(error_of(reversed({3, 4})),
                AllOf(HasSubstr("at 1"), HasSubstr("found 4"), HasSubstr("0 to 3")));
    EXPECT_THAT(error_of(reversed({-1, 0})), HasSubstr("found -1"));
}

TEST(ReverseSequence, NamesFoundAndNeeded) {
    const ValueFact x = fact_of({"t", "b", 4});
    EXPECT_EQ(inferred_type("ReverseSequence", {x, fact_of({2}, DType::kInt64)}), "f32[t,2,4]");
    EXPECT_THAT(inferred_type("ReverseSequence", {x, fact_of({2}, DType::kInt64)},
                              {{"time_axis", int64_t{1}}}),
                AllOf(HasSubstr("1 and 1"), HasSubstr("in any order")));
    EXPECT_THAT(inferred_type("ReverseSequence", {fact_of({3}), fact_of({3}, DType::kInt64)}),
                HasSubstr("rank >= 2"));
}

}  // namespace
}  // namespace leat::testing
