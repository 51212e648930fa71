// Operators of ai.onnx.ml: results that ONNX Runtime gives, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using Texts = std::vector<std::string>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(const Shape& shape, const Floats& elements) {
    return *Tensor::from<float>(shape, elements);
}
Tensor ints(const Shape& shape, const Ints& elements) {
    return *Tensor::from<int64_t>(shape, elements);
}
Tensor texts(const Shape& shape, const Texts& elements) {
    return *Tensor::from<std::string>(shape, elements);
}

class Ml : public ::testing::TestWithParam<const char*> {
  protected:
    std::vector<Tensor> results(const std::string& op_type,
                                const std::vector<Tensor>& inputs,
                                const Attributes& attributes = {},
                                int count = 1) const {
        auto found =
            results_of(GetParam(), {"ai.onnx.ml." + op_type, inputs, attributes, 0, count});
        EXPECT_TRUE(found.ok()) << found.error().message();
        return found.ok() ? *std::move(found) : std::vector<Tensor>(size_t(count));
    }
    Tensor result(const std::string& op_type,
                  const std::vector<Tensor>& inputs,
                  const Attributes& attributes = {}) const {
        return results(op_type, inputs, attributes)[0];
    }
    std::string error(const std::string& op_type,
                      const std::vector<Tensor>& inputs,
                      const Attributes& attributes = {}) const {
        const auto found = results_of(GetParam(), {"ai.onnx.ml." + op_type, inputs, attributes});
        EXPECT_FALSE(found.ok());
        return found.ok() ? "" : found.error().message();
    }
};

TEST_P(Ml, LabelEncoderKnowsNanAndBothZeros) {
    const Tensor got =
        result("LabelEncoder", {floats({5}, {0, -0.0F, kNan, 1.5F, 7})},
               {{"keys_floats", Floats{0, kNan, 1.5F}}, {"values_int64s", Ints{1, 2, 3}}});
    EXPECT_THAT(elements_of<int64_t>(got), ElementsAre(1, 1, 2, 3, -1));
}

TEST_P(Ml, LabelEncoderHasDefaults) {
    const Texts keys = {"a"};
    const Tensor x = texts({2}, {"a", "z"});
    EXPECT_THAT(elements_of<std::string>(result(
                    "LabelEncoder", {x}, {{"keys_strings", keys}, {"values_strings", keys}})),
                ElementsAre("a", "_Unused"));
    EXPECT_THAT(elements_of<int16_t>(result(
                    "LabelEncoder", {x},
                    {{"keys_strings", keys},
                     {"values_tensor", *Tensor::from<int16_t>({1}, std::vector<int16_t>{4})},
                     {"default_tensor", *Tensor::from<int16_t>({1}, std::vector<int16_t>{42})}})),
                ElementsAre(4, 42));
}

TEST_P(Ml, LabelEncoderOfTheFirstVersionCountsLabels) {
    const Attributes classes = {{"classes_strings", Texts{"a", "b"}}};
    EXPECT_THAT(elements_of<std::string>(result("LabelEncoder", {ints({3}, {0, 1, 5})}, classes)),
                ElementsAre("a", "b", "_Unused"));
    EXPECT_THAT(elements_of<int64_t>(result("LabelEncoder", {texts({2}, {"b", "c"})}, classes)),
                ElementsAre(1, -1));
}

TEST_P(Ml, ArrayFeatureExtractorTakesColumns) {
    const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
    const Tensor got = result("ArrayFeatureExtractor", {x, ints({1, 2}, {2, 0})});
    EXPECT_EQ(got.shape(), Shape({2, 2}));
    EXPECT_THAT(elements_of<float>(got), ElementsAre(2, 0, 5, 3));
    EXPECT_EQ(result("ArrayFeatureExtractor", {floats({3}, {0, 1, 2}), ints({1}, {2})}).shape(),
              Shape({1, 1}));
    EXPECT_THAT(error("ArrayFeatureExtractor", {x, ints({1}, {3})}), HasSubstr("0 to 2"));
}

TEST_P(Ml, BinarizerComparesWithTheThreshold) {
    EXPECT_THAT(elements_of<float>(
                    result("Binarizer", {floats({4}, {0, 0.5F, 1, kNan})}, {{"threshold", 0.5F}})),
                ElementsAre(0, 0, 1, 0));
}

TEST_P(Ml, NormalizerHasThreeNorms) {
    const Tensor x = floats({3, 2}, {3, 4, -3, 4, 0, 0});
    const auto norm = [&](const char* name) {
        return elements_of<float>(result("Normalizer", {x}, {{"norm", std::string(name)}}));
    };
    EXPECT_THAT(norm("MAX"), ElementsAre(0.75F, 1, -0.75F, 1, 0, 0));
    EXPECT_THAT(norm("L1"), ElementsAre(3.0F / 7, 4.0F / 7, -3.0F / 7, 4.0F / 7, 0, 0));
    EXPECT_THAT(norm("L2"), ElementsAre(0.6F, 0.8F, -0.6F, 0.8F, 0, 0));
}

