#include <algorithm>
#include <utility>

#include "base/grown_tensor.h"
#include "base/out_of_memory.h"
#include "ops/string_normalizer/string_normalizer.h"

namespace leat {
namespace {

// Printable, and no longer than a line.
std::string shown_bytes(const std::string& text) {
    constexpr size_t kMostBytes = 40;
    std::string shown = "'";
    for (const char c : text.substr(0, kMostBytes)) {
        const auto byte = uint8_t(c);
        shown += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    }
    return shown + (text.size() > kMostBytes ? "..." : "'");
}

Result<std::string> in_case(CaseAction action, const std::string& text, int64_t element) {
    if (action == CaseAction::kNone) {
        return text;
    }
    std::string result;
    if (!append_in_case(action, text, result)) {
        return invalid_argument("element {} of the input is not UTF-8", element)
            .with_found(shown_bytes(text))
            .with_needed("UTF-8, whose letters have an upper and a lower case");
    }
    return result;
}

Result<std::vector<std::string>> words_left(const StringNormalizerForm& form, const TensorArg& x) {
    std::vector<std::string> left;
    const auto* words = x.as<std::string>();
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        if (!form.stopwords.empty()) {
            LEAT_ASSIGN_OR_RETURN(const std::string word, in_case(form.compared, words[i], i));
            if (std::binary_search(form.stopwords.begin(), form.stopwords.end(), word)) {
                continue;
            }
        }
        LEAT_ASSIGN_OR_RETURN(std::string word, in_case(form.change, words[i], i));
        left.push_back(std::move(word));
    }
    if (left.empty()) {
        left.emplace_back();
    }
    return left;
}

Status run_string_normalizer(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const StringNormalizerForm form, string_normalizer_form(args.node));
    LEAT_ASSIGN_OR_RETURN(std::vector<std::string> left, words_left(form, args.inputs[0]));
    const TensorArg& y = args.outputs[0];
    auto* to = y.as<std::string>();
    if (y.grows) {
        const auto count = int64_t(left.size());
        const bool is_row = args.inputs[0].shape.rank() == 2;
        LEAT_ASSIGN_OR_RETURN(std::byte* const room,
                              y.as<GrownTensor>()->set_shape(
                                  DType::kString, is_row ? Shape({1, count}) : Shape({count})));
        to = reinterpret_cast<std::string*>(room);
    }
    std::move(left.begin(), left.end(), to);
    return {};
}

}  // namespace

Status string_normalizer_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("normalize strings", [&] { return run_string_normalizer(args); });
}

}  // namespace leat
