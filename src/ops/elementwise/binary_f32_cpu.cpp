#include <cstring>

#include "ops/elementwise/binary_f32.h"

#ifndef LEAT_BINARY_F32_ROW
#define LEAT_BINARY_F32_ROW
namespace leat {
struct BinaryF32Row {
    std::string_view name;
    BinaryF32 call;
};
}  // namespace leat
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/binary_f32_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kTag;

#define LEAT_BINARY_F32(name, expression)                          \
    struct name {                                                  \
        static HWY_INLINE V apply(V x, V y) { return expression; } \
    };
// Max and Min: a NaN in either operand is the result.
LEAT_BINARY_F32(Add, hn::Add(x, y))
LEAT_BINARY_F32(Div, hn::Div(x, y))
LEAT_BINARY_F32(Max, hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y))
LEAT_BINARY_F32(Min, hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y))
LEAT_BINARY_F32(Mul, hn::Mul(x, y))
LEAT_BINARY_F32(PRelu, hn::IfThenElse(hn::Lt(x, hn::Zero(kTag)), hn::Mul(x, y), x))
LEAT_BINARY_F32(Sub, hn::Sub(x, y))
#undef LEAT_BINARY_F32

// Loads of the operands of a vector at i, for one pair of strides.
struct Elements {
    const float* p;
    HWY_INLINE V load(int64_t i) const { return hn::LoadU(kTag, p + i); }
    HWY_INLINE V load_some(int64_t i, int64_t n) const {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
        return hn::MaskedLoad(hn::FirstN(kTag, size_t(n)), kTag, p + i);
#else  // masked memory access may touch all lanes
        HWY_ALIGN float buffer[hn::MaxLanes(kTag)] = {};
        std::memcpy(buffer, p + i, size_t(n) * sizeof(float));
        return hn::Load(kTag, buffer);
#endif
    }
};
struct Repeated {
    V value;
    HWY_INLINE V load(int64_t /*i*/) const { return value; }
    HWY_INLINE V load_some(int64_t /*i*/, int64_t /*n*/) const { return value; }
};

HWY_INLINE void store_some(V v, float* z, int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    hn::BlendedStore(v, hn::FirstN(kTag, size_t(n)), kTag, z);
#else
    HWY_ALIGN float buffer[hn::MaxLanes(kTag)];
    hn::Store(v, kTag, buffer);
    std::memcpy(z, buffer, size_t(n) * sizeof(float));
#endif
}

// kFull: the vectors that fill a row, but for a tail; -1: any number.
template <class Op, int kFull, bool kHasTail, class X, class Y>
HWY_INLINE void loop_over(const X& x, const Y& y, float* z, int64_t n) {
    const auto lanes = int64_t(hn::Lanes(kTag));
    int64_t i = 0;
    if constexpr (kFull < 0) {
        for (; i + 2 * lanes <= n; i += 2 * lanes) {
            const V first = Op::apply(x.load(i), y.load(i));
            const V second = Op::apply(x.load(i + lanes), y.load(i + lanes));
            hn::StoreU(first, kTag, z + i);
            hn::StoreU(second, kTag, z + i + lanes);
        }
    }
    for (; kFull < 0 ? i + lanes <= n : i < kFull * lanes; i += lanes) {
        hn::StoreU(Op::apply(x.load(i), y.load(i)), kTag, z + i);
    }
    if (kHasTail && i < n) {
        store_some(Op::apply(x.load_some(i, n - i), y.load_some(i, n - i)), z + i, n - i);
    }
}

// An operand's row as loop_over() reads it.
template <bool kRepeats>
HWY_INLINE auto row_of(const F32Rows& x, int64_t row) {
    const float* data = x.data + row * x.row_stride;
    if constexpr (kRepeats) {
        return Repeated{hn::Set(kTag, *data)};
    } else {
        return Elements{data};
    }
}

template <class Op, bool kXRepeats, bool kYRepeats, int kFull, bool kHasTail>
void loop_rows(
    const F32Rows& x, const F32Rows& y, float* z, int64_t z_stride, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) {
        loop_over<Op, kFull, kHasTail>(row_of<kXRepeats>(x, r), row_of<kYRepeats>(y, r),
                                       z + r * z_stride, n);
    }
}

// Rows of few vectors have loops of their own, which decide nothing in each row.
template <class Op, bool kXRepeats, bool kYRepeats>
BinaryF32 loop_for(int64_t rows, int64_t n) {
    const auto lanes = int64_t(hn::Lanes(kTag));
    const bool has_tail = n % lanes != 0;
    if constexpr (!kXRepeats || !kYRepeats) {
        if (rows > 1 && n < lanes) {
            return loop_rows<Op, kXRepeats, kYRepeats, 0, true>;
        }
        if (rows > 1 && n < 2 * lanes) {
            return has_tail ? loop_rows<Op, kXRepeats, kYRepeats, 1, true>
                            : loop_rows<Op, kXRepeats, kYRepeats, 1, false>;
        }
        if (rows > 1 && n == 2 * lanes) {
            return loop_rows<Op, kXRepeats, kYRepeats, 2, false>;
        }
    }
    return loop_rows<Op, kXRepeats, kYRepeats, -1, true>;
}

template <class Op>
void loop(const F32Rows& x, const F32Rows& y, float* z, int64_t z_stride, int64_t rows, int64_t n) {
    if (n <= 0) {
        return;
    }
    const BinaryF32 call =
        x.stride == 1
            ? (y.stride == 1 ? loop_for<Op, false, false> : loop_for<Op, false, true>)(rows, n)
            : (y.stride == 1 ? loop_for<Op, true, false> : loop_for<Op, true, true>)(rows, n);
    call(x, y, z, z_stride, rows, n);
}

}  // namespace

const BinaryF32Row* binary_rows() {
    static constexpr BinaryF32Row kRows[] = {
        {"Add", loop<Add>}, {"Div", loop<Div>},     {"Max", loop<Max>}, {"Min", loop<Min>},
        {"Mul", loop<Mul>}, {"PRelu", loop<PRelu>}, {"Sub", loop<Sub>}, {{}, nullptr},
    };
    return kRows;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {
HWY_EXPORT(binary_rows);
}

BinaryF32 find_binary_f32(std::string_view name) {
    const BinaryF32Row* row = HWY_DYNAMIC_DISPATCH(binary_rows)();
    while (row->call != nullptr && row->name != name) {
        ++row;
    }
    return row->call;
}

}  // namespace leat
#endif  // HWY_ONCE
