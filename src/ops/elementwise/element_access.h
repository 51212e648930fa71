// Reading and writing one element of any type, for reference kernels and tests. Slow and exact.
//
// Packed types (2, 4 and 6 bits) are addressed by element index, low bits first. Complex numbers
// and strings have no access here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/dtype.h"
#include "ops/type_checks.h"

namespace leat {

// More sets of element types; see type_checks.h.
template <class... More>
constexpr DTypeSet dtype_set(More... types) {
    return (dtype_bit(types) | ...);
}
constexpr bool contains(DTypeSet set, DType dtype) {
    return (set & dtype_bit(dtype)) != 0;
}

inline constexpr DTypeSet kSmallFloatTypes = dtype_set(DType::kFloat8E4M3FN,
                                                       DType::kFloat8E4M3FNUZ,
                                                       DType::kFloat8E5M2,
                                                       DType::kFloat8E5M2FNUZ,
                                                       DType::kFloat4E2M1,
                                                       DType::kFloat6E2M3,
                                                       DType::kFloat6E3M2,
                                                       DType::kFloat8E8M0);
// They have no NaN, no infinity, and no byte of their own.
inline constexpr DTypeSet kPackedFloatTypes =
    dtype_set(DType::kFloat4E2M1, DType::kFloat6E2M3, DType::kFloat6E3M2);
inline constexpr DTypeSet kByteFloatTypes = kSmallFloatTypes & ~kPackedFloatTypes;
inline constexpr DTypeSet kSignedTypes =
    dtype_set(DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64);
inline constexpr DTypeSet kUnsignedTypes =
    dtype_set(DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64);
inline constexpr DTypeSet kPackedIntegerTypes =
    dtype_set(DType::kUint4, DType::kInt4, DType::kUint2, DType::kInt2);
inline constexpr DTypeSet kNumericTypes = kFloatTypes | kIntTypes;
// Everything that load_real and store_real accept.
inline constexpr DTypeSet kRealTypes =
    kNumericTypes | kSmallFloatTypes | kPackedIntegerTypes | dtype_set(DType::kBool);

// The unsigned integers of the width, by which any element can be copied; else kUndefined.
inline DType unsigned_of_width(DType dtype) {
    switch (bits_of(dtype)) {
        case 8:
            return DType::kUint8;
        case 16:
            return DType::kUint16;
        case 32:
            return DType::kUint32;
        case 64:
            return DType::kUint64;
        default:
            return DType::kUndefined;
    }
}

// What a cast does with values beyond the range of the small floating formats, and with their
// rounding.
struct NarrowOptions {
    bool saturate = true;  // largest finite value, else infinity or NaN
    enum class Round : uint8_t { kUp, kDown, kNearest } e8m0_round = Round::kUp;
};

// Element `index` as a double (64-bit integers round). Precondition: contains(kRealTypes, dtype).
double load_real(DType dtype, const std::byte* data, int64_t index);
// Rounds to nearest even into floating types; truncates toward zero and saturates into integers,
// NaN gives 0; bool is value != 0.
void store_real(
    DType dtype, std::byte* data, int64_t index, double value, const NarrowOptions& options = {});

// Element `index` of an integer type or bool; uint64 comes as its 64 bits.
int64_t load_integer(DType dtype, const std::byte* data, int64_t index);
// Keeps the low bits; bool is value != 0.
void store_integer(DType dtype, std::byte* data, int64_t index, int64_t value);

// The encodings of the 8-, 6- and 4-bit floating formats, in the low bits. Precondition: a type of
// kSmallFloatTypes.
double decode_small_float(DType dtype, uint8_t bits);
uint8_t encode_small_float(DType dtype, double value, const NarrowOptions& options = {});

}  // namespace leat
