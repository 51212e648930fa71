// Values of tensors for people and for comparison: element access as double, summaries, tolerances.
#pragma once

#include <cstdint>
#include <string>

#include "leat/conformance.h"
#include "leat/tensor.h"

namespace leat {

// Element `index` of a real numeric or bool tensor as double; packed and 8-bit float types give
// their bits. Complex numbers count as two elements. No alignment needed.
double element_as_double(const Tensor& tensor, int64_t index);
bool is_real_number(DType dtype);  // integers, bool and floats that element_as_double() converts
bool is_floating(DType dtype);

// How far `got` is from `want`.
struct Difference {
    bool matches = true;
    std::string reason;  // of the first mismatch: dtype, shape or element
    int64_t mismatches = 0;
    double max_absolute = 0;
    double max_relative = 0;  // over elements with want != 0
    double largest = 0;       // largest finite |want|
};
// |got - want| <= absolute + relative * |want| for each element; NaN equals NaN, infinities must be
// equal; strings, bools and types without conversion exactly; dtype, shape and structure exactly.
Difference compare_values(const Value& got, const Value& want, Tolerance tolerance);
// The same kinds, types, shapes and bits; of strings the same text.
bool same_bits(const Value& got, const Value& want);
// Largest finite magnitude of all elements.
double largest_magnitude(const Value& value);

// "f32 1x1000 min -1.5 max 3.2 mean 0.01", "seq of 3".
std::string describe_value(const Value& value);
// "f32 1x1000", without elements.
std::string describe_type(const Value& value);

}  // namespace leat
