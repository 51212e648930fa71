// StringNormalizer: y is x without the stop words, in upper or lower case.
//
//   x : string, [C] or [1, C].  y : string, [left] or [1, left], what is left in its order; one
//       empty string where nothing is.
//   case_change_action : NONE, LOWER or UPPER, of what is left.
//   stopwords : elements that equal one of them go. Without is_case_sensitive both are compared in
//       lower case, as in ONNX Runtime; with it, as they are.
//   locale : ignored. Case is that of Unicode's simple mappings in each of them, of all characters:
//       ß stays where it is to be upper case, and i becomes I, also in Turkish.
// How many elements are left only the run knows, unless there are no stop words.
// Where case matters, elements and stop words are UTF-8: anything else is an error, as it is in
// ONNX Runtime. Where it does not (NONE, and is_case_sensitive or no stop words), bytes are bytes.
// Of no elements (C = 0) nothing is left; ONNX Runtime refuses them.
// ONNX StringNormalizer-10.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

enum class CaseAction : uint8_t { kNone, kLower, kUpper };

struct StringNormalizerForm {
    CaseAction change = CaseAction::kNone;
    CaseAction compared = CaseAction::kNone;  // in which stop words are compared
    std::vector<std::string> stopwords;       // in that case, sorted
};
// What the attributes say; an error names one that is wrong.
Result<StringNormalizerForm> string_normalizer_form(const NodeData& node);

// Appends the text in another case to `result`. False if it is not UTF-8.
bool append_in_case(CaseAction action, std::string_view text, std::string& result);

Status string_normalizer_reference(const ReferenceArgs& args);

}  // namespace leat
