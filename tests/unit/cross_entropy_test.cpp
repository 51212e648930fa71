// The losses: the standard's examples, means of nothing, and labels that are no class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const kLoss = "NegativeLogLikelihoodLoss";

const Tensor kScores = tensor_of<float>({2, 3, 2}, {1, 2, 2, 2, 3, 2, 0, 1, 2, 2, 1, 2});
const Tensor kLabels = tensor_of<int64_t>({2, 2}, {2, 1, 0, 2});

Attributes reduced_by(const char* reduction) {
    return {{"reduction", std::string(reduction)}};
}

TEST(CrossEntropy, GivesTheStandardsExamples) {
    expect_result({kLoss, {kScores, kLabels}, reduced_by("none")},
                  tensor_of<float>({2, 2}, {-3, -2, -0.0F, -2}));
    const Tensor weights = tensor_of<float>({3}, {0.25F, 0.5F, 0.125F});
    expect_result({kLoss, {kScores, kLabels, weights}, reduced_by("sum")},
                  tensor_of<float>({}, {-1.625F}));
    expect_result({kLoss, {kScores, kLabels, weights}}, tensor_of<float>({}, {-1.625F}));
}

TEST(CrossEntropy, LeavesIgnoredLabelsOutOfTheMean) {
    const Tensor labels = tensor_of<int64_t>({2, 2}, {2, 9, 9, 2});
    expect_result({kLoss, {kScores, labels}, {{"ignore_index", int64_t{9}}}},
                  tensor_of<float>({}, {-2.5F}));
    expect_result({kLoss,
                   {kScores, labels},
                   {{"ignore_index", int64_t{9}}, {"reduction", std::string("none")}}},
                  tensor_of<float>({2, 2}, {-3, 0, 0, -2}));
}

TEST(CrossEntropy, HasNoMeanOfNothing) {
    const Tensor labels = tensor_of<int64_t>({2, 2}, {9, 9, 9, 9});
    const Result<Tensor> mean =
        result_on("cpu", {kLoss, {kScores, labels}, {{"ignore_index", int64_t{9}}}});
    ASSERT_TRUE(mean.ok()) << mean.error().message();
    EXPECT_TRUE(std::isnan(mean->data<float>()[0]));
}

// Its exponentials are infinite in f32.
TEST(CrossEntropy, TakesLargeScores) {
    expect_result({"SoftmaxCrossEntropyLoss",
                   {tensor_of<float>({1, 2}, {1000, 900}), tensor_of<int64_t>({1}, {1})}},
                  tensor_of<float>({}, {100}));
}

TEST(CrossEntropy, NamesALabelThatIsNoClass) {
    for (const char* op_type : {kLoss, "SoftmaxCrossEntropyLoss"}) {
        EXPECT_THAT(error_of({op_type, {kScores, tensor_of<int64_t>({2, 2}, {2, 1, 3, 2})}}),
                    AllOf(HasSubstr("label 2"), HasSubstr("found 3"), HasSubstr("[0, 3)")));
        EXPECT_THAT(error_of({op_type, {kScores, tensor_of<int64_t>({2, 2}, {-1, 1, 0, 2})}}),
                    HasSubstr("found -1"));
    }
}

TEST(CrossEntropy, NamesFoundAndNeeded) {
    const ValueFact scores = fact_of({"n", 3, 4}, DType::kFloat16);
    const ValueFact labels = fact_of({5, "d"}, DType::kInt32);
    EXPECT_EQ(inferred_type(kLoss, {scores, labels}, reduced_by("none")), "f16[5,4]");
    EXPECT_EQ(inferred_type(kLoss, {scores, labels}), "f16[]");
    EXPECT_THAT(inferred_type(kLoss, {scores, labels}, reduced_by("max")),
                AllOf(HasSubstr("max"), HasSubstr("none, sum or mean")));
    EXPECT_THAT(inferred_type(kLoss, {scores, fact_of({5}, DType::kInt32)}),
                AllOf(HasSubstr("rank 1"), HasSubstr("rank 2")));
    EXPECT_THAT(inferred_type(kLoss, {scores, labels, fact_of({4}, DType::kFloat16)}),
                HasSubstr("3 and 4"));
    EXPECT_THAT(inferred_type(kLoss, {scores, fact_of({5, 4}, DType::kInt8)}),
                HasSubstr("i64 or i32"));
}

}  // namespace
}  // namespace leat::testing
