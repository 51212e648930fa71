#include "ops/elementwise/element_access.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/float_formats.h"
#include "base/packed_elements.h"

namespace leat {
namespace {

// A format with a sign, `exponent_bits` and `mantissa_bits`, subnormals, and few special codes.
struct SmallFormat {
    int mantissa_bits;
    int bias;
    uint8_t sign;        // mask of the sign bit
    uint8_t largest;     // code of the largest finite magnitude
    uint8_t overflow;    // code of what is too large when not saturating
    uint8_t nan;         // code of NaN
    bool unsigned_zero;  // no negative zero, and `nan` has no sign
};

SmallFormat format_of(DType dtype) {
    switch (dtype) {
        case DType::kFloat8E4M3FN:
            return {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false};
        case DType::kFloat8E4M3FNUZ:
            return {3, 8, 0x80, 0x7f, 0x80, 0x80, true};
        case DType::kFloat8E5M2:
            return {2, 15, 0x80, 0x7b, 0x7c, 0x7e, false};
        case DType::kFloat8E5M2FNUZ:
            return {2, 16, 0x80, 0x7f, 0x80, 0x80, true};
        // The packed ones have neither infinity, which becomes the largest value, nor NaN, which
        // becomes -0 as in ONNX's own tests.
        case DType::kFloat6E2M3:
            return {3, 1, 0x20, 0x1f, 0x1f, 0x20, false};
        case DType::kFloat6E3M2:
            return {2, 3, 0x20, 0x1f, 0x1f, 0x20, false};
        default:
            return {1, 1, 0x08, 0x07, 0x07, 0x08, false};
    }
}

uint8_t encode_e8m0(double value, const NarrowOptions& options) {
    constexpr uint8_t kNan = 0xff;
    constexpr uint8_t kLargest = 0xfe;  // 2^127
    if (std::isnan(value)) {
        return kNan;
    }
    const double magnitude = std::fabs(value);
    if (std::isinf(magnitude)) {
        return options.saturate ? kLargest : kNan;
    }
    if (magnitude == 0) {
        return options.saturate ? 0 : kNan;
    }
    int exponent = 0;
    const double fraction = 2 * std::frexp(magnitude, &exponent);  // [1, 2)
    --exponent;
    using Round = NarrowOptions::Round;
    const bool up = options.e8m0_round == Round::kUp        ? fraction > 1
                    : options.e8m0_round == Round::kNearest ? fraction >= 1.5
                                                            : false;
    const int code = exponent + (up ? 1 : 0) + 127;
    if (code > kLargest) {
        return options.saturate ? kLargest : kNan;
    }
    if (code < 0) {
        return options.saturate ? 0 : kNan;
    }
    return uint8_t(code);
}

template <class T>
T element(const std::byte* data, int64_t index) {
    return reinterpret_cast<const T*>(data)[index];
}
template <class T>
void set_element(std::byte* data, int64_t index, T value) {
    reinterpret_cast<T*>(data)[index] = value;
}

// Rounds to odd in float, so that the second rounding, to fewer bits, is right.
float narrow_to_odd(double value) {
    const auto narrow = float(value);
    if (double(narrow) == value || std::isnan(narrow)) {
        return narrow;
    }
    auto bits = std::bit_cast<uint32_t>(narrow);
    if ((value > 0) == (double(narrow) > value)) {
        --bits;  // was rounded away from zero
    }
    return std::bit_cast<float>(bits | 1U);
}

// [lowest, highest] of an integer type, as doubles that convert without overflow.
int64_t saturate_signed(double value, int bits) {
    const double limit = std::ldexp(1.0, bits - 1);
    if (std::isnan(value)) {
        return 0;
    }
    if (value >= limit) {
        return int64_t((uint64_t{1} << (bits - 1)) - 1);
    }
    if (value < -limit) {
        return -int64_t((uint64_t{1} << (bits - 1)) - 1) - 1;
    }
    return int64_t(value);
}

uint64_t saturate_unsigned(double value, int bits) {
    if (!(value > 0)) {
        return 0;
    }
    if (value >= std::ldexp(1.0, bits)) {
        return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    }
    return uint64_t(value);
}

}  // namespace

double decode_small_float(DType dtype, uint8_t bits) {
    if (dtype == DType::kFloat8E8M0) {
        return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, int(bits) - 127);
    }
    const SmallFormat format = format_of(dtype);
    const bool negative = (bits & format.sign) != 0;
    const auto magnitude = uint8_t(bits & (format.sign - 1));
    if (!contains(kPackedFloatTypes, dtype)) {
        if (format.unsigned_zero ? bits == format.nan : magnitude > format.largest) {
            const bool infinite = !format.unsigned_zero && magnitude == format.overflow &&
                                  format.overflow != format.nan;
            const double special = infinite ? std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN();
            return negative && !format.unsigned_zero ? -special : special;
        }
    }
    const int exponent = magnitude >> format.mantissa_bits;
    const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
    const int hidden = exponent == 0 ? 0 : 1 << format.mantissa_bits;
    const double value =
        std::ldexp(double(mantissa + hidden),
                   (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits);
    return negative ? -value : value;
}

uint8_t encode_small_float(DType dtype, double value, const NarrowOptions& options) {
    if (dtype == DType::kFloat8E8M0) {
        return encode_e8m0(value, options);
    }
    const SmallFormat format = format_of(dtype);
    const uint8_t sign = std::signbit(value) ? format.sign : uint8_t{0};
    const auto with_sign = [&](uint8_t code) {
        // With unsigned zeros the code of -0 means NaN, and NaN has no sign.
        return code == format.nan && format.unsigned_zero ? code : uint8_t(code | sign);
    };
    if (std::isnan(value)) {
        return with_sign(format.nan);
    }
    const double magnitude = std::fabs(value);
    int code = format.largest + 1;
    if (!std::isinf(magnitude)) {
        int exponent = 0;
        std::frexp(magnitude, &exponent);
        const int smallest = 1 - format.bias;
        exponent = magnitude == 0 || exponent - 1 < smallest ? smallest : exponent - 1;
        // At most 2^(mantissa_bits + 1), because exponent is the value's; a carry moves into the
        // exponent.
        const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
        const double biased =
            double(exponent - smallest) * double(1 << format.mantissa_bits) + units;
        code = biased > double(format.largest) ? format.largest + 1 : int(biased);
    }
    if (code > format.largest) {
        return with_sign(options.saturate ? format.largest : format.overflow);
    }
    return code == 0 && format.unsigned_zero ? uint8_t{0} : with_sign(uint8_t(code));
}

double load_real(DType dtype, const std::byte* data, int64_t index) {
    switch (dtype) {
        case DType::kFloat32:
            return double(element<float>(data, index));
        case DType::kFloat64:
            return element<double>(data, index);
        case DType::kFloat16:
            return double(to_float(element<Float16>(data, index)));
        case DType::kBfloat16:
            return double(to_float(element<BFloat16>(data, index)));
        case DType::kUint64:
            return double(element<uint64_t>(data, index));
        case DType::kFloat4E2M1:
        case DType::kFloat6E2M3:
        case DType::kFloat6E3M2:
            return decode_small_float(dtype, load_packed(bits_of(dtype), data, index));
        default:
            break;
    }
    if (contains(kSmallFloatTypes, dtype)) {
        return decode_small_float(dtype, element<uint8_t>(data, index));
    }
    return double(load_integer(dtype, data, index));
}

void store_real(
    DType dtype, std::byte* data, int64_t index, double value, const NarrowOptions& options) {
    switch (dtype) {
        case DType::kFloat32:
            return set_element(data, index, float(value));
        case DType::kFloat64:
            return set_element(data, index, value);
        case DType::kFloat16:
            return set_element(data, index, to_float16(value));
        case DType::kBfloat16:
            return set_element(data, index, to_bfloat16(narrow_to_odd(value)));
        case DType::kFloat4E2M1:
        case DType::kFloat6E2M3:
        case DType::kFloat6E3M2:
            return store_packed(bits_of(dtype), data, index,
                                encode_small_float(dtype, value, options));
        case DType::kBool:
            return set_element(data, index, uint8_t(value != 0 ? 1 : 0));
        default:
            break;
    }
    if (contains(kSmallFloatTypes, dtype)) {
        return set_element(data, index, encode_small_float(dtype, value, options));
    }
    const bool is_unsigned =
        contains(kUnsignedTypes | dtype_set(DType::kUint4, DType::kUint2), dtype);
    const int bits = bits_of(dtype);
    store_integer(
        dtype, data, index,
        is_unsigned ? int64_t(saturate_unsigned(value, bits)) : saturate_signed(value, bits));
}

int64_t load_integer(DType dtype, const std::byte* data, int64_t index) {
    switch (dtype) {
        case DType::kBool:
            return element<uint8_t>(data, index) != 0 ? 1 : 0;
        case DType::kUint8:
            return element<uint8_t>(data, index);
        case DType::kInt8:
            return element<int8_t>(data, index);
        case DType::kUint16:
            return element<uint16_t>(data, index);
        case DType::kInt16:
            return element<int16_t>(data, index);
        case DType::kUint32:
            return element<uint32_t>(data, index);
        case DType::kInt32:
            return element<int32_t>(data, index);
        case DType::kUint64:
        case DType::kInt64:
            return element<int64_t>(data, index);
        case DType::kUint4:
        case DType::kUint2:
            return load_packed(bits_of(dtype), data, index);
        case DType::kInt4:
        case DType::kInt2: {
            const int bits = bits_of(dtype);
            const int code = load_packed(bits, data, index);
            return code >= 1 << (bits - 1) ? code - (1 << bits) : code;
        }
        default:
            LEAT_CHECK(false, "{} is not an integer type", name_of(dtype));
    }
}

void store_integer(DType dtype, std::byte* data, int64_t index, int64_t value) {
    switch (bits_of(dtype)) {
        case 2:
        case 4:
            return store_packed(bits_of(dtype), data, index, uint8_t(uint64_t(value) & 0xffU));
        case 8:
            return set_element(
                data, index, dtype == DType::kBool ? uint8_t(value != 0 ? 1 : 0) : uint8_t(value));
        case 16:
            return set_element(data, index, uint16_t(value));
        case 32:
            return set_element(data, index, uint32_t(value));
        default:
            return set_element(data, index, uint64_t(value));
    }
}

}  // namespace leat
