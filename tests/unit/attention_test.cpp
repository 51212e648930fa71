// Attention: literal results, as onnx 1.23.2's reference evaluator and ONNX Runtime give them.
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

constexpr int64_t kOne = 1;

class Attention : public ::testing::TestWithParam<const char*> {
  protected:
    OneNodeResults attend(int64_t opset,
                          std::vector<Tensor> more,
                          Attributes attributes = {},
                          int outputs = 1) const {
        more.insert(more.begin(), {q_, k_, v_});
        return testing::run_one_node(GetParam(), "Attention", opset, more, std::move(attributes),
                                     outputs);
    }
    static void expect_near(const OneNodeResults& results,
                            size_t output,
                            const std::vector<float>& expected) {
        ASSERT_EQ(results.error, "");
        EXPECT_THAT(results.outputs[output], Pointwise(FloatNear(2e-6F), expected));
    }

    Tensor q_ = f32_tensor({1, 1, 2, 2}, {1, 0, 0, 2});
    Tensor k_ = f32_tensor({1, 1, 3, 2}, {1, 1, 2, 0, 0, 1});
    Tensor v_ = f32_tensor({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6});
};

TEST_P(Attention, WeighsAllKeys) {
    for (const int64_t opset : {23, 24, 25, 28}) {
        expect_near(attend(opset, {}), 0, {2.7120676F, 3.7120676F, 3, 4});
    }
}

TEST_P(Attention, CausalQueriesReadNoLaterKeys) {
    expect_near(attend(23, {}, {{"is_causal", kOne}}), 0, {1, 2, 1.3911406F, 2.3911405F});
}

TEST_P(Attention, ThePastStandsBeforeTheKeys) {
    const OneNodeResults results =
        attend(23, {Tensor(), f32_tensor({1, 1, 1, 2}, {1, -1}), f32_tensor({1, 1, 1, 2}, {7, 8})},
               {{"is_causal", kOne}}, 3);
    expect_near(results, 0, {4, 5, 1.6457175F, 2.6457175F});
    EXPECT_THAT(results.outputs[1], ElementsAre(1, -1, 1, 1, 2, 0, 0, 1));
    EXPECT_THAT(results.outputs[2], ElementsAre(7, 8, 1, 2, 3, 4, 5, 6));
}

TEST_P(Attention, PaddingIsNoKey) {
    const Tensor lengths = *Tensor::from<int64_t>({1}, std::vector<int64_t>{2});
    expect_near(attend(24, {Tensor(), Tensor(), Tensor(), lengths}, {{"is_causal", kOne}}), 0,
                {1, 2, 1.3911406F, 2.3911405F});
    const Tensor too_long = *Tensor::from<int64_t>({1}, std::vector<int64_t>{4});
    EXPECT_THAT(attend(24, {Tensor(), Tensor(), Tensor(), too_long}).error,
                HasSubstr("element 0 of nonpad_kv_seqlen is no number of keys"));
}

TEST_P(Attention, WindowsBoundTheKeysOnBothSides) {
    q_ = f32_tensor({1, 1, 3, 2}, {1, 0, 0, 2, 1, 1});
    expect_near(attend(25, {}, {{"left_window_size", kOne}, {"right_window_size", int64_t{0}}}), 0,
                {1, 2, 1.3911406F, 2.3911405F, 3.6604765F, 4.6604767F});
}

TEST_P(Attention, ARowWithoutKeysIsZero) {
    Tensor mask = *Tensor::allocate(DType::kBool, {2, 3});
    std::fill_n(mask.mutable_bytes(), 6, std::byte{0});
    mask.mutable_bytes()[0] = mask.mutable_bytes()[2] = std::byte{1};
    expect_near(attend(24, {mask}), 0, {2.3209536F, 3.3209536F, 0, 0});
}

TEST_P(Attention, ShowsScoresWithTheirCap) {
    const OneNodeResults results =
        attend(24, {}, {{"softcap", 1.0F}, {"qk_matmul_output_mode", kOne}}, 4);
    expect_near(results, 0, {2.6818188F, 3.6818190F, 3, 4});
    expect_near(results, 3, {0.6088594F, 0.8883856F, 0, 0.8883856F, 0, 0.8883856F});
}

TEST_P(Attention, HeadsOfQueriesShareOneOfKeys) {
    q_ = f32_tensor({1, 2, 2}, {1, 2, 3, -1});
    k_ = f32_tensor({1, 2, 1}, {1, 2});
    v_ = f32_tensor({1, 2, 1}, {10, 20});
    const OneNodeResults results =
        attend(23, {}, {{"q_num_heads", int64_t{2}}, {"kv_num_heads", kOne}});
    ASSERT_EQ(results.error, "");
    EXPECT_THAT(results.outputs[0],
                Pointwise(FloatNear(1e-5F), {17.310586F, 18.80797F, 19.525742F, 12.689414F}));
}

TEST_P(Attention, SaysWhatDoesNotFit) {
    EXPECT_THAT(attend(23, {}, {{"qk_matmul_output_mode", int64_t{4}}}).error,
                HasSubstr("attribute 'qk_matmul_output_mode' is out of range"));
    EXPECT_THAT(attend(24, {}, {{"left_window_size", kOne}}).error, HasSubstr("left_window_size"));
    EXPECT_THAT(attend(24, {f32_tensor({2, 4}, std::vector<float>(8))}).error,
                HasSubstr("attn_mask does not broadcast to the scores"));
    k_ = f32_tensor({1, 1, 3, 1}, {1, 2, 0});
    EXPECT_THAT(attend(23, {}).error, HasSubstr("the size of the heads of K"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         Attention,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
