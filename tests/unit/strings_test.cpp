// StringConcat, StringSplit and RegexFullMatch against what Python and RE2 make of the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/strings/regex.h"
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

Tensor texts(const Shape& shape, const Texts& elements) {
    return *Tensor::from<std::string>(shape, elements);
}

class Strings : public ::testing::TestWithParam<const char*> {
  protected:
    std::vector<Tensor> results(const std::string& op_type,
                                const std::vector<Tensor>& inputs,
                                const Attributes& attributes,
                                int count = 1) const {
        auto found = results_of(GetParam(), {op_type, inputs, attributes, 0, count});
        EXPECT_TRUE(found.ok()) << found.error().message();
        return found.ok() ? *std::move(found) : std::vector<Tensor>(size_t(count));
    }
};

TEST_P(Strings, ConcatBroadcasts) {
    const auto got =
        results("StringConcat", {texts({2, 1}, {"a", "é"}), texts({3}, {"", "b", "c d"})}, {});
    EXPECT_EQ(got[0].shape(), Shape({2, 3}));
    EXPECT_THAT(elements_of<std::string>(got[0]),
                ElementsAre("a", "ab", "ac d", "é", "éb", "éc d"));
}

TEST_P(Strings, SplitAtADelimiterKeepsEmptyPieces) {
    const auto got = results("StringSplit", {texts({3}, {"a,,b", "", ","})},
                             {{"delimiter", std::string(",")}}, 2);
    EXPECT_EQ(got[0].shape(), Shape({3, 3}));
    EXPECT_THAT(elements_of<std::string>(got[0]),
                ElementsAre("a", "", "b", "", "", "", "", "", ""));
    EXPECT_THAT(elements_of<int64_t>(got[1]), ElementsAre(3, 1, 2));
}

TEST_P(Strings, SplitAtWhiteSpaceJoinsIt) {
    const auto got = results("StringSplit", {texts({2}, {" a\tb\u3000 c ", " "})}, {}, 2);
    EXPECT_EQ(got[0].shape(), Shape({2, 3}));
    EXPECT_THAT(elements_of<std::string>(got[0]), ElementsAre("a", "b", "c", "", "", ""));
    EXPECT_THAT(elements_of<int64_t>(got[1]), ElementsAre(3, 0));
}

TEST_P(Strings, SplitLeavesTheRestAsItIs) {
    const auto got =
        results("StringSplit", {texts({}, {"  a  b  c "})}, {{"maxsplit", int64_t{1}}}, 2);
    EXPECT_THAT(elements_of<std::string>(got[0]), ElementsAre("a", "b  c "));
    EXPECT_THAT(elements_of<int64_t>(got[1]), ElementsAre(2));
}

TEST_P(Strings, SplitOfNothingHasNoPieces) {
    const auto got = results("StringSplit", {texts({2, 0}, {})}, {}, 2);
    EXPECT_EQ(got[0].shape(), Shape({2, 0, 0}));
    EXPECT_EQ(got[1].shape(), Shape({2, 0}));
}

TEST_P(Strings, RegexFullMatchMatchesAll) {
    const auto got =
        results("RegexFullMatch",
                {texts({4}, {"www.google.com", "www.facebook.com", "www.bbc.co.uk", "www.a.com "})},
                {{"pattern", std::string(R"(www\.[\w.-]+\.\bcom\b)")}});
    EXPECT_THAT(elements_of<uint8_t>(got[0]), ElementsAre(1, 1, 0, 0));
}

TEST_P(Strings, RegexFullMatchNamesWhatIsWrong) {
    const auto got = results_of(
        GetParam(), {"RegexFullMatch", {texts({1}, {"a"})}, {{"pattern", std::string("ab(?=c)")}}});
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(got.error().message(), HasSubstr("at byte 2"));
    EXPECT_THAT(got.error().message(), HasSubstr("node 'node'"));
}

