// StringConcat, StringSplit and RegexFullMatch: strings are sequences of bytes.
//
// StringConcat: z = x then y, element by element, broadcast. x, y, z : string.
//
// StringSplit: the pieces of each element, along a new last axis, and how many there are.
//   x : string, any shape.  y : string, [..x.., most], most being the largest number of pieces;
//       empty strings stand behind the last piece.  z : i64, as x.
//   delimiter : what stands between two pieces; two delimiters have an empty piece between them,
//       and an empty element is one empty piece. Absent or empty: pieces stand between white space,
//       whose length does not matter, none is empty, and an element may have none.
//   maxsplit : after as many pieces the rest is the last one, as it is, without white space before
//       it. Absent or negative: no limit.
// White space is Unicode's, in UTF-8, as Python's str.split has it. ONNX Runtime knows blanks
// alone, drops those behind the rest, and finds no piece in an empty element. The standard says
// white space, and its tests come from Python.
//
// RegexFullMatch: y = whether x as a whole matches attribute pattern, in RE2's syntax: regex.h.
//   x : string.  y : bool, as x.
// ONNX StringConcat-20, StringSplit-20, RegexFullMatch-20.
#pragma once

#include "graph/op_def.h"
#include "ops/strings/regex.h"

namespace leat {

inline constexpr int kSplitPieces = 0;
inline constexpr int kSplitCounts = 1;

// Of the node's pattern. An error says what is wrong with it, and where.
Result<Regex> full_match_regex(const NodeData& node);

Status string_concat_reference(const ReferenceArgs& args);
Status string_split_reference(const ReferenceArgs& args);
Status regex_full_match_reference(const ReferenceArgs& args);

}  // namespace leat
