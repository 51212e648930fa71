// StringNormalizer: results that ONNX Runtime gives, too, and what of it the standard leaves open.
#include "ops/string_normalizer/string_normalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/compiled_routes.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const Words kWords = {"monday", "Tuesday", "École", "STRAẞE", "straße", "ΣΑΣ", "tuesday"};
const Words kStopwords = {"TUESDAY", "école", "straße", "monday"};

Attributes attributes_of(const char* action, bool is_case_sensitive, const Words& stopwords) {
    Attributes attributes = {{"case_change_action", std::string(action)},
                             {"is_case_sensitive", int64_t{is_case_sensitive}}};
    if (!stopwords.empty()) {
        attributes.emplace("stopwords", stopwords);
    }
    return attributes;
}

Tensor tensor_of(const Shape& shape, const Words& words) {
    return *Tensor::from<std::string>(shape, words);
}
Tensor line_of(const Words& words) {
    return tensor_of({int64_t(words.size())}, words);
}

Words words_of(const Tensor& tensor) {
    const auto words = tensor.data<std::string>();
    return {words.begin(), words.end()};
}

class StringNormalizer : public ::testing::TestWithParam<const char*> {
  protected:
    StringNormalizer() : runtime_(with_built_backends(2)) { options_.devices = GetParam(); }

    // Of an input whose extents have names.
    Result<CompiledGraph> compiled_for(const Attributes& attributes, int rank) const {
        Graph graph("normalizer");
        std::vector<DimSpec> dims = {DimSpec("rows"), DimSpec("words")};
        const ValueId x = graph.input("x", DType::kString, {dims.end() - rank, dims.end()});
        graph.output("y", graph.add("StringNormalizer", {x}, attributes, "normalize"));
        return runtime_.compile(graph, options_);
    }

    Result<Tensor> result_of(const Tensor& x, const Attributes& attributes) const {
        Result<CompiledGraph> compiled = compiled_for(attributes, x.shape().rank());
        if (!compiled.ok()) {
            return compiled.error();
        }
        const Result<TensorsByName> outputs = outputs_of(*compiled, {{"x", x}});
        return outputs.ok() ? Result<Tensor>(outputs->at("y")) : Result<Tensor>(outputs.error());
    }

    Words left_of(const Words& words, const Attributes& attributes) const {
        const Result<Tensor> result = result_of(line_of(words), attributes);
        EXPECT_TRUE(result.ok()) << result.error().message();
        return result.ok() ? words_of(*result) : Words();
    }

    std::string error_of(const Tensor& x, const Attributes& attributes) const {
        const Result<Tensor> result = result_of(x, attributes);
        EXPECT_FALSE(result.ok());
        EXPECT_EQ(result.error().code(), StatusCode::kInvalidArgument);
        return result.ok() ? "" : result.error().message();
    }

    Runtime runtime_;
    CompileOptions options_;
};

TEST_P(StringNormalizer, ChangesCase) {
    EXPECT_THAT(left_of(kWords, attributes_of("NONE", false, {})), ElementsAreArray(kWords));
    EXPECT_THAT(left_of(kWords, attributes_of("LOWER", false, {})),
                ElementsAre("monday", "tuesday", "école", "straße", "straße", "σασ", "tuesday"));
    EXPECT_THAT(left_of(kWords, attributes_of("UPPER", true, {})),
                ElementsAre("MONDAY", "TUESDAY", "ÉCOLE", "STRAẞE", "STRAßE", "ΣΑΣ", "TUESDAY"));
}

TEST_P(StringNormalizer, DropsStopWordsInAnyCase) {
    EXPECT_THAT(left_of(kWords, attributes_of("NONE", false, kStopwords)), ElementsAre("ΣΑΣ"));
    EXPECT_THAT(left_of(kWords, attributes_of("LOWER", false, kStopwords)), ElementsAre("σασ"));
    // Both are compared in lower case, where the two sharp s are the same.
    EXPECT_THAT(left_of(kWords, attributes_of("UPPER", false, kStopwords)), ElementsAre("ΣΑΣ"));
}

