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

template <class Op, class X, class Y>
HWY_INLINE void loop_over(const X& x, const Y& y, float* z, int64_t n) {
    const auto lanes = int64_t(hn::Lanes(kTag));
    int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        const V first = Op::apply(x.load(i), y.load(i));
        const V second = Op::apply(x.load(i + lanes), y.load(i + lanes));
        hn::StoreU(first, kTag, z + i);
        hn::StoreU(second, kTag, z + i + lanes);
    }
    for (; i + lanes <= n; i += lanes) {
        hn::StoreU(Op::apply(x.load(i), y.load(i)), kTag, z + i);
    }
    if (i < n) {
        store_some(Op::apply(x.load_some(i, n - i), y.load_some(i, n - i)), z + i, n - i);
    }
}

template <class Op>
void loop(const float* x, int64_t x_stride, const float* y, int64_t y_stride, float* z, int64_t n) {
    if (n <= 0) {
        return;
    }
    if (x_stride == 1 && y_stride == 1) {
        loop_over<Op>(Elements{x}, Elements{y}, z, n);
    } else if (x_stride == 1) {
        loop_over<Op>(Elements{x}, Repeated{hn::Set(kTag, *y)}, z, n);
    } else if (y_stride == 1) {
        loop_over<Op>(Repeated{hn::Set(kTag, *x)}, Elements{y}, z, n);
    } else {
        loop_over<Op>(Repeated{hn::Set(kTag, *x)}, Repeated{hn::Set(kTag, *y)}, z, n);
    }
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