TEST_P(Ml, OneHotEncoderMayRefuseUnknownCategories) {
    const Attributes categories = {{"cats_int64s", Ints{1, 2}}};
    EXPECT_THAT(
        elements_of<float>(result("OneHotEncoder", {floats({3}, {1.9F, 2, -1})}, categories)),
        ElementsAre(1, 0, 0, 1, 0, 0));
    Attributes strict = categories;
    strict.emplace("zeros", int64_t{0});
    EXPECT_THAT(error("OneHotEncoder", {ints({1}, {7})}, strict), HasSubstr("7"));
}

// x[0] <= 3: a set membership test of {1, 2}, else a leaf.
Attributes small_tree() {
    const std::vector<uint8_t> modes = {0, 6};
    return {{"tree_roots", Ints{0}},
            {"n_targets", int64_t{1}},
            {"nodes_modes", *Tensor::from<uint8_t>({2}, modes)},
            {"nodes_splits", floats({2}, {3, 0})},
            {"nodes_featureids", Ints{0, 0}},
            {"nodes_truenodeids", Ints{1, 0}},
            {"nodes_trueleafs", Ints{0, 1}},
            {"nodes_falsenodeids", Ints{2, 1}},
            {"nodes_falseleafs", Ints{1, 1}},
            {"leaf_targetids", Ints{0, 0, 0}},
            {"leaf_weights", floats({3}, {10, 20, 30})},
            {"membership_values", floats({3}, {2, 1, kNan})}};
}

TEST_P(Ml, TreeEnsembleTestsForMembers) {
    EXPECT_THAT(elements_of<float>(
                    result("TreeEnsemble", {floats({5, 1}, {1, 2, 2.5F, 4, kNan})}, small_tree())),
                ElementsAre(10, 10, 20, 30, 30));
}

TEST_P(Ml, TreeEnsembleRefusesCirclesAndMissingFeatures) {
    Attributes circle = small_tree();
    circle["nodes_truenodeids"] = Ints{1, 0};
    circle["nodes_trueleafs"] = Ints{0, 0};
    EXPECT_THAT(error("TreeEnsemble", {floats({1, 1}, {1})}, circle), HasSubstr("circle"));
    EXPECT_THAT(error("TreeEnsemble", {floats({1, 0}, {})}, small_tree()),
                HasSubstr("no features"));
}

TEST_P(Ml, TreeEnsembleClassifierOfOneVoteHasTwoScores) {
    const Attributes tree = {{"nodes_treeids", Ints{0, 0, 0}},
                             {"nodes_nodeids", Ints{0, 1, 2}},
                             {"nodes_featureids", Ints{0, 0, 0}},
                             {"nodes_values", Floats{0, 0, 0}},
                             {"nodes_modes", Texts{"BRANCH_LEQ", "LEAF", "LEAF"}},
                             {"nodes_truenodeids", Ints{1, 0, 0}},
                             {"nodes_falsenodeids", Ints{2, 0, 0}},
                             {"class_treeids", Ints{0, 0}},
                             {"class_nodeids", Ints{1, 2}},
                             {"class_ids", Ints{0, 0}},
                             {"class_weights", Floats{0.2F, 0.7F}},
                             {"classlabels_int64s", Ints{10, 20}}};
    const auto got = results("TreeEnsembleClassifier", {floats({2, 1}, {-1, 1})}, tree, 2);
    EXPECT_THAT(elements_of<int64_t>(got[0]), ElementsAre(10, 20));
    EXPECT_THAT(elements_of<float>(got[1]), Pointwise(FloatNear(1e-6F), {0.8F, 0.2F, 0.3F, 0.7F}));
    Attributes logistic = tree;
    logistic.emplace("post_transform", std::string("LOGISTIC"));
    EXPECT_THAT(elements_of<float>(
                    results("TreeEnsembleClassifier", {floats({1, 1}, {-1})}, logistic, 2)[1]),
                Pointwise(FloatNear(1e-5F), {0.45017F, 0.54983F}));
}

TEST_P(Ml, LinearClassifierMayHaveOneRowForTwoClasses) {
    const Attributes model = {{"coefficients", Floats{0.5F, -0.25F}},
                              {"intercepts", Floats{0.25F}},
                              {"classlabels_strings", Texts{"no", "yes"}}};
    const auto got = results("LinearClassifier", {floats({2, 2}, {1, 2, -1, 0})}, model, 2);
    EXPECT_THAT(elements_of<std::string>(got[0]), ElementsAre("yes", "no"));
    EXPECT_THAT(elements_of<float>(got[1]), ElementsAre(0.75F, 0.25F, 1.25F, -0.25F));
}

TEST_P(Ml, SvmClassifierVotesByPairs) {
    const Attributes model = {
        {"support_vectors", Floats{1, 0, 0, 1}}, {"vectors_per_class", Ints{1, 1}},
        {"coefficients", Floats{1, -1}},         {"rho", Floats{0.5F}},
        {"kernel_type", std::string("LINEAR")},  {"classlabels_ints", Ints{5, 6}}};
    const auto got = results("SVMClassifier", {floats({2, 2}, {1, 0, 0, 2})}, model, 2);
    EXPECT_THAT(elements_of<int64_t>(got[0]), ElementsAre(5, 6));
    EXPECT_THAT(elements_of<float>(got[1]), ElementsAre(-1.5F, 1.5F, 1.5F, -1.5F));
}

INSTANTIATE_TEST_SUITE_P(All, Ml, ::testing::Values("cpu", "reference"));

}  // namespace
}  // namespace leat::testing