TEST_P(StringNormalizer, DropsStopWordsAsTheyAre) {
    EXPECT_THAT(left_of(kWords, attributes_of("NONE", true, kStopwords)),
                ElementsAre("Tuesday", "École", "STRAẞE", "ΣΑΣ", "tuesday"));
    EXPECT_THAT(left_of(kWords, attributes_of("LOWER", true, kStopwords)),
                ElementsAre("tuesday", "école", "straße", "σασ", "tuesday"));
    EXPECT_THAT(left_of(kWords, attributes_of("UPPER", true, kStopwords)),
                ElementsAre("TUESDAY", "ÉCOLE", "STRAẞE", "ΣΑΣ", "TUESDAY"));
}

TEST_P(StringNormalizer, GivesAnEmptyStringWhereNothingIsLeft) {
    for (const Shape& shape : {Shape({2}), Shape({1, 2})}) {
        const Result<Tensor> result =
            result_of(tensor_of(shape, {"a", "B"}), attributes_of("UPPER", false, {"A", "b"}));
        ASSERT_TRUE(result.ok()) << result.error().message();
        EXPECT_EQ(result->shape(), shape.rank() == 1 ? Shape({1}) : Shape({1, 1}));
        EXPECT_THAT(words_of(*result), ElementsAre(""));
    }
    for (const Words& stopwords : {Words{}, Words{"a"}}) {
        const Result<Tensor> result =
            result_of(tensor_of({0}, {}), attributes_of("LOWER", false, stopwords));
        ASSERT_TRUE(result.ok()) << result.error().message();
        EXPECT_THAT(words_of(*result), ElementsAre(""));
    }
}

TEST_P(StringNormalizer, KeepsRows) {
    const Result<Tensor> result =
        result_of(tensor_of({1, 3}, {"a", "b", "c"}), attributes_of("UPPER", true, {"b"}));
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->shape(), Shape({1, 2}));
    EXPECT_THAT(words_of(*result), ElementsAre("A", "C"));
}

