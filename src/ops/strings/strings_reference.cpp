#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/out_of_memory.h"
#include "ops/elementwise/elementwise.h"
#include "ops/open_result.h"
#include "ops/strings/strings.h"
#include "ops/strings/utf8.h"

namespace leat {
namespace {

// What Python's str.isspace() says.
bool is_white_space(char32_t code) {
    return (code >= '\t' && code <= '\r') || (code >= 0x1c && code <= ' ') || code == 0x85 ||
           code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
           code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

// Where the next white space begins, or ends; the text's end where there is none. What is no UTF-8
// is none.
size_t find_white_space(std::string_view text, size_t at, bool is_wanted) {
    while (at < text.size()) {
        const Utf8Character character = first_utf8_character(text.substr(at));
        const bool is_found = character.bytes > 0 && is_white_space(character.code);
        if (is_found == is_wanted) {
            return at;
        }
        at += std::max<size_t>(character.bytes, 1);
    }
    return at;
}

struct TextSplitter {
    explicit TextSplitter(const NodeData& node) : delimiter(node.attr("delimiter", "")) {
        const int64_t given = node.attr("maxsplit", int64_t{-1});
        most_splits = given < 0 ? std::numeric_limits<int64_t>::max() : given;
    }

    // take(piece) for each; returns their number.
    template <class Take>
    int64_t split(std::string_view text, const Take& take) const {
        return delimiter.empty() ? split_at_white_space(text, take)
                                 : split_at_delimiter(text, take);
    }

    template <class Take>
    int64_t split_at_white_space(std::string_view text, const Take& take) const {
        int64_t count = 0;
        for (size_t at = find_white_space(text, 0, false); at < text.size();) {
            const size_t end = count < most_splits ? find_white_space(text, at, true) : text.size();
            take(text.substr(at, end - at));
            ++count;
            at = find_white_space(text, end, false);
        }
        return count;
    }

    template <class Take>
    int64_t split_at_delimiter(std::string_view text, const Take& take) const {
        int64_t count = 0;
        size_t at = 0;
        while (count < most_splits) {
            const size_t end = text.find(delimiter, at);
            if (end == std::string_view::npos) {
                break;
            }
            take(text.substr(at, end - at));
            ++count;
            at = end + delimiter.size();
        }
        take(text.substr(at));
        return count + 1;
    }

    std::string delimiter;
    int64_t most_splits;
};

Status run_string_split(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const auto* const texts = x.as<const std::string>();
    const int64_t elements = x.shape.element_count();
    const TextSplitter splitter(args.node);
    const TensorArg* const counts = find_arg(args.outputs, kSplitCounts);
    int64_t most = 0;
    for (int64_t i = 0; i < elements; ++i) {
        const int64_t count = splitter.split(texts[i], [](std::string_view /*piece*/) {});
        most = std::max(most, count);
        if (counts != nullptr) {
            counts->as<int64_t>()[i] = count;
        }
    }
    if (!args.outputs[kSplitPieces].present()) {
        return {};
    }
    std::vector<int64_t> extents(x.shape.begin(), x.shape.end());
    extents.push_back(most);
    const Shape shape{std::span<const int64_t>(extents)};
    LEAT_ASSIGN_OR_RETURN(std::string* const pieces,
                          give_shape<std::string>(args.outputs[kSplitPieces], shape));
    for (int64_t i = 0; i < elements; ++i) {
        std::string* to = pieces + i * most;
        splitter.split(texts[i], [&to](std::string_view piece) { *to++ = piece; });
        for (; to < pieces + (i + 1) * most; ++to) {
            to->clear();
        }
    }
    return {};
}

Status run_string_concat(const ReferenceArgs& args) {
    const auto* const x = args.inputs[0].as<const std::string>();
    const auto* const y = args.inputs[1].as<const std::string>();
    auto* const z = args.outputs[0].as<std::string>();
    for_each_broadcast(args.outputs[0].shape, args.inputs, [&](int64_t o, const auto& at) {
        const std::string& first = x[at[0]];
        const std::string& second = y[at[1]];
        z[o].clear();
        z[o].reserve(first.size() + second.size());
        z[o] += first;
        z[o] += second;
    });
    return {};
}

Status run_regex_full_match(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const Regex regex, full_match_regex(args.node));
    auto scratch = std::vector<uint32_t>(size_t(regex.scratch_words()));
    const TensorArg& x = args.inputs[0];
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        args.outputs[0].as<bool>()[i] = regex.matches(x.as<const std::string>()[i], scratch.data());
    }
    return {};
}

}  // namespace

Status string_concat_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("join strings", [&] { return run_string_concat(args); });
}

Status string_split_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("split strings", [&] { return run_string_split(args); });
}

Status regex_full_match_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("match strings", [&] { return run_regex_full_match(args); });
}

}  // namespace leat
