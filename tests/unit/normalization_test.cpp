// RMSNormalization, GroupNormalization, LpNormalization and MeanVarianceNormalization: literal
// results, as ONNX Runtime gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat {
namespace {

using testing::f32_tensor;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::OneNodeResults;
using ::testing::Pointwise;

class Normalization : public ::testing::TestWithParam<const char*> {
  protected:
    static OneNodeResults run(const std::string& op,
                              int64_t opset,
                              const std::vector<Tensor>& inputs,
                              Attributes attributes = {}) {
        return testing::run_one_node(GetParam(), op, opset, inputs, std::move(attributes));
    }
    static void expect_near(const OneNodeResults& results, const std::vector<float>& expected) {
        ASSERT_EQ(results.error, "");
        EXPECT_THAT(results.outputs[0], Pointwise(FloatNear(2e-6F), expected));
    }
};

TEST_P(Normalization, RmsOfRows) {
    const std::vector<Tensor> inputs{f32_tensor({2, 2}, {3, 4, 1, 1}), f32_tensor({2}, {1, 2})};
    expect_near(run("RMSNormalization", 23, inputs, {{"epsilon", 0.0F}}),
                {0.8485281F, 2.2627417F, 1, 2});
    EXPECT_THAT(run("RMSNormalization", 23, inputs, {{"stash_type", int64_t{7}}}).error,
                HasSubstr("attribute 'stash_type' is not a floating type"));
}

TEST_P(Normalization, GroupsScaleByChannelSinceOpset21) {
    const Tensor x = f32_tensor({1, 4, 1}, {1, 3, 2, 6});
    Attributes attributes{{"num_groups", int64_t{2}}, {"epsilon", 0.0F}};
    expect_near(run("GroupNormalization", 21,
                    {x, f32_tensor({4}, {1, 2, 3, 4}), f32_tensor({4}, {0, 0, 1, 1})}, attributes),
                {-1, 2, -2, 5});
    attributes["num_groups"] = int64_t{3};
    EXPECT_THAT(run("GroupNormalization", 21,
                    {x, f32_tensor({4}, {1, 2, 3, 4}), f32_tensor({4}, {0, 0, 1, 1})}, attributes)
                    .error,
                HasSubstr("attribute 'num_groups' is no number of groups"));
}

TEST_P(Normalization, GroupsScaleByGroupBeforeOpset21) {
    expect_near(
        run("GroupNormalization", 18,
            {f32_tensor({1, 4, 1}, {1, 3, 2, 6}), f32_tensor({2}, {1, 3}), f32_tensor({2}, {0, 1})},
            {{"num_groups", int64_t{2}}, {"epsilon", 0.0F}}),
        {-1, 1, -2, 4});
}

TEST_P(Normalization, LpOfRows) {
    const Tensor x = f32_tensor({2, 2}, {3, -4, 0, 0});
    for (const int64_t opset : {1, 22}) {
        expect_near(run("LpNormalization", opset, {x}), {0.6F, -0.8F, 0, 0});
        expect_near(run("LpNormalization", opset, {x}, {{"p", int64_t{1}}}),
                    {3.0F / 7, -4.0F / 7, 0, 0});
    }
    EXPECT_THAT(run("LpNormalization", 22, {x}, {{"p", int64_t{3}}}).error,
                HasSubstr("attribute 'p' is no norm"));
}

TEST_P(Normalization, MeanAndVarianceByChannel) {
    const Tensor x = f32_tensor({1, 2, 1, 2}, {1, 3, 2, 6});
    for (const int64_t opset : {9, 13}) {
        expect_near(run("MeanVarianceNormalization", opset, {x}), {-1, 1, -1, 1});
    }
    EXPECT_THAT(
        run("MeanVarianceNormalization", 13, {x}, {{"axes", std::vector<int64_t>{4}}}).error,
        HasSubstr("axis"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         Normalization,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
