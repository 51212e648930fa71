#include "conformance/case_inputs.h"

namespace leat::testing {
namespace {

using Texts = std::vector<std::string>;

// 1-grams 2, 3 and 5; 2-grams (5, 4), (5, 6), (7, 8) and (6, 7); a 3-gram (2, 3, 3).
Attributes pool_of_ints(const char* mode, int64_t least, int64_t most, int64_t skips) {
    return {{"mode", std::string(mode)},
            {"min_gram_length", least},
            {"max_gram_length", most},
            {"max_skip_count", skips},
            {"ngram_counts", Ints{0, 3, 11}},
            {"ngram_indexes", Ints{0, 1, 2, 6, 3, 4, 5, 7}},
            {"pool_int64s", Ints{2, 3, 5, 5, 4, 5, 6, 7, 8, 6, 7, 2, 3, 3}}};
}

CaseInput tokens(Shape shape, DType dtype = DType::kInt64) {
    return random_input(shape, dtype, 1, 8);
}

}  // namespace

std::vector<OpCase> tf_idf_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, Attributes attributes) {
        cases.push_back(
            exact(make_case("TfIdfVectorizer", name, {std::move(x)}, std::move(attributes))));
    };
    for (const char* mode : {"TF", "IDF", "TFIDF"}) {
        for (const int64_t skips : {0, 1, 5, 1'000'000}) {
            const std::string name = std::string(mode) + "_skip_" + std::to_string(skips);
            add(name, tokens({3, 40}), pool_of_ints(mode, 1, 3, skips));
            Attributes weighted = pool_of_ints(mode, 1, 2, skips);
            weighted.emplace("weights", std::vector<float>{0.5F, 1.5F, 3, -1, 0.1F, 2, 0.25F, 7});
            add(name + "_weights", tokens({37}, DType::kInt32), std::move(weighted));
        }
    }
    add("bigrams", tokens({4, 30}), pool_of_ints("TF", 2, 2, 0));
    add("trigrams", tokens({4, 60}), pool_of_ints("TF", 3, 3, 2));
    add("unigrams", tokens({4, 20}), pool_of_ints("TF", 1, 1, 3));
    add("scalar", tokens({}), pool_of_ints("TF", 1, 2, 3));
    add("no_tokens", tokens({2, 0}), pool_of_ints("TF", 1, 2, 3));
    add("no_rows", tokens({0, 5}), pool_of_ints("TF", 1, 2, 3));
    const Attributes words = {{"mode", std::string("TF")},
                              {"min_gram_length", int64_t{1}},
                              {"max_gram_length", int64_t{2}},
                              {"max_skip_count", int64_t{1}},
                              {"ngram_counts", Ints{0, 2}},
                              {"ngram_indexes", Ints{3, 0, 1, 3}},
                              {"pool_strings", Texts{"a", "", "a", "b", "b", "a"}}};
    add("strings", given_input<std::string>({2, 4}, {"a", "b", "a", "", "b", "b", "a", "c"}),
        words);
    return cases;
}

}  // namespace leat::testing
