// LinearAttention, CausalConvWithState, RotaryEmbedding and SwiGLU: literal results, as onnx
// 1.23.2's reference evaluator gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::floats_of;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Results = Result<std::vector<Tensor>>;

class StateOperators : public ::testing::TestWithParam<const char*> {
  protected:
    static Results run(const std::string& op,
                       int64_t opset,
                       const std::vector<Tensor>& inputs,
                       Attributes attributes = {},
                       int outputs = 1) {
        return testing::results_of(GetParam(), {op, inputs, std::move(attributes), opset, outputs});
    }
    static void expect_near(const Results& results,
                            size_t output,
                            const std::vector<float>& expected) {
        ASSERT_TRUE(results.ok()) << results.error().message();
        EXPECT_THAT((*results)[output].data<float>(), Pointwise(FloatNear(2e-6F), expected));
    }

    const Tensor query_ = floats_of({1, 2, 2}, {1, 0, 0, 1});
    const Tensor key_ = floats_of({1, 2, 2}, {1, 0, 0.5F, 0.5F});
    const Tensor value_ = floats_of({1, 2, 2}, {2, 3, 4, 5});
    const Attributes heads_ = {
        {"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}, {"scale", 1.0F}};
};

TEST_P(StateOperators, LinearAttentionAddsTokensToItsState) {
    Attributes attributes = heads_;
    attributes["update_rule"] = std::string("linear");
    const Results results = run("LinearAttention", 27, {query_, key_, value_}, attributes, 2);
    expect_near(results, 0, {2, 3, 2, 2.5F});
    expect_near(results, 1, {4, 5.5F, 2, 2.5F});
}

TEST_P(StateOperators, LinearAttentionDecaysAndCorrects) {
    const Results results = run("LinearAttention", 27,
                                {query_, key_, value_, Tensor(), floats_of({1, 2, 1}, {0, -1}),
                                 floats_of({1, 2, 1}, {1, 0.5F})},
                                heads_, 2);
    expect_near(results, 0, {2, 3, 0.9080302F, 1.1120452F});
    expect_near(results, 1, {1.6437891F, 2.2156835F, 0.9080302F, 1.1120452F});
}

TEST_P(StateOperators, LinearAttentionWantsTheInputsOfItsRule) {
    EXPECT_THAT(run("LinearAttention", 27, {query_, key_, value_}, heads_, 2).error().message(),
                HasSubstr("the update rule 'gated_delta' needs input decay"));
    Attributes attributes = heads_;
    attributes["update_rule"] = std::string("linear");
    EXPECT_THAT(run("LinearAttention", 27,
                    {query_, key_, value_, Tensor(), floats_of({1, 2, 1}, {0, 0})}, attributes, 2)
                    .error()
                    .message(),
                HasSubstr("the update rule 'linear' does not take input decay"));
}

TEST_P(StateOperators, CausalConvReadsItsPastState) {
    const Results results =
        run("CausalConvWithState", 27,
            {floats_of({1, 1, 3}, {1, 2, 3}), floats_of({1, 1, 3}, {1, 10, 100}),
             floats_of({1}, {0.5F}), floats_of({1, 1, 2}, {7, 8})},
            {}, 2);
    expect_near(results, 0, {187.5F, 218.5F, 321.5F});
    expect_near(results, 1, {2, 3});
}

TEST_P(StateOperators, CausalConvKeepsZerosOfAShortPast) {
    const Results results =
        run("CausalConvWithState", 27,
            {floats_of({1, 1, 1}, {4}), floats_of({1, 1, 3}, {1, 10, 100})}, {}, 2);
    expect_near(results, 0, {400});
    expect_near(results, 1, {0, 4});
}

TEST_P(StateOperators, RotaryEmbeddingTurnsPairs) {
    const Tensor x = floats_of({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Tensor cos = floats_of({3, 2}, {1, 1, 0, 1, 0.5F, 0});
    const Tensor sin = floats_of({3, 2}, {0, 0, 1, 0, 0.5F, 1});
    const Tensor ids = *Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{1, 2});
    expect_near(run("RotaryEmbedding", 23, {x, cos, sin, ids}), 0, {-3, 2, 1, 4, -1, -8, 6, 6});
    expect_near(run("RotaryEmbedding", 23, {x, cos, sin, ids}, {{"interleaved", int64_t{1}}}), 0,
                {-2, 1, 3, 4, -0.5F, 5.5F, -8, 7});
    const Tensor beyond = *Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{1, 3});
    EXPECT_THAT(run("RotaryEmbedding", 23, {x, cos, sin, beyond}).error().message(),
                HasSubstr("position_ids holds a position beyond cos_cache"));
}

TEST_P(StateOperators, SwigluGatesWithoutBroadcasting) {
    const Tensor gate = floats_of({3}, {0, 1, -2});
    expect_near(run("SwiGLU", 28, {gate, floats_of({3}, {3, 2, 4})}), 0,
                {0, 1.4621172F, -0.9536235F});
    EXPECT_THAT(run("SwiGLU", 28, {gate, floats_of({1}, {3})}).error().message(),
                HasSubstr("axis 0 of A and B differs"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         StateOperators,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
