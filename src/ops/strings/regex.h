// Regex: whether a text as a whole matches a pattern. Time is linear in both, memory in the
// pattern.
//
// The syntax is RE2's (github.com/google/re2/wiki/Syntax), over UTF-8:
//   .  [ab-d]  [^a]  [[:alpha:]]  \d \s \w  \pL \p{Lu} \p{Greek} \P{..}     classes
//   ab  a|b  a* a+ a? a{2} a{2,} a{2,5}, lazy with ? behind; at most 1000 times, also of nested
//   ones (a)  (?P<name>a)  (?<name>a)  (?:a)  (?i) (?s-m) (?U:a)                 groups and flags
//   ^ $ \A \z \b \B                                                         places
//   \n \t \r \f \v \a  \012  \x7f \x{10ffff}  \Q..\E  \C (a byte)           literals
// Back references, look-around, possessive repetition and whatever else RE2 refuses are errors.
// \d, \s, \w and \b know ASCII alone. $ is the end of the text, with (?m) also that of a line.
// Case is that of Unicode's simple case folding. What is no UTF-8 in a text only \C matches.
// Only whether there is a match matters here, so groups keep nothing and lazy is as greedy.
//
// Threads of the program move through the text side by side (Thompson, CACM 11(6), 1968; Cox,
// swtch.com/~rsc/regexp/regexp2.html). Safe to use concurrently, each with scratch of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/strings/regex_tree.h"

namespace leat {

class Regex {
  public:
    static Result<Regex> compile(std::string_view pattern);

    // scratch: scratch_words() of anything.
    bool matches(std::string_view text, uint32_t* scratch) const;
    int64_t scratch_words() const { return int64_t(program_.size()) * kWordsPerInstruction + 1; }

  private:
    friend class RegexCompiler;
    friend class RegexRun;

    // Four sets, each with a list and an index; one more list, and what is to be added.
    static constexpr int64_t kWordsPerInstruction = int64_t{2} * 4 + 2;

    struct Instruction {
        enum class Kind : uint8_t { kMatch, kCharacter, kClass, kByte, kAssertion, kJump, kFork };
        Kind kind = Kind::kMatch;
        uint32_t value = 0;  // as of RegexNode
        uint32_t next = 0;   // of all but kMatch
        uint32_t other = 0;  // kFork: the other way
    };

    std::vector<Instruction> program_;
    std::vector<CharacterClass> classes_;
};

}  // namespace leat
