// Element types in reference kernels: widening for arithmetic, narrowing for the result, and
// dispatch.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/float_formats.h"
#include "leat/dtype.h"

namespace leat {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Arithmetic type: double for floating types; for integers the 64-bit unsigned type, whose sums and
// products wrap and are right modulo 2^bits(T) for signed types too.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
Accumulator<T> widen(T x) {
    if constexpr (kIsHalf<T>) {
        return double(to_float(x));
    } else {
        return Accumulator<T>(x);
    }
}

template <class T>
T narrow(Accumulator<T> x) {
    if constexpr (std::is_same_v<T, Float16>) {
        return to_float16(x);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return to_bfloat16(float(x));
    } else {
        return T(x);
    }
}

// The element as a type with < and ==.
template <class T>
auto comparable(T x) {
    if constexpr (kIsHalf<T>) {
        return to_float(x);
    } else {
        return x;
    }
}

// Of comparable ones: a NaN exceeds, and is below, every number; nothing exceeds or is below a NaN.
template <class Comparable>
bool exceeds(Comparable x, Comparable y) {
    return x > y || (x != x && y == y);
}
template <class Comparable>
bool is_below(Comparable x, Comparable y) {
    return x < y || (x != x && y == y);
}

// -infinity and infinity; the least and the largest number of integer types.
template <class T>
T type_limit(bool lowest) {
    if constexpr (std::is_same_v<T, Float16>) {
        return {uint16_t(lowest ? 0xfc00 : 0x7c00)};
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return {uint16_t(lowest ? 0xff80 : 0x7f80)};
    } else if constexpr (std::is_floating_point_v<T>) {
        return lowest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    } else {
        return lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    }
}

struct Moments {
    double mean;
    double variance;
};
template <class T>
Moments moments(const T* x, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += widen(x[i]);
    }
    const double mean = sum / double(count);
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double delta = widen(x[i]) - mean;
        squares += delta * delta;
    }
    return {mean, squares / double(count)};
}

template <class T>
struct ElementType {
    using type = T;
};

// f(ElementType<T>()) for the floating type `dtype`; inference has checked that it is one.
template <class F>
Status dispatch_float(DType dtype, F&& f) {
    switch (dtype) {
        case DType::kFloat32:
            return f(ElementType<float>());
        case DType::kFloat64:
            return f(ElementType<double>());
        case DType::kFloat16:
            return f(ElementType<Float16>());
        case DType::kBfloat16:
            return f(ElementType<BFloat16>());
        default:
            return unsupported("no reference kernel for element type {}", name_of(dtype));
    }
}

// The same for floating types and all integers.
template <class F>
Status dispatch_number(DType dtype, F&& f) {
    switch (dtype) {
        case DType::kInt8:
            return f(ElementType<int8_t>());
        case DType::kInt16:
            return f(ElementType<int16_t>());
        case DType::kInt32:
            return f(ElementType<int32_t>());
        case DType::kInt64:
            return f(ElementType<int64_t>());
        case DType::kUint8:
            return f(ElementType<uint8_t>());
        case DType::kUint16:
            return f(ElementType<uint16_t>());
        case DType::kUint32:
            return f(ElementType<uint32_t>());
        case DType::kUint64:
            return f(ElementType<uint64_t>());
        default:
            return dispatch_float(dtype, std::forward<F>(f));
    }
}

}  // namespace leat
