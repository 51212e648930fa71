// TfIdfVectorizer: what ONNX Runtime gives, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

Attributes pool(const char* mode, const Ints& columns) {
    return {{"mode", std::string(mode)},     {"min_gram_length", int64_t{1}},
            {"max_gram_length", int64_t{1}}, {"max_skip_count", int64_t{0}},
            {"ngram_counts", Ints{0}},       {"ngram_indexes", columns},
            {"pool_int64s", Ints{1, 2, 3}},  {"weights", std::vector<float>{10, 100, 1000}}};
}

class TfIdf : public ::testing::TestWithParam<const char*> {
  protected:
    std::vector<float> result(const Attributes& attributes) const {
        const Tensor x = *Tensor::from<int64_t>({4}, Ints{1, 2, 2, 3});
        const auto got = results_of(GetParam(), {"TfIdfVectorizer", {x}, attributes});
        EXPECT_TRUE(got.ok()) << got.error().message();
        return got.ok() ? elements_of<float>((*got)[0]) : std::vector<float>();
    }
};

TEST_P(TfIdf, WeighsNGramsWhereverTheirColumnsAre) {
    EXPECT_THAT(result(pool("TF", {2, 0, 1})), ElementsAre(2, 1, 1));
    EXPECT_THAT(result(pool("TFIDF", {2, 0, 1})), ElementsAre(200, 1000, 10));
    EXPECT_THAT(result(pool("IDF", {2, 0, 1})), ElementsAre(100, 1000, 10));
    EXPECT_THAT(result(pool("TFIDF", {5, 0, 2})), ElementsAre(200, 0, 1000, 0, 0, 10));
}

TEST_P(TfIdf, AddsUpWhereNGramsShareAColumn) {
    EXPECT_THAT(result(pool("TF", {0, 0, 1})), ElementsAre(3, 1));
    EXPECT_THAT(result(pool("TFIDF", {0, 0, 1})), ElementsAre(210, 1000));
    EXPECT_THAT(result(pool("IDF", {0, 0, 1})), ElementsAre(100, 1000));
}

TEST_P(TfIdf, NamesWhatIsWrong) {
    const Tensor x = *Tensor::from<int64_t>({1}, Ints{1});
    Attributes attributes = pool("TF", {0, 1});
    const auto got = results_of(GetParam(), {"TfIdfVectorizer", {x}, attributes});
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(got.error().message(), HasSubstr("ngram_indexes"));
}

INSTANTIATE_TEST_SUITE_P(All, TfIdf, ::testing::Values("cpu", "reference"));

}  // namespace
}  // namespace leat::testing