INSTANTIATE_TEST_SUITE_P(All, Strings, ::testing::Values("cpu", "reference"));

// Of RE2: 1 and 0 are matches and none, -1 is an error.
int match(const std::string& pattern, const std::string& text) {
    const Result<Regex> regex = Regex::compile(pattern);
    if (!regex.ok()) {
        return -1;
    }
    auto scratch = std::vector<uint32_t>(size_t(regex->scratch_words()), 0xffffffffU);
    return regex->matches(text, scratch.data()) ? 1 : 0;
}

TEST(Regex, HasFlags) {
    EXPECT_EQ(match("(?i)k+", "kK\u212a"), 1);
    EXPECT_EQ(match("(?i:a)b", "AB"), 0);
    EXPECT_EQ(match("(a(?i)b|c)d", "Cd"), 1);
    EXPECT_EQ(match("(a(?i)b|c)d", "CD"), 0);
    EXPECT_EQ(match("a.b", "a\nb"), 0);
    EXPECT_EQ(match("(?s)a.b", "a\nb"), 1);
    EXPECT_EQ(match("(?m)a$\\n^b", "a\nb"), 1);
    EXPECT_EQ(match("a$\\n^b", "a\nb"), 0);
    EXPECT_EQ(match("(?i)\\p{Lu}+", "straße"), 1);
}

TEST(Regex, HasClasses) {
    EXPECT_EQ(match("\\p{Greek}\\pL\\P{L}", "αж1"), 1);
    EXPECT_EQ(match("[[:alpha:]\\d-]+", "a-1"), 1);
    EXPECT_EQ(match("[^[:^digit:]]", "7"), 1);
    EXPECT_EQ(match("[]a]+", "]a"), 1);
    EXPECT_EQ(match("[b-a]", "a"), -1);
    EXPECT_EQ(match("[a-\\d]", "a"), -1);
    EXPECT_EQ(match("[[:foo:]]", "a"), -1);
    EXPECT_EQ(match("\\p{Foo}", "a"), -1);
    EXPECT_EQ(match("\\d", "٣"), 0);
}

TEST(Regex, Repeats) {
    EXPECT_EQ(match("a{2,3}", "aaa"), 1);
    EXPECT_EQ(match("a{2,3}", "aaaa"), 0);
    EXPECT_EQ(match("a{,2}", "a{,2}"), 1);
    EXPECT_EQ(match("a{1000}", std::string(1000, 'a')), 1);
    EXPECT_EQ(match("a{1001}", "a"), -1);
    EXPECT_EQ(match("(a{100}){11}", "a"), -1);
    EXPECT_EQ(match("a**", "a"), -1);
    EXPECT_EQ(match("*a", "a"), -1);
    EXPECT_EQ(match("(a*)*b?", "aab"), 1);
}

TEST(Regex, RefusesWhatRe2Refuses) {
    for (const char* pattern : {"(a)\\1", "(?=a)", "(?!a)", "(?<=a)", "(?>a)", "a)", "(a", "[a",
                                "\\Z", "\\", "(?P<>a)", "\\x{110000}", "(?i-)", "\xff"}) {
        EXPECT_EQ(match(pattern, "a"), -1) << pattern;
    }
}

TEST(Regex, TakesTimeThatIsLinear) {
    const std::string text(50'000, 'a');
    EXPECT_EQ(match("(a*)*(a|aa)+(a?){100}b", text), 0);
}

TEST(Regex, ReadsBytesWhereThePatternDoes) {
    EXPECT_EQ(match("\\C\\C", "é"), 1);
    EXPECT_EQ(match(".", "é"), 1);
    EXPECT_EQ(match(".", "\xff"), 0);
    EXPECT_EQ(match("\\C", "\xff"), 1);
    EXPECT_EQ(match("\U0001f600+", "\U0001f600\U0001f600"), 1);
}

}  // namespace
}  // namespace leat::testing
