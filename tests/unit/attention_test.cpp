// Attention: literal results, as onnx 1.23.2's reference evaluator and ONNX Runtime give them.
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

constexpr int64_t kOne = 1;

class Attention : public ::testing::TestWithParam<const char*> {
  protected:
    Results attend(int64_t opset,
                   std::vector<Tensor> more,
                   Attributes attributes = {},
                   int outputs = 1) const {
        more.insert(more.begin(), {q_, k_, v_});
        return testing::results_of(
            GetParam(), {"Attention", std::move(more), std::move(attributes), opset, outputs});
    }
    static void expect_near(const Results& results,
                            size_t output,
                            const std::vector<float>& expected) {
        ASSERT_TRUE(results.ok()) << results.error().message();
        EXPECT_THAT((*results)[output].data<float>(), Pointwise(FloatNear(2e-6F), expected));
    }

    Tensor q_ = floats_of({1, 1, 2, 2}, {1, 0, 0, 2});
    Tensor k_ = floats_of({1, 1, 3, 2}, {1, 1, 2, 0, 0, 1});
    Tensor v_ = floats_of({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6});
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
    const Results results =
        attend(23, {Tensor(), floats_of({1, 1, 1, 2}, {1, -1}), floats_of({1, 1, 1, 2}, {7, 8})},
               {{"is_causal", kOne}}, 3);
    expect_near(results, 0, {4, 5, 1.6457175F, 2.6457175F});
    EXPECT_THAT((*results)[1].data<float>(), ElementsAre(1, -1, 1, 1, 2, 0, 0, 1));
    EXPECT_THAT((*results)[2].data<float>(), ElementsAre(7, 8, 1, 2, 3, 4, 5, 6));
}

TEST_P(Attention, PaddingIsNoKey) {
    const Tensor lengths = *Tensor::from<int64_t>({1}, std::vector<int64_t>{2});
    expect_near(attend(24, {Tensor(), Tensor(), Tensor(), lengths}, {{"is_causal", kOne}}), 0,
                {1, 2, 1.3911406F, 2.3911405F});
    const Tensor too_long = *Tensor::from<int64_t>({1}, std::vector<int64_t>{4});
    EXPECT_THAT(attend(24, {Tensor(), Tensor(), Tensor(), too_long}).error().message(),
                HasSubstr("element 0 of nonpad_kv_seqlen is no number of keys"));
}

TEST_P(Attention, WindowsBoundTheKeysOnBothSides) {
    q_ = floats_of({1, 1, 3, 2}, {1, 0, 0, 2, 1, 1});
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
    const Results results = attend(24, {}, {{"softcap", 1.0F}, {"qk_matmul_output_mode", kOne}}, 4);
    expect_near(results, 0, {2.6818188F, 3.6818190F, 3, 4});
    expect_near(results, 3, {0.6088594F, 0.8883856F, 0, 0.8883856F, 0, 0.8883856F});
}

TEST_P(Attention, HeadsOfQueriesShareOneOfKeys) {
    q_ = floats_of({1, 2, 2}, {1, 2, 3, -1});
    k_ = floats_of({1, 2, 1}, {1, 2});
    v_ = floats_of({1, 2, 1}, {10, 20});
    const Results results = attend(23, {}, {{"q_num_heads", int64_t{2}}, {"kv_num_heads", kOne}});
    ASSERT_TRUE(results.ok()) << results.error().message();
    EXPECT_THAT((*results)[0].data<float>(),
                Pointwise(FloatNear(1e-5F), {17.310586F, 18.80797F, 19.525742F, 12.689414F}));
}

TEST_P(Attention, SaysWhatDoesNotFit) {
    EXPECT_THAT(attend(23, {}, {{"qk_matmul_output_mode", int64_t{4}}}).error().message(),
                HasSubstr("attribute 'qk_matmul_output_mode' is out of range"));
    EXPECT_THAT(attend(24, {}, {{"left_window_size", kOne}}).error().message(),
                HasSubstr("left_window_size"));
    EXPECT_THAT(attend(24, {floats_of({2, 4}, std::vector<float>(8))}).error().message(),
                HasSubstr("attn_mask does not broadcast to the scores"));
    k_ = floats_of({1, 1, 3, 1}, {1, 2, 0});
    EXPECT_THAT(attend(23, {}).error().message(), HasSubstr("the size of the heads of K"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         Attention,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
