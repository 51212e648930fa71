// CharacterClass: a set of Unicode characters, and the sets that RE2's syntax has names for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace leat {

inline constexpr char32_t kLastCharacter = 0x10ffff;

struct CharacterRange {
    char32_t first;
    char32_t last;  // is in it, too
};

class CharacterClass {
  public:
    CharacterClass() = default;
    CharacterClass(std::initializer_list<CharacterRange> ranges) {
        for (const CharacterRange& range : ranges) {
            add(range.first, range.last);
        }
    }

    void add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
    void add(const CharacterClass& other) {
        ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
    }
    // Sorts the ranges and joins those that touch. What follows needs that.
    void settle();

    void invert();
    // Adds to each character those that differ from it in case alone.
    void add_other_cases();

    bool contains(char32_t code) const {
        return code < 128 ? (ascii_[code / 64] >> code % 64 & 1U) != 0 : is_in_ranges(code);
    }

  private:
    bool is_in_ranges(char32_t code) const;

    std::vector<CharacterRange> ranges_;
    std::array<uint64_t, 2> ascii_{};  // bit by character
};

// The characters that differ from this one in case alone, and itself; by simple case folding.
CharacterClass all_cases_of(char32_t code);

// \d, \s and \w, by their letter. nullopt: any other letter.
std::optional<CharacterClass> perl_class(char letter);
// "alpha" of [:alpha:], ... nullopt: there is no such class.
std::optional<CharacterClass> posix_class(std::string_view name);
// A general category ("L", "Lu", ...) or a script ("Greek", ...) of Unicode, or "Any".
std::optional<CharacterClass> unicode_class(std::string_view name);

// unicode_groups.cpp: of the characters of one general category, or of one script. False: there is
// none of that name.
bool add_category(std::string_view name, CharacterClass& to);
bool add_script(std::string_view name, CharacterClass& to);

}  // namespace leat
