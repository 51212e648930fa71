#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ops/strings/regex_tree.h"
#include "ops/strings/utf8.h"

namespace leat {
namespace {

constexpr int32_t kMostRepetitions = 1000;
constexpr int kMostGroups = 1000;  // in each other

bool is_octal(char c) {
    return c >= '0' && c <= '7';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
int hex_value(char c) {
    return is_digit(c)              ? c - '0'
           : (c >= 'a' && c <= 'f') ? c - 'a' + 10
           : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                    : -1;
}

// The pattern from its begin to its end, a character at a time.
class RegexParser {
  public:
    explicit RegexParser(std::string_view pattern) : pattern_(pattern) {}

    Result<RegexTree> run();

  private:
    using Kind = RegexNode::Kind;
    struct Flags {
        bool ignores_case = false;
        bool dot_is_any = false;
        bool has_lines = false;
    };
    struct Repetition {
        int32_t least = 0;
        int32_t most = 0;
    };
    // What stands between two bars, or parentheses.
    struct Sequence {
        std::vector<int32_t> items;
        size_t begin_of_repetition = 0;
        bool ends_in_repetition = false;
    };

    std::string_view rest() const { return pattern_.substr(at_); }
    bool is_next(std::string_view text) const { return rest().substr(0, text.size()) == text; }
    bool skip(std::string_view text) {
        const bool found = is_next(text);
        at_ += found ? text.size() : 0;
        return found;
    }
    bool is_at_end() const { return at_ >= pattern_.size(); }
    char byte(size_t behind = 0) const {
        return at_ + behind < pattern_.size() ? pattern_[at_ + behind] : '\0';
    }

    // Of what stands from `begin` to here.
    Status wrong(const char* what, size_t begin) const {
        return invalid_argument("attribute pattern is not valid: {} at byte {}", what, begin)
            .with_found(fmt::format("'{}'", pattern_.substr(begin, at_ - begin)))
            .with_needed("a pattern of RE2's syntax");
    }
    Result<char32_t> next_character();

    int32_t add_node(Kind kind, uint32_t value = 0) {
        tree_.nodes.emplace_back();
        tree_.nodes.back().kind = kind;
        tree_.nodes.back().value = value;
        return int32_t(tree_.nodes.size()) - 1;
    }
    int32_t add_assertion(RegexAssertion assertion) {
        return add_node(Kind::kAssertion, uint32_t(assertion));
    }
    int32_t add_class(CharacterClass characters) {
        tree_.classes.push_back(std::move(characters));
        return add_node(Kind::kClass, uint32_t(tree_.classes.size()) - 1);
    }
    int32_t add_character(char32_t code);
    int32_t add_dot();
    int32_t join(Kind kind, std::vector<int32_t> children);

    Result<int32_t> parse_alternatives();
    Status parse_item(Sequence& sequence);
    Result<int32_t> parse_atom();
    Status parse_quoted(Sequence& sequence);
    Result<std::optional<Repetition>> find_repetition(size_t begin);
    std::optional<Repetition> find_counts();
    std::optional<int32_t> find_count();
    Status repeat(Sequence& sequence, Repetition repetition, size_t begin);
    // "(?": flags of what follows, or a group. No node where there are flags alone.
    Result<std::optional<int32_t>> parse_group();
    Status parse_name(size_t begin);
    Result<bool> parse_flags(size_t begin);
    Result<int32_t> parse_backslash();
    Result<char32_t> parse_escape();
    Result<char32_t> parse_hex_escape(size_t begin);
    Result<int32_t> parse_class();
    // The class that begins here: \d, \pL, [:alpha:]. None where that is something else.
    Result<std::optional<CharacterClass>> find_named_class();
    Result<std::optional<CharacterClass>> find_unicode_class();
    Result<char32_t> parse_class_character(size_t begin);
    Status parse_class_range(CharacterClass& to, size_t begin);
    // In any case, where that is wanted; then what is left, where `is_inverted`.
    CharacterClass finished(CharacterClass characters, bool is_inverted) const;

    std::string_view pattern_;
    size_t at_ = 0;
    Flags flags_;
    int groups_ = 0;
    RegexTree tree_;
};

Result<RegexTree> RegexParser::run() {
    for (size_t at = 0; at < pattern_.size();) {
        const size_t bytes = first_utf8_character(pattern_.substr(at)).bytes;
        if (bytes == 0) {
            return invalid_argument("attribute pattern is not UTF-8 at byte {}", at);
        }
        at += bytes;
    }
    LEAT_ASSIGN_OR_RETURN(tree_.root, parse_alternatives());
    if (!is_at_end()) {
        const size_t begin = at_++;
        return wrong("a parenthesis that nothing opens", begin);
    }
    return std::move(tree_);
}

// Precondition of a good result: there is one. The pattern is UTF-8.
Result<char32_t> RegexParser::next_character() {
    const Utf8Character character = first_utf8_character(rest());
    if (character.bytes == 0) {
        return wrong("an end too early", at_);
    }
    at_ += character.bytes;
    return character.code;
}

int32_t RegexParser::add_character(char32_t code) {
    if (flags_.ignores_case) {
        return add_class(all_cases_of(code));
    }
    return add_node(Kind::kCharacter, code);
}

int32_t RegexParser::add_dot() {
    CharacterClass all;
    if (flags_.dot_is_any) {
        all.add(0, kLastCharacter);
    } else {
        all.add('\n', '\n');
    }
    return add_class(finished(std::move(all), !flags_.dot_is_any));
}

int32_t RegexParser::join(Kind kind, std::vector<int32_t> children) {
    if (children.size() == 1) {
        return children.front();
    }
    const int32_t joined = add_node(children.empty() ? Kind::kEmpty : kind);
    for (const int32_t child : children) {
        tree_.nodes[size_t(joined)].passes =
            std::max(tree_.nodes[size_t(joined)].passes, tree_.nodes[size_t(child)].passes);
    }
    tree_.nodes[size_t(joined)].children = std::move(children);
    return joined;
}

// Up to the end, or to a parenthesis.
Result<int32_t> RegexParser::parse_alternatives() {
    const Flags outer = flags_;
    std::vector<int32_t> alternatives;
    do {
        Sequence sequence;
        while (!is_at_end() && byte() != '|' && byte() != ')') {
            LEAT_RETURN_IF_ERROR(parse_item(sequence));
        }
        alternatives.push_back(join(Kind::kSequence, std::move(sequence.items)));
    } while (skip("|"));
    flags_ = outer;
    return join(Kind::kAlternatives, std::move(alternatives));
}

Status RegexParser::parse_item(Sequence& sequence) {
    const size_t begin = at_;
    LEAT_ASSIGN_OR_RETURN(const std::optional<Repetition> repetition, find_repetition(begin));
    if (repetition) {
        return repeat(sequence, *repetition, begin);
    }
    sequence.ends_in_repetition = false;
    if (skip("\\Q")) {
        return parse_quoted(sequence);
    }
    if (byte() == '(') {
        LEAT_ASSIGN_OR_RETURN(const std::optional<int32_t> group, parse_group());
        if (group) {
            sequence.items.push_back(*group);
        }
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const int32_t atom, parse_atom());
    sequence.items.push_back(atom);
    return {};
}

Result<int32_t> RegexParser::parse_atom() {
    const char first = byte();
    if (first == '\\') {
        return parse_backslash();
    }
    if (first == '[') {
        return parse_class();
    }
    LEAT_ASSIGN_OR_RETURN(const char32_t code, next_character());
    switch (code) {
        case '.':
            return add_dot();
        case '^':
            return add_assertion(flags_.has_lines ? RegexAssertion::kBeginLine
                                                  : RegexAssertion::kBeginText);
        case '$':
            return add_assertion(flags_.has_lines ? RegexAssertion::kEndLine
                                                  : RegexAssertion::kEndText);
        default:
            return add_character(code);
    }
}

// Behind "\Q". Without "\E" it goes on to the end.
Status RegexParser::parse_quoted(Sequence& sequence) {
    while (!is_at_end() && !skip("\\E")) {
        LEAT_ASSIGN_OR_RETURN(const char32_t code, next_character());
        sequence.items.push_back(add_character(code));
    }
    return {};
}

// A repetition that begins here, which is skipped. None: another thing, for example a brace alone.
Result<std::optional<RegexParser::Repetition>> RegexParser::find_repetition(size_t begin) {
    std::optional<Repetition> found;
    if (skip("*")) {
        found = Repetition{0, kUnlimited};
    } else if (skip("+")) {
        found = Repetition{1, kUnlimited};
    } else if (skip("?")) {
        found = Repetition{0, 1};
    } else if (byte() == '{') {
        found = find_counts();
    }
    if (found && (found->least > kMostRepetitions || found->most > kMostRepetitions ||
                  (found->most != kUnlimited && found->most < found->least))) {
        return wrong("a repetition that is too large, or upside down,", begin);
    }
    if (found) {
        skip("?");  // lazy
    }
    return found;
}

std::optional<RegexParser::Repetition> RegexParser::find_counts() {
    const size_t begin = at_++;
    const std::optional<int32_t> least = find_count();
    std::optional<int32_t> most = least;
    if (least && skip(",")) {
        most = byte() == '}' ? kUnlimited : find_count();
    }
    if (!least || !most || !skip("}")) {
        at_ = begin;
        return std::nullopt;
    }
    return Repetition{*least, *most};
}

// Without leading zeros. More than any that is allowed where it is large; as RE2 has it, none where
// it has nine digits.
std::optional<int32_t> RegexParser::find_count() {
    const bool has_leading_zero = byte() == '0' && is_digit(byte(1));
    if (!is_digit(byte()) || has_leading_zero) {
        return std::nullopt;
    }
    constexpr int64_t kFirstThatIsNone = 100'000'000;
    int64_t count = 0;
    for (; is_digit(byte()); ++at_) {
        count = std::min(count * 10 + (byte() - '0'), kFirstThatIsNone);
    }
    return count == kFirstThatIsNone ? std::nullopt : std::optional<int32_t>(int32_t(count));
}

Status RegexParser::repeat(Sequence& sequence, Repetition repetition, size_t begin) {
    if (sequence.ends_in_repetition) {
        return wrong("a repetition of a repetition", sequence.begin_of_repetition);
    }
    if (sequence.items.empty()) {
        return wrong("a repetition of nothing", begin);
    }
    const int32_t child = sequence.items.back();
    const int32_t node = add_node(Kind::kRepetition);
    RegexNode& repeated = tree_.nodes[size_t(node)];
    repeated.least = repetition.least;
    repeated.most = repetition.most;
    repeated.children = {child};
    const int32_t times = repetition.most == kUnlimited ? repetition.least : repetition.most;
    repeated.passes = tree_.nodes[size_t(child)].passes * std::max(times, 1);
    if (times >= 2 && repeated.passes > kMostRepetitions) {
        return wrong("repetitions in each other that make too many", begin);
    }
    sequence.items.back() = node;
    sequence.ends_in_repetition = true;
    sequence.begin_of_repetition = begin;
    return {};
}

Result<std::optional<int32_t>> RegexParser::parse_group() {
    const size_t begin = at_++;
    if (++groups_ > kMostGroups) {
        return wrong("a group in too many others", begin);
    }
    const Flags outer = flags_;
    if (is_next("?P<") || (is_next("?<") && byte(2) != '=' && byte(2) != '!')) {
        LEAT_RETURN_IF_ERROR(parse_name(begin));
    } else if (skip("?")) {
        LEAT_ASSIGN_OR_RETURN(const bool has_group, parse_flags(begin));
        if (!has_group) {
            --groups_;
            return std::optional<int32_t>();  // the flags hold up to the end of the group around
        }
    }
    LEAT_ASSIGN_OR_RETURN(const int32_t node, parse_alternatives());
    flags_ = outer;
    --groups_;
    if (!skip(")")) {
        return wrong("a group that nothing closes", begin);
    }
    return std::optional<int32_t>(node);
}

Status RegexParser::parse_name(size_t begin) {
    static constexpr const char* kCategories[] = {"L", "Mn", "Mc", "Nd", "Nl", "Pc"};
    at_ = pattern_.find('<', at_) + 1;
    const size_t end = pattern_.find('>', at_);
    CharacterClass letters;
    for (const char* category : kCategories) {
        add_category(category, letters);
    }
    letters.settle();
    bool is_good = end != std::string_view::npos && end > at_;
    while (is_good && at_ < end) {
        LEAT_ASSIGN_OR_RETURN(const char32_t code, next_character());
        is_good = letters.contains(code);
    }
    if (!is_good || !skip(">")) {
        return wrong("a name of a group", begin);
    }
    return {};
}

// Behind "(?": true where a group follows.
Result<bool> RegexParser::parse_flags(size_t begin) {
    bool is_set = true;
    bool has_flag = true;
    while (!is_at_end()) {
        const char flag = pattern_[at_++];
        if (flag == ':' || flag == ')') {
            if (!has_flag) {
                return wrong("a group of a kind that RE2 does not have", begin);
            }
            return flag == ':';
        }
        if (flag == '-' && is_set) {
            is_set = false;
            has_flag = false;  // one has to follow
            continue;
        }
        bool ignored = false;  // U: what is lazy matters to nobody here
        bool* const found = flag == 'i'   ? &flags_.ignores_case
                            : flag == 's' ? &flags_.dot_is_any
                            : flag == 'm' ? &flags_.has_lines
                            : flag == 'U' ? &ignored
                                          : nullptr;
        if (found == nullptr) {
            return wrong("a group of a kind that RE2 does not have", begin);
        }
        *found = is_set;
        has_flag = true;
    }
    return wrong("a group that nothing closes", begin);
}

Result<int32_t> RegexParser::parse_backslash() {
    const size_t begin = at_;
    LEAT_ASSIGN_OR_RETURN(std::optional<CharacterClass> named, find_named_class());
    if (named) {
        return add_class(*std::move(named));
    }
    if (skip("\\b")) {
        return add_assertion(RegexAssertion::kWordBoundary);
    }
    if (skip("\\B")) {
        return add_assertion(RegexAssertion::kNoWordBoundary);
    }
    if (skip("\\A")) {
        return add_assertion(RegexAssertion::kBeginText);
    }
    if (skip("\\z")) {
        return add_assertion(RegexAssertion::kEndText);
    }
    if (skip("\\C")) {
        return add_node(Kind::kByte);
    }
    at_ = begin;
    LEAT_ASSIGN_OR_RETURN(const char32_t code, parse_escape());
    return add_character(code);
}

// A backslash and what belongs to it, which is one character.
Result<char32_t> RegexParser::parse_escape() {
    constexpr std::string_view kLetters = "aftnrv";
    constexpr std::string_view kMeanings = "\a\f\t\n\r\v";
    const size_t begin = at_++;
    if (is_at_end()) {
        return wrong("a backslash with nothing behind", begin);
    }
    const char first = byte();
    // A digit but zero alone would refer back to a group.
    if (first == '0' || (is_octal(first) && is_octal(byte(1)))) {
        char32_t code = 0;
        for (int digits = 0; digits < 3 && is_octal(byte()); ++digits) {
            code = code * 8 + char32_t(pattern_[at_++] - '0');
        }
        return code;
    }
    ++at_;
    if (first == 'x') {
        return parse_hex_escape(begin);
    }
    if (const size_t letter = kLetters.find(first); letter != std::string_view::npos) {
        return char32_t(kMeanings[letter]);
    }
    const auto byte_value = uint8_t(first);
    const bool is_letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (byte_value >= 0x80 || is_letter || is_digit(first)) {
        return wrong("an escape that RE2 does not have", begin);
    }
    return char32_t(byte_value);
}

// Behind "\x".
Result<char32_t> RegexParser::parse_hex_escape(size_t begin) {
    const bool is_long = skip("{");
    const size_t first = at_;
    char32_t code = 0;
    while (hex_value(byte()) >= 0 && code <= kLastCharacter && (is_long || at_ - first < 2)) {
        code = code * 16 + char32_t(hex_value(pattern_[at_++]));
    }
    const bool is_whole = is_long ? at_ > first && skip("}") : at_ - first == 2;
    if (!is_whole || code > kLastCharacter) {
        return wrong("a character in hexadecimal digits", begin);
    }
    return code;
}

CharacterClass RegexParser::finished(CharacterClass characters, bool is_inverted) const {
    characters.settle();
    if (flags_.ignores_case) {
        characters.add_other_cases();
    }
    if (is_inverted) {
        characters.invert();
    }
    return characters;
}

Result<std::optional<CharacterClass>> RegexParser::find_named_class() {
    using Found = std::optional<CharacterClass>;
    if (byte() != '\\') {
        return Found();
    }
    const char letter = byte(1);
    if (letter == 'p' || letter == 'P') {
        return find_unicode_class();
    }
    const bool is_inverted = letter == 'D' || letter == 'S' || letter == 'W';
    Found found = perl_class(is_inverted ? char(letter - 'A' + 'a') : letter);
    if (found) {
        at_ += 2;
        found = finished(*std::move(found), is_inverted);
    }
    return found;
}

Result<std::optional<CharacterClass>> RegexParser::find_unicode_class() {
    const size_t begin = at_;
    bool is_inverted = byte(1) == 'P';
    at_ += 2;
    const size_t first = at_;
    std::string_view name;
    if (skip("{")) {
        const size_t end = pattern_.find('}', at_);
        if (end == std::string_view::npos) {
            return wrong("a group of Unicode without an end", begin);
        }
        if (skip("^")) {
            is_inverted = !is_inverted;
        }
        name = pattern_.substr(at_, end - at_);
        at_ = end + 1;
    } else {
        LEAT_RETURN_IF_ERROR(next_character().error());
        name = pattern_.substr(first, at_ - first);
    }
    std::optional<CharacterClass> found = unicode_class(name);
    if (!found) {
        return wrong("no group of Unicode", begin);
    }
    return std::optional<CharacterClass>(finished(*std::move(found), is_inverted));
}

Result<char32_t> RegexParser::parse_class_character(size_t begin) {
    if (is_at_end()) {
        return wrong("a class that nothing closes", begin);
    }
    return byte() == '\\' ? parse_escape() : next_character();
}

Status RegexParser::parse_class_range(CharacterClass& to, size_t begin) {
    const size_t begin_of_range = at_;
    LEAT_ASSIGN_OR_RETURN(const char32_t first, parse_class_character(begin));
    char32_t last = first;
    const bool has_end = byte() == '-' && at_ + 1 < pattern_.size() && byte(1) != ']';
    if (has_end) {
        ++at_;
        LEAT_ASSIGN_OR_RETURN(last, parse_class_character(begin));
    }
    if (last < first) {
        return wrong("a range upside down", begin_of_range);
    }
    CharacterClass range;
    range.add(first, last);
    to.add(finished(std::move(range), false));
    return {};
}

Result<int32_t> RegexParser::parse_class() {
    const size_t begin = at_++;
    const bool is_inverted = skip("^");
    CharacterClass all;
    const size_t first = at_;
    while (!is_at_end() && (byte() != ']' || at_ == first)) {
        const size_t end = is_next("[:") ? pattern_.find(":]", at_ + 2) : std::string_view::npos;
        if (end != std::string_view::npos) {
            const size_t begin_of_name = at_;
            at_ += 2;
            const bool is_other = skip("^");
            const std::string_view name = pattern_.substr(at_, std::max(end, at_) - at_);
            std::optional<CharacterClass> posix = posix_class(name);
            at_ = end + 2;
            if (!posix) {
                return wrong("no class of POSIX", begin_of_name);
            }
            all.add(finished(*std::move(posix), is_other));
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(const std::optional<CharacterClass> named, find_named_class());
        if (named) {
            all.add(*named);
        } else {
            LEAT_RETURN_IF_ERROR(parse_class_range(all, begin));
        }
    }
    if (!skip("]")) {
        return wrong("a class that nothing closes", begin);
    }
    all.settle();
    if (is_inverted) {
        all.invert();
    }
    return add_class(std::move(all));
}

}  // namespace

Result<RegexTree> parse_regex(std::string_view pattern) {
    return RegexParser(pattern).run();
}

}  // namespace leat
