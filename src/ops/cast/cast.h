// Cast: y = x converted to the type of attribute "to"; every type of the standard but complex
// numbers. CastLike: to the type of its second operand, whose elements nobody reads; a pass makes
// it a Cast.
//
//   x, y : the same shape; any layout (packed types: row-major).
// Floating to floating rounds to nearest even, to infinity beyond the range; to the 8-bit types it
// saturates unless saturate = 0 (then NaN or infinity), to e8m0 as round_mode says. NaN becomes -0
// in f4e2m1 and f6. Floating to integer truncates; values out of range, undefined by the standard,
// saturate, NaN gives 0. Integer to integer keeps the low bits. To bool: x != 0. Numbers to strings
// as numpy prints them: shortest digits that read back as the same number. Strings to numbers:
// decimal or scientific, "NaN", "INF", "-INF" in any case; anything else is an error. ONNX Cast-28,
// CastLike-25; of newer ones that give 2 or 4 bits the importer makes two, by way of i64, which
// keep the low bits.
#pragma once

#include <string>
#include <string_view>

#include "graph/op_def.h"
#include "ops/elementwise/element_access.h"

namespace leat {

// What "to", "saturate" and "round_mode" of a Cast say.
Result<DType> cast_target(const NodeData& node);
NarrowOptions cast_options(const NodeData& node);

// The text of element `index`; a string's is itself.
std::string element_to_string(DType dtype, const std::byte* data, int64_t index);
// Reads a number; false if the text is none.
bool string_to_element(std::string_view text,
                       DType dtype,
                       std::byte* data,
                       int64_t index,
                       const NarrowOptions& options);

}  // namespace leat
