#include "ops/strings/regex.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/out_of_memory.h"
#include "ops/strings/utf8.h"

namespace leat {

// Writes the program of a tree. Instructions of a node stand together and go on behind them.
class RegexCompiler {
  public:
    explicit RegexCompiler(RegexTree tree) : tree_(std::move(tree)) {}

    Result<Regex> run() {
        LEAT_RETURN_IF_ERROR(write(tree_.root));
        LEAT_RETURN_IF_ERROR(add(Kind::kMatch).error());
        regex_.classes_ = std::move(tree_.classes);
        return std::move(regex_);
    }

  private:
    using Kind = Regex::Instruction::Kind;
    // As many as RE2 has room for, by and large.
    static constexpr size_t kMostInstructions = size_t{1} << 18;

    uint32_t here() const { return uint32_t(regex_.program_.size()); }
    Regex::Instruction& at(uint32_t place) { return regex_.program_[place]; }

    // The place of the instruction, which goes on behind it.
    Result<uint32_t> add(Kind kind, uint32_t value = 0) {
        if (regex_.program_.size() == kMostInstructions) {
            return unsupported("the pattern is too large")
                .with_needed(fmt::format("at most {} steps, with all repetitions written out",
                                         kMostInstructions));
        }
        regex_.program_.push_back({kind, value, here() + 1, 0});
        return here() - 1;
    }

    Status write(int32_t index) {
        const RegexNode& node = tree_.nodes[size_t(index)];
        switch (node.kind) {
            case RegexNode::Kind::kEmpty:
                return {};
            case RegexNode::Kind::kCharacter:
                return add(Kind::kCharacter, node.value).error();
            case RegexNode::Kind::kClass:
                return add(Kind::kClass, node.value).error();
            case RegexNode::Kind::kByte:
                return add(Kind::kByte).error();
            case RegexNode::Kind::kAssertion:
                return add(Kind::kAssertion, node.value).error();
            case RegexNode::Kind::kSequence:
                return write_sequence(node);
            case RegexNode::Kind::kAlternatives:
                return write_alternatives(node);
            default:
                return write_repetition(node);
        }
    }

    Status write_sequence(const RegexNode& node) {
        for (const int32_t child : node.children) {
            LEAT_RETURN_IF_ERROR(write(child));
        }
        return {};
    }

    Status write_alternatives(const RegexNode& node) {
        std::vector<uint32_t> jumps;
        for (size_t i = 0; i < node.children.size(); ++i) {
            const bool is_last = i + 1 == node.children.size();
            uint32_t fork = 0;
            if (!is_last) {
                LEAT_ASSIGN_OR_RETURN(fork, add(Kind::kFork));
            }
            LEAT_RETURN_IF_ERROR(write(node.children[i]));
            if (!is_last) {
                LEAT_ASSIGN_OR_RETURN(const uint32_t jump, add(Kind::kJump));
                jumps.push_back(jump);
                at(fork).other = here();
            }
        }
        for (const uint32_t jump : jumps) {
            at(jump).next = here();
        }
        return {};
    }

    Status write_repetition(const RegexNode& node) {
        const int32_t child = node.children.front();
        // The last one that has to be there may come again: a+ is a and a way back.
        const bool ends_in_loop = node.most == kUnlimited && node.least > 0;
        uint32_t begin = here();
        for (int32_t i = 0; i < node.least; ++i) {
            begin = here();
            LEAT_RETURN_IF_ERROR(write(child));
        }
        if (ends_in_loop) {
            LEAT_ASSIGN_OR_RETURN(const uint32_t fork, add(Kind::kFork));
            at(fork).other = begin;
            return {};
        }
        if (node.most == kUnlimited) {
            LEAT_ASSIGN_OR_RETURN(const uint32_t fork, add(Kind::kFork));
            LEAT_RETURN_IF_ERROR(write(child));
            LEAT_ASSIGN_OR_RETURN(const uint32_t jump, add(Kind::kJump));
            at(jump).next = fork;
            at(fork).other = here();
            return {};
        }
        std::vector<uint32_t> forks;
        for (int32_t i = node.least; i < node.most; ++i) {
            LEAT_ASSIGN_OR_RETURN(const uint32_t fork, add(Kind::kFork));
            forks.push_back(fork);
            LEAT_RETURN_IF_ERROR(write(child));
        }
        for (const uint32_t fork : forks) {
            at(fork).other = here();
        }
        return {};
    }

    RegexTree tree_;
    Regex regex_;
};

// One text. At each byte there is a set of instructions that go on there. A character has up to 4
// bytes, so that the present set and the three after it are in use.
class RegexRun {
  public:
    RegexRun(const Regex& regex, std::string_view text, uint32_t* scratch)
        : regex_(regex), text_(text), size_(uint32_t(regex.program_.size())) {
        for (size_t i = 0; i < kSets; ++i) {
            lists_[i] = scratch + i * size_;
            places_[i] = scratch + (kSets + i) * size_;
        }
        std::fill_n(places_[0], kSets * size_, 0U);
        former_ = scratch + 2 * kSets * size_;
        stack_ = former_ + size_;
    }

