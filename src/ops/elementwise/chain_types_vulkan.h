// Element types as GLSL: how they are stored, and which type computes for them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "leat/dtype.h"
#include "ops/elementwise/element_access.h"

namespace leat::vulkan {

// The type that computes for the element type: float for f16, int for i8. Precondition:
// cast_refusal() accepts it.
std::string_view value_type(DType dtype);

// Elements travel as bits: a uint, or a uvec2 where they have 64. `stored_type` is how one lies in
// memory, `stored4_type` four of them, of at most 32 bits each.
std::string_view bits_type(DType dtype);
std::string_view stored_type(DType dtype);
std::string_view stored4_type(DType dtype);
// Bits of element `i` of four, and four elements of these bits.
std::string part_of_four(DType dtype, std::string_view four, int i);
std::string four_of_parts(DType dtype, const std::array<std::string, 4>& parts);

bool is_real(DType dtype);
bool is_64_bit(DType dtype);

// The value that the bits mean, and the bits of a value; narrow types are rounded or wrapped.
// `narrow`: how to kByteFloatTypes.
std::string value_of_bits(DType dtype, std::string_view bits);
std::string bits_of_value(DType dtype, std::string_view value, const NarrowOptions& narrow = {});

// A value of one type as one of another, by the rules of Cast: the number as `to` has it, or, where
// `is_stored_next`, a number that gives this when it is stored.
std::string converted(DType from,
                      DType to,
                      std::string_view value,
                      bool is_stored_next,
                      const NarrowOptions& narrow = {});
// Whether that goes by way of double: what float would round becomes a narrow number.
bool converts_by_double(DType from, DType to);

// The value rounded or wrapped to its type.
std::string narrowed(DType dtype, std::string_view value, const NarrowOptions& narrow = {});

}  // namespace leat::vulkan
