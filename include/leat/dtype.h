// Element types: every tensor element type of ONNX (IR 14), with the standard's numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leat/export.h"

namespace leat {

// Values equal TensorProto.DataType of the ONNX standard.
enum class DType : uint8_t {
    kUndefined = 0,
    kFloat32 = 1,
    kUint8 = 2,
    kInt8 = 3,
    kUint16 = 4,
    kInt16 = 5,
    kInt32 = 6,
    kInt64 = 7,
    kString = 8,
    kBool = 9,
    kFloat16 = 10,
    kFloat64 = 11,
    kUint32 = 12,
    kUint64 = 13,
    kComplex64 = 14,
    kComplex128 = 15,
    kBfloat16 = 16,
    kFloat8E4M3FN = 17,
    kFloat8E4M3FNUZ = 18,
    kFloat8E5M2 = 19,
    kFloat8E5M2FNUZ = 20,
    kUint4 = 21,
    kInt4 = 22,
    kFloat4E2M1 = 23,
    kFloat8E8M0 = 24,
    kUint2 = 25,
    kInt2 = 26,
    kFloat6E2M3 = 27,
    kFloat6E3M2 = 28,
};
inline constexpr int kDTypeCount = 29;

// False for numbers that are none of the above: of a later ONNX, or of another framework.
constexpr bool is_known_dtype(DType dtype) {
    return int(dtype) < kDTypeCount;
}
// The type with this number, also of one that a DType cannot hold; kUndefined if there is none.
constexpr DType dtype_from_number(int64_t number) {
    return number > 0 && number < kDTypeCount ? DType(number) : DType::kUndefined;
}

// Storage types of the 16-bit floating formats; arithmetic happens in float32 or float64.
struct Float16 {
    uint16_t bits = 0;
};
struct BFloat16 {
    uint16_t bits = 0;
};

// Short name: "f32", "i64", "bool", "string", "f8e4m3fn", ...; "unknown" for an unknown type.
LEAT_API std::string_view name_of(DType dtype);
// The inverse; nullopt for any other name.
LEAT_API std::optional<DType> dtype_from_name(std::string_view name);
// Bits of one element as stored: 2, 4 and 6 for the packed types, 8 for bool, 0 for undefined and
// unknown types.
// A string element counts as sizeof(std::string) bytes.
LEAT_API int bits_of(DType dtype);
// Bytes that `elements` elements occupy; packed types round up to a whole byte. elements >= 0.
// nullopt when the product overflows int64, or the type is unknown.
LEAT_API std::optional<int64_t> storage_bytes(DType dtype, int64_t elements);

template <class T>
inline constexpr DType kDTypeOf = DType::kUndefined;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUint16;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUint32;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kUint64;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<std::string> = DType::kString;
template <>
inline constexpr DType kDTypeOf<Float16> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBfloat16;

}  // namespace leat
