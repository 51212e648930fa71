// The tree of a pattern, between its text and its program.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/strings/character_classes.h"

namespace leat {

enum class RegexAssertion : uint8_t {
    kBeginText,
    kEndText,
    kBeginLine,
    kEndLine,
    kWordBoundary,
    kNoWordBoundary,
};

struct RegexNode {
    enum class Kind : uint8_t {
        kEmpty,
        kCharacter,     // value: its code
        kClass,         // value: index into RegexTree::classes
        kByte,          // any
        kAssertion,     // value: a RegexAssertion
        kSequence,      // of the children
        kAlternatives,  // one of the children
        kRepetition,    // of the child, least to most times
    };

    Kind kind = Kind::kEmpty;
    uint32_t value = 0;
    int32_t least = 0;
    int32_t most = 0;  // kUnlimited: any number
    // How often a run through the node may pass a leaf of it, by the numbers in the text.
    int64_t passes = 1;
    std::vector<int32_t> children;
};

inline constexpr int32_t kUnlimited = -1;

struct RegexTree {
    std::vector<RegexNode> nodes;
    std::vector<CharacterClass> classes;
    int32_t root = 0;
};

// RE2's syntax. An error says what of the pattern is wrong, and where.
Result<RegexTree> parse_regex(std::string_view pattern);

}  // namespace leat