// More, fewer and longer words, one after the other.
TEST_P(StringNormalizer, RunsAgain) {
    const Result<CompiledGraph> compiled = compiled_for(attributes_of("UPPER", true, {"stop"}), 1);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    for (const int count : {3, 500, 0, 1, 20, 700}) {
        Words words;
        Words expected;
        for (int i = 0; i < count; ++i) {
            words.push_back(std::string(size_t(i % 50), 'a') + std::to_string(i));
            expected.push_back(std::string(size_t(i % 50), 'A') + std::to_string(i));
            words.emplace_back("stop");
        }
        if (expected.empty()) {
            expected.emplace_back();
        }
        const Tensor x = line_of(words);
        ASSERT_TRUE(request.bind("x", x).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(words_of(request.output("y")->tensor()), ElementsAreArray(expected));
    }
}

// Without stop words its shape is known, so that other nodes may read it.
TEST_P(StringNormalizer, IsReadByOthers) {
    Graph graph("read");
    const ValueId x = graph.input("x", DType::kString, {DimSpec("n")});
    const ValueId lower =
        graph.add("StringNormalizer", {x}, {{"case_change_action", std::string("LOWER")}});
    graph.output("y", graph.add("Concat", {lower, x}, {{"axis", int64_t{0}}}));
    const Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const Result<TensorsByName> outputs = outputs_of(*compiled, {{"x", line_of({"A", "É"})}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message();
    EXPECT_THAT(words_of(outputs->at("y")), ElementsAre("a", "é", "A", "É"));
}

TEST_P(StringNormalizer, IgnoresTheLocale) {
    for (const char* locale : {"", "C", "en_US", "tr_TR.UTF-8", "no such locale"}) {
        Attributes attributes = attributes_of("UPPER", false, {});
        attributes.emplace("locale", std::string(locale));
        EXPECT_THAT(left_of({"iéı"}, attributes), ElementsAre("IÉI")) << locale;
    }
}

TEST_P(StringNormalizer, RefusesWhatIsNoUtf8) {
    const std::string latin = "caf\xe9";
    EXPECT_THAT(error_of(line_of({"a", latin}), attributes_of("LOWER", false, {})),
                AllOf(HasSubstr("element 1"), HasSubstr("UTF-8"), HasSubstr("'caf\\xe9'"),
                      HasSubstr("normalize")));
    EXPECT_THAT(error_of(line_of({latin}), attributes_of("NONE", false, {"a"})),
                HasSubstr("element 0"));
    EXPECT_THAT(error_of(line_of({"a"}), attributes_of("NONE", false, {"a", latin})),
                AllOf(HasSubstr("element 1"), HasSubstr("stopwords")));
    // Nobody asks for the case of these.
    EXPECT_THAT(left_of({latin, "A"}, attributes_of("NONE", true, {"A"})), ElementsAre(latin));
    EXPECT_THAT(left_of({"A", latin}, attributes_of("NONE", true, {latin})), ElementsAre("A"));
    EXPECT_THAT(left_of({latin}, attributes_of("NONE", false, {})), ElementsAre(latin));
}

TEST_P(StringNormalizer, SaysWhatIsWrong) {
    EXPECT_THAT(error_of(line_of({"a"}), attributes_of("Lower", false, {})),
                AllOf(HasSubstr("case_change_action"), HasSubstr("found Lower"),
                      HasSubstr("NONE, LOWER or UPPER")));
    EXPECT_THAT(error_of(tensor_of({2, 1}, {"a", "b"}), attributes_of("LOWER", false, {})),
                AllOf(HasSubstr("[2,1]"), HasSubstr("[C] or [1, C]")));
    EXPECT_THAT(error_of(tensor_of({}, {"a"}), attributes_of("LOWER", false, {})),
                HasSubstr("[C] or [1, C]"));
    Graph graph("numbers");
    graph.output("y", graph.add("StringNormalizer", {graph.input("x", DType::kFloat32, {2})}));
    EXPECT_THAT(runtime_.compile(graph, options_).error().message(), HasSubstr("string"));
}

INSTANTIATE_TEST_SUITE_P(All, StringNormalizer, ::testing::Values("cpu", "reference"));

void append_utf8_of(char32_t code, std::string& all) {
    const auto tail = [&all, code](int shift) {
        all += char(0x80U | (code >> unsigned(shift) & 0x3fU));
    };
    if (code < 0x80) {
        all += char(code);
        return;
    }
    const int tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr uint32_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
    all += char(kLeads[tails] | code >> unsigned(6 * tails));
    for (int i = tails - 1; i >= 0; --i) {
        tail(6 * i);
    }
}

// 64-bit FNV-1a.
uint64_t hash_in_case(CaseAction action, const std::string& text) {
    std::string mapped;
    EXPECT_TRUE(append_in_case(action, text, mapped));
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : mapped) {
        hash = (hash ^ uint8_t(c)) * 0x100000001b3;
    }
    return hash;
}

// Of all characters of Unicode 14 but the zero, in order. The numbers are those of what ONNX
// Runtime 1.32.0 gives for them in the locale C.UTF-8 of glibc 2.36.
TEST(CaseMappings, AreThoseOfOnnxRuntime) {
    std::string all;
    for (char32_t code = 1; code < 0x110000; ++code) {
        if (code < 0xd800 || code >= 0xe000) {
            append_utf8_of(code, all);
        }
    }
    EXPECT_EQ(hash_in_case(CaseAction::kLower, all), 0xeba3d819e67f784f);
    EXPECT_EQ(hash_in_case(CaseAction::kUpper, all), 0x69d1b20026814ae4);
}

TEST(CaseMappings, AreOfUtf8Alone) {
    const Words bad = {"\x80",
                       "\xc3",
                       "\xc0\x80",
                       "\xc1\xbf",
                       "\xe0\x9f\xbf",
                       "\xed\xa0\x80",
                       "\xf0\x8f\xbf\xbf",
                       "\xf4\x90\x80\x80",
                       "\xf8\x88\x80\x80\x80",
                       "\xff",
                       "\xe2\x82",
                       "\xc3(",
                       "\xf0\x9f\x98"};
    for (const std::string& text : bad) {
        std::string mapped;
        EXPECT_FALSE(append_in_case(CaseAction::kLower, text, mapped))
            << ::testing::PrintToString(text);
    }
    std::string mapped;
    EXPECT_TRUE(append_in_case(CaseAction::kLower, std::string("A\0\xf4\x8f\xbf\xbf", 6), mapped));
    EXPECT_EQ(mapped, std::string("a\0\xf4\x8f\xbf\xbf", 6));
}

}  // namespace
}  // namespace leat::testing
