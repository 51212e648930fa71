#include "ops/strings/character_classes.h"

#include <algorithm>
#include <utility>

#include "ops/string_normalizer/case_mappings.h"

namespace leat {
namespace {

constexpr char32_t kDotlessI = 0x131;
constexpr char32_t kDottedCapitalI = 0x130;
constexpr char32_t kFirstWithoutCase = 0x1e944;  // behind all letters that have two cases

// The same number for characters that differ in case alone.
char32_t folded(char32_t code) {
    // Pairs that have no simple mappings to other cases.
    switch (code) {
        case 0x1fd3:
            return 0x390;
        case 0x1fe3:
            return 0x3b0;
        case 0xfb06:
            return 0xfb05;
        default:
            break;
    }
    // Case folding leaves the two Turkish letters alone.
    return code == kDotlessI || code == kDottedCapitalI ? code : to_lower_case(to_upper_case(code));
}

struct FoldedCharacter {
    char32_t folded;
    char32_t code;
};

// Those that have another case, by folded(): equal ones stand together.
const std::vector<FoldedCharacter>& characters_with_case() {
    static const std::vector<FoldedCharacter> kAll = [] {
        std::vector<FoldedCharacter> all;
        for (char32_t code = 0; code < kFirstWithoutCase; ++code) {
            const char32_t other = folded(code);
            if (other != code) {
                all.push_back({other, code});
                all.push_back({other, other});
            }
        }
        const auto key = [](const FoldedCharacter& x) {
            return uint64_t{x.folded} << 32U | x.code;
        };
        std::sort(
            all.begin(), all.end(),
            [&key](const FoldedCharacter& a, const FoldedCharacter& b) { return key(a) < key(b); });
        const auto end = std::unique(all.begin(), all.end(),
                                     [&key](const FoldedCharacter& a, const FoldedCharacter& b) {
                                         return key(a) == key(b);
                                     });
        all.erase(end, all.end());
        return all;
    }();
    return kAll;
}

struct NamedClass {
    std::string_view name;
    std::array<CharacterRange, 4> ranges;
    size_t count;
};

constexpr CharacterRange kNone = {1, 0};
constexpr CharacterRange kDigits = {'0', '9'};
constexpr CharacterRange kUppers = {'A', 'Z'};
constexpr CharacterRange kLowers = {'a', 'z'};
constexpr CharacterRange kUnderscore = {'_', '_'};
constexpr CharacterRange kBlank = {' ', ' '};

constexpr NamedClass kPosixClasses[] = {
    {"alnum", {kDigits, kUppers, kLowers, kNone}, 3},
    {"alpha", {kUppers, kLowers, kNone, kNone}, 2},
    {"ascii", {{{0, 0x7f}, kNone, kNone, kNone}}, 1},
    {"blank", {{{'\t', '\t'}, kBlank, kNone, kNone}}, 2},
    {"cntrl", {{{0, 0x1f}, {0x7f, 0x7f}, kNone, kNone}}, 2},
    {"digit", {kDigits, kNone, kNone, kNone}, 1},
    {"graph", {{{'!', '~'}, kNone, kNone, kNone}}, 1},
    {"lower", {kLowers, kNone, kNone, kNone}, 1},
    {"print", {{{' ', '~'}, kNone, kNone, kNone}}, 1},
    {"punct", {{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}}, 4},
    {"space", {{{'\t', '\r'}, kBlank, kNone, kNone}}, 2},
    {"upper", {kUppers, kNone, kNone, kNone}, 1},
    {"word", {kDigits, kUppers, kLowers, kUnderscore}, 4},
    {"xdigit", {{kDigits, {'A', 'F'}, {'a', 'f'}, kNone}}, 3},
};

}  // namespace

void CharacterClass::settle() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const CharacterRange& a, const CharacterRange& b) { return a.first < b.first; });
    size_t kept = 0;
    for (const CharacterRange& range : ranges_) {
        if (kept > 0 && range.first <= ranges_[kept - 1].last + 1) {
            ranges_[kept - 1].last = std::max(ranges_[kept - 1].last, range.last);
        } else {
            ranges_[kept++] = range;
        }
    }
    ranges_.resize(kept);
    ascii_ = {};
    for (char32_t code = 0; code < 128; ++code) {
        if (is_in_ranges(code)) {
            ascii_[code / 64] |= uint64_t{1} << code % 64;
        }
    }
}

bool CharacterClass::is_in_ranges(char32_t code) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), code,
                         [](char32_t c, const CharacterRange& range) { return c < range.first; });
    return after != ranges_.begin() && code <= std::prev(after)->last;
}

void CharacterClass::invert() {
    std::vector<CharacterRange> others;
    char32_t next = 0;
    for (const CharacterRange& range : ranges_) {
        if (range.first > next) {
            others.push_back({next, range.first - 1});
        }
        next = range.last + 1;
    }
    if (next <= kLastCharacter) {
        others.push_back({next, kLastCharacter});
    }
    ranges_ = std::move(others);
    settle();
}

void CharacterClass::add_other_cases() {
    const std::vector<FoldedCharacter>& all = characters_with_case();
    CharacterClass others;
    for (auto group = all.begin(); group != all.end();) {
        auto end = group;
        bool is_in = false;
        for (; end != all.end() && end->folded == group->folded; ++end) {
            is_in = is_in || contains(end->code);
        }
        for (; group != end; ++group) {
            if (is_in) {
                others.add(group->code, group->code);
            }
        }
    }
    add(others);
    settle();
}

CharacterClass all_cases_of(char32_t code) {
    const std::vector<FoldedCharacter>& all = characters_with_case();
    const auto [begin, end] = std::equal_range(
        all.begin(), all.end(), FoldedCharacter{folded(code), code},
        [](const FoldedCharacter& a, const FoldedCharacter& b) { return a.folded < b.folded; });
    CharacterClass cases;
    cases.add(code, code);
    for (auto each = begin; each != end; ++each) {
        cases.add(each->code, each->code);
    }
    cases.settle();
    return cases;
}

std::optional<CharacterClass> perl_class(char letter) {
    if (letter == 's') {
        CharacterClass spaces = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
        spaces.settle();
        return spaces;
    }
    return letter == 'd'   ? posix_class("digit")
           : letter == 'w' ? posix_class("word")
                           : std::nullopt;
}

std::optional<CharacterClass> posix_class(std::string_view name) {
    for (const NamedClass& named : kPosixClasses) {
        if (named.name == name) {
            CharacterClass found;
            for (size_t i = 0; i < named.count; ++i) {
                found.add(named.ranges[i].first, named.ranges[i].last);
            }
            found.settle();
            return found;
        }
    }
    return std::nullopt;
}

std::optional<CharacterClass> unicode_class(std::string_view name) {
    CharacterClass found;
    if (name == "Any") {
        found.add(0, kLastCharacter);
    } else if (!add_category(name, found) && !add_script(name, found)) {
        return std::nullopt;
    }
    found.settle();
    return found;
}

}  // namespace leat
