// RMSNormalization, GroupNormalization, LpNormalization and MeanVarianceNormalization: literal
// results, as ONNX Runtime gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat {
namespace {

using ::testing::FloatNear;
using testing::floats_of;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Results = Result<std::vector<Tensor>>;

class Normalization : public ::testing::TestWithParam<const char*> {
  protected:
    static Results run(const std::string& op,
                       int64_t opset,
                       const std::vector<Tensor>& inputs,
                       Attributes attributes = {}) {
        return testing::results_of(GetParam(), {op, inputs, std::move(attributes), opset});
    }
    static void expect_near(const Results& results, const std::vector<float>& expected) {
        ASSERT_TRUE(results.ok()) << results.error().message();
        EXPECT_THAT((*results)[0].data<float>(), Pointwise(FloatNear(2e-6F), expected));
    }
};

TEST_P(Normalization, RmsOfRows) {
    const std::vector<Tensor> inputs{floats_of({2, 2}, {3, 4, 1, 1}), floats_of({2}, {1, 2})};
    expect_near(run("RMSNormalization", 23, inputs, {{"epsilon", 0.0F}}),
                {0.8485281F, 2.2627417F, 1, 2});
    EXPECT_THAT(run("RMSNormalization", 23, inputs, {{"stash_type", int64_t{7}}}).error().message(),
                HasSubstr("attribute 'stash_type' is not a floating type"));
}

TEST_P(Normalization, GroupsScaleByChannelSinceOpset21) {
    const Tensor x = floats_of({1, 4, 1}, {1, 3, 2, 6});
    Attributes attributes{{"num_groups", int64_t{2}}, {"epsilon", 0.0F}};
    expect_near(run("GroupNormalization", 21,
                    {x, floats_of({4}, {1, 2, 3, 4}), floats_of({4}, {0, 0, 1, 1})}, attributes),
                {-1, 2, -2, 5});
    attributes["num_groups"] = int64_t{3};
    EXPECT_THAT(run("GroupNormalization", 21,
                    {x, floats_of({4}, {1, 2, 3, 4}), floats_of({4}, {0, 0, 1, 1})}, attributes)
                    .error()
                    .message(),
                HasSubstr("attribute 'num_groups' is no number of groups"));
}

TEST_P(Normalization, GroupsScaleByGroupBeforeOpset21) {
    expect_near(
        run("GroupNormalization", 18,
            {floats_of({1, 4, 1}, {1, 3, 2, 6}), floats_of({2}, {1, 3}), floats_of({2}, {0, 1})},
            {{"num_groups", int64_t{2}}, {"epsilon", 0.0F}}),
        {-1, 1, -2, 4});
}

TEST_P(Normalization, LpOfRows) {
    const Tensor x = floats_of({2, 2}, {3, -4, 0, 0});
    for (const int64_t opset : {1, 22}) {
        expect_near(run("LpNormalization", opset, {x}), {0.6F, -0.8F, 0, 0});
        expect_near(run("LpNormalization", opset, {x}, {{"p", int64_t{1}}}),
                    {3.0F / 7, -4.0F / 7, 0, 0});
    }
    EXPECT_THAT(run("LpNormalization", 22, {x}, {{"p", int64_t{3}}}).error().message(),
                HasSubstr("attribute 'p' is no norm"));
}

TEST_P(Normalization, MeanAndVarianceByChannel) {
    const Tensor x = floats_of({1, 2, 1, 2}, {1, 3, 2, 6});
    for (const int64_t opset : {9, 13}) {
        expect_near(run("MeanVarianceNormalization", opset, {x}), {-1, 1, -1, 1});
    }
    EXPECT_THAT(run("MeanVarianceNormalization", 13, {x}, {{"axes", std::vector<int64_t>{4}}})
                    .error()
                    .message(),
                HasSubstr("axis"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         Normalization,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
