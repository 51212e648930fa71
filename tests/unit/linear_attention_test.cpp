// LinearAttention, CausalConvWithState, RotaryEmbedding and SwiGLU: literal results, as onnx
// 1.23.2's reference evaluator gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using testing::f32_tensor;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::OneNodeResults;
using ::testing::Pointwise;

class StateOperators : public ::testing::TestWithParam<const char*> {
  protected:
    static OneNodeResults run(const std::string& op,
                              int64_t opset,
                              const std::vector<Tensor>& inputs,
                              Attributes attributes = {},
                              int outputs = 1) {
        return testing::run_one_node(GetParam(), op, opset, inputs, std::move(attributes), outputs);
    }
    static void expect_near(const OneNodeResults& results,
                            size_t output,
                            const std::vector<float>& expected) {
        ASSERT_EQ(results.error, "");
        EXPECT_THAT(results.outputs[output], Pointwise(FloatNear(2e-6F), expected));
    }

    const Tensor query_ = f32_tensor({1, 2, 2}, {1, 0, 0, 1});
    const Tensor key_ = f32_tensor({1, 2, 2}, {1, 0, 0.5F, 0.5F});
    const Tensor value_ = f32_tensor({1, 2, 2}, {2, 3, 4, 5});
    const Attributes heads_ = {
        {"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}, {"scale", 1.0F}};
};

TEST_P(StateOperators, LinearAttentionAddsTokensToItsState) {
    Attributes attributes = heads_;
    attributes["update_rule"] = std::string("linear");
    const OneNodeResults results =
        run("LinearAttention", 27, {query_, key_, value_}, attributes, 2);
    expect_near(results, 0, {2, 3, 2, 2.5F});
    expect_near(results, 1, {4, 5.5F, 2, 2.5F});
}

TEST_P(StateOperators, LinearAttentionDecaysAndCorrects) {
    const OneNodeResults results =
        run("LinearAttention", 27,
            {query_, key_, value_, Tensor(), f32_tensor({1, 2, 1}, {0, -1}),
             f32_tensor({1, 2, 1}, {1, 0.5F})},
            heads_, 2);
    expect_near(results, 0, {2, 3, 0.9080302F, 1.1120452F});
    expect_near(results, 1, {1.6437891F, 2.2156835F, 0.9080302F, 1.1120452F});
}

TEST_P(StateOperators, LinearAttentionWantsTheInputsOfItsRule) {
    EXPECT_THAT(run("LinearAttention", 27, {query_, key_, value_}, heads_, 2).error,
                HasSubstr("the update rule 'gated_delta' needs input decay"));
    Attributes attributes = heads_;
    attributes["update_rule"] = std::string("linear");
    EXPECT_THAT(run("LinearAttention", 27,
                    {query_, key_, value_, Tensor(), f32_tensor({1, 2, 1}, {0, 0})}, attributes, 2)
                    .error,
                HasSubstr("the update rule 'linear' does not take input decay"));
}

TEST_P(StateOperators, CausalConvReadsItsPastState) {
    const OneNodeResults results =
        run("CausalConvWithState", 27,
            {f32_tensor({1, 1, 3}, {1, 2, 3}), f32_tensor({1, 1, 3}, {1, 10, 100}),
             f32_tensor({1}, {0.5F}), f32_tensor({1, 1, 2}, {7, 8})},
            {}, 2);
    expect_near(results, 0, {187.5F, 218.5F, 321.5F});
    expect_near(results, 1, {2, 3});
}

TEST_P(StateOperators, CausalConvKeepsZerosOfAShortPast) {
    const OneNodeResults results =
        run("CausalConvWithState", 27,
            {f32_tensor({1, 1, 1}, {4}), f32_tensor({1, 1, 3}, {1, 10, 100})}, {}, 2);
    expect_near(results, 0, {400});
    expect_near(results, 1, {0, 4});
}

TEST_P(StateOperators, RotaryEmbeddingTurnsPairs) {
    const Tensor x = f32_tensor({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Tensor cos = f32_tensor({3, 2}, {1, 1, 0, 1, 0.5F, 0});
    const Tensor sin = f32_tensor({3, 2}, {0, 0, 1, 0, 0.5F, 1});
    const Tensor ids = *Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{1, 2});
    expect_near(run("RotaryEmbedding", 23, {x, cos, sin, ids}), 0, {-3, 2, 1, 4, -1, -8, 6, 6});
    expect_near(run("RotaryEmbedding", 23, {x, cos, sin, ids}, {{"interleaved", int64_t{1}}}), 0,
                {-2, 1, 3, 4, -0.5F, 5.5F, -8, 7});
    const Tensor beyond = *Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{1, 3});
    EXPECT_THAT(run("RotaryEmbedding", 23, {x, cos, sin, beyond}).error,
                HasSubstr("position_ids holds a position beyond cos_cache"));
}

TEST_P(StateOperators, SwigluGatesWithoutBroadcasting) {
    const Tensor gate = f32_tensor({3}, {0, 1, -2});
    expect_near(run("SwiGLU", 28, {gate, f32_tensor({3}, {3, 2, 4})}), 0,
                {0, 1.4621172F, -0.9536235F});
    EXPECT_THAT(run("SwiGLU", 28, {gate, f32_tensor({1}, {3})}).error,
                HasSubstr("axis 0 of A and B differs"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         StateOperators,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