    bool matches() {
        add(0, 0);
        for (size_t at = 0; at < text_.size(); ++at) {
            if (live_ == 0) {
                return false;
            }
            step(at);
        }
        const size_t last = text_.size() % kSets;
        for (uint32_t i = 0; i < counts_[last]; ++i) {
            if (regex_.program_[lists_[last][i]].kind == Kind::kMatch) {
                return true;
            }
        }
        return false;
    }

  private:
    using Kind = Regex::Instruction::Kind;
    static constexpr size_t kSets = 4;

    void step(size_t at) {
        const size_t set = at % kSets;
        if (counts_[set] == 0) {
            return;  // in the middle of a character
        }
        const Utf8Character character = first_utf8_character(text_.substr(at));
        // Four bytes on is this very set, so it is emptied first.
        const uint32_t count = counts_[set];
        if (character.bytes == kSets) {
            std::copy_n(lists_[set], count, former_);
            clear(set);
            step_all(former_, count, at, character);
            return;
        }
        step_all(lists_[set], count, at, character);
        clear(set);
    }

    void clear(size_t set) {
        live_ -= counts_[set];
        counts_[set] = 0;
    }

    void step_all(const uint32_t* list, uint32_t count, size_t at, const Utf8Character& character) {
        for (uint32_t i = 0; i < count; ++i) {
            const Regex::Instruction& instruction = regex_.program_[list[i]];
            if (instruction.kind == Kind::kByte) {
                add(instruction.next, at + 1);
            } else if (character.bytes > 0 && takes(instruction, character.code)) {
                add(instruction.next, at + character.bytes);
            }
        }
    }

    bool takes(const Regex::Instruction& instruction, char32_t code) const {
        return instruction.kind == Kind::kCharacter ? instruction.value == code
               : instruction.kind == Kind::kClass
                   ? regex_.classes_[instruction.value].contains(code)
                   : false;
    }

    bool is_in(size_t set, uint32_t instruction) const {
        const uint32_t place = places_[set][instruction];
        return place < counts_[set] && lists_[set][place] == instruction;
    }

    // The instruction, and where it leads without a character.
    void add(uint32_t first, size_t at) {
        const size_t set = at % kSets;
        uint32_t depth = 0;
        stack_[depth++] = first;
        while (depth > 0) {
            const uint32_t next = stack_[--depth];
            if (is_in(set, next)) {
                continue;
            }
            places_[set][next] = counts_[set];
            lists_[set][counts_[set]++] = next;
            ++live_;
            const Regex::Instruction& instruction = regex_.program_[next];
            if (instruction.kind == Kind::kFork) {
                stack_[depth++] = instruction.other;
            }
            const bool goes_on = instruction.kind == Kind::kFork ||
                                 instruction.kind == Kind::kJump ||
                                 (instruction.kind == Kind::kAssertion &&
                                  holds(RegexAssertion(instruction.value), at));
            if (goes_on) {
                stack_[depth++] = instruction.next;
            }
        }
    }

    bool is_word_byte(size_t at) const {
        const auto byte = uint8_t(at < text_.size() ? text_[at] : 0);
        return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= 'a' && byte <= 'z') || byte == '_';
    }

    bool holds(RegexAssertion assertion, size_t at) const {
        switch (assertion) {
            case RegexAssertion::kBeginText:
                return at == 0;
            case RegexAssertion::kEndText:
                return at == text_.size();
            case RegexAssertion::kBeginLine:
                return at == 0 || text_[at - 1] == '\n';
            case RegexAssertion::kEndLine:
                return at == text_.size() || text_[at] == '\n';
            default: {
                const bool is_boundary =
                    (at > 0 && is_word_byte(at - 1)) != (at < text_.size() && is_word_byte(at));
                return is_boundary == (assertion == RegexAssertion::kWordBoundary);
            }
        }
    }

    const Regex& regex_;
    std::string_view text_;
    uint32_t size_;
    std::array<uint32_t*, kSets> lists_{};   // by set: its instructions
    std::array<uint32_t*, kSets> places_{};  // by set and instruction: where in the list it is
    std::array<uint32_t, kSets> counts_{};
    uint32_t live_ = 0;           // instructions of all sets
    uint32_t* former_ = nullptr;  // the present set's list, where its memory gets another
    uint32_t* stack_ = nullptr;   // instructions to be added: a fork leaves one behind
};

Result<Regex> Regex::compile(std::string_view pattern) {
    return catch_bad_alloc("compile a pattern", [&]() -> Result<Regex> {
        LEAT_ASSIGN_OR_RETURN(RegexTree tree, parse_regex(pattern));
        return RegexCompiler(std::move(tree)).run();
    });
}

bool Regex::matches(std::string_view text, uint32_t* scratch) const {
    return RegexRun(*this, text, scratch).matches();
}

}  // namespace leat
