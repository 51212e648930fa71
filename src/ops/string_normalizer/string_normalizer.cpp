#include "ops/string_normalizer/string_normalizer.h"

#include <algorithm>

#include "ops/movement/extents.h"
#include "ops/string_normalizer/case_mappings.h"
#include "ops/strings/utf8.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

void append_character(char32_t code, std::string& text) {
    const auto tail = [code](unsigned shift) { return char(0x80U | (code >> shift & 0x3fU)); };
    if (code < 0x80) {
        text += char(code);
    } else if (code < 0x800) {
        text += {char(0xc0U | code >> 6U), tail(0)};
    } else if (code < 0x10000) {
        text += {char(0xe0U | code >> 12U), tail(6), tail(0)};
    } else {
        text += {char(0xf0U | code >> 18U), tail(12), tail(6), tail(0)};
    }
}

Result<CaseAction> case_action(const NodeData& node) {
    const std::string action = node.attr("case_change_action", "NONE");
    if (action != "NONE" && action != "LOWER" && action != "UPPER") {
        return invalid_argument("attribute case_change_action has no such value")
            .with_found(action)
            .with_needed("NONE, LOWER or UPPER");
    }
    return action == "NONE"    ? CaseAction::kNone
           : action == "LOWER" ? CaseAction::kLower
                               : CaseAction::kUpper;
}

bool drops_words(const NodeData& node) {
    const std::vector<std::string>* stopwords = node.strings("stopwords");
    return stopwords != nullptr && !stopwords->empty();
}

Status infer_string_normalizer(InferContext& context) {
    LEAT_RETURN_IF_ERROR(string_normalizer_form(context.node()).error());
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, dtype_bit(DType::kString), "X"));
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, DType::kString, std::nullopt);
        return {};
    }
    Dims dims = *x.dims;
    const bool has_one_row =
        dims.size() == 1 || (dims.size() == 2 && (!dims[0].is_fixed() || dims[0].extent() == 1));
    if (!has_one_row) {
        return invalid_argument("the strings have a wrong shape")
            .with_found(x.to_string())
            .with_needed("[C] or [1, C]");
    }
    dims[0] = DimSpec(1);
    const DimSpec& given = x.dims->back();
    // None at all become one.
    dims.back() = !drops_words(context.node()) && given.is_fixed()
                      ? DimSpec(std::max<int64_t>(given.extent(), 1))
                      : DimSpec::unknown();
    context.set_output(0, DType::kString, std::move(dims));
    return {};
}

constexpr AttributeSchema kStringNormalizerAttributes[] = {
    {.name = "case_change_action", .kind = AttributeKind::kString},
    {.name = "is_case_sensitive", .kind = AttributeKind::kInt},
    {.name = "locale", .kind = AttributeKind::kString},
    {.name = "stopwords", .kind = AttributeKind::kStrings},
};

constexpr OpDef kStringNormalizerOps[] = {
    {.name = "StringNormalizer",
     .open_outputs = 0b1,
     .attributes = kStringNormalizerAttributes,
     .infer = infer_string_normalizer,
     .reference = string_normalizer_reference,
     .has_open_outputs = drops_words},
};

}  // namespace

bool append_in_case(CaseAction action, std::string_view text, std::string& result) {
    while (!text.empty()) {
        const Utf8Character character = first_utf8_character(text);
        if (character.bytes == 0) {
            return false;
        }
        const char32_t code = character.code;
        append_character(action == CaseAction::kLower   ? to_lower_case(code)
                         : action == CaseAction::kUpper ? to_upper_case(code)
                                                        : code,
                         result);
        text.remove_prefix(character.bytes);
    }
    return true;
}

Result<StringNormalizerForm> string_normalizer_form(const NodeData& node) {
    StringNormalizerForm form;
    LEAT_ASSIGN_OR_RETURN(form.change, case_action(node));
    if (!drops_words(node)) {
        return form;
    }
    form.stopwords = *node.strings("stopwords");
    if (node.attr("is_case_sensitive", int64_t{0}) == 0) {
        form.compared = CaseAction::kLower;
        for (size_t i = 0; i < form.stopwords.size(); ++i) {
            std::string word;
            if (!append_in_case(form.compared, form.stopwords[i], word)) {
                return invalid_argument("element {} of attribute stopwords is not UTF-8", i)
                    .with_needed("UTF-8, or is_case_sensitive = 1");
            }
            form.stopwords[i] = std::move(word);
        }
    }
    std::sort(form.stopwords.begin(), form.stopwords.end());
    return form;
}

std::span<const OpDef> string_normalizer_ops() {
    return kStringNormalizerOps;
}

}  // namespace leat
