#include "ops/recurrent/recurrent_loops_cpu.h"

#include <cmath>
#include <limits>

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/recurrent/recurrent_loops_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

void add_product(const float* a, const float* b, float* y, int64_t n) {
    for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
        at.store(hn::MulAdd(at.load(a + i), at.load(b + i), at.load(y + i)), y + i);
    });
}

void next_cell(const float* i, const float* f, const float* g, float* c, int64_t n) {
    for_each_vector(n, [&](int64_t u, auto at) HWY_ATTR {
        const FloatVec entering = hn::Mul(at.load(i + u), at.load(g + u));
        at.store(hn::MulAdd(at.load(f + u), at.load(c + u), entering), c + u);
    });
}

void blend(const float* z, const float* next, float* h, int64_t n) {
    const FloatVec one = hn::Set(kFloats, 1.0F);
    for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
        const FloatVec kept = at.load(z + i);
        const FloatVec entering = hn::Mul(hn::Sub(one, kept), at.load(next + i));
        at.store(hn::MulAdd(kept, at.load(h + i), entering), h + i);
    });
}

void complement(const float* x, float* y, int64_t n) {
    const FloatVec one = hn::Set(kFloats, 1.0F);
    for_each_vector(
        n, [&](int64_t i, auto at) HWY_ATTR { at.store(hn::Sub(one, at.load(x + i)), y + i); });
}

void affine(const float* x, float* y, int64_t n, const float* params) {
    const FloatVec alpha = hn::Set(kFloats, params[0]);
    const FloatVec beta = hn::Set(kFloats, params[1]);
    for_each_vector(n, [&](int64_t i, auto at)
                           HWY_ATTR { at.store(hn::MulAdd(alpha, at.load(x + i), beta), y + i); });
}

void scaled_tanh(const float* x, float* y, int64_t n, const float* params) {
    const FloatVec alpha = hn::Set(kFloats, params[0]);
    const FloatVec beta = hn::Set(kFloats, params[1]);
    for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
        at.store(hn::Mul(alpha, tanh_f32(kFloats, hn::Mul(beta, at.load(x + i)))), y + i);
    });
}

}  // namespace

RecurrentLoops select_recurrent_loops() {
    return {add_product, next_cell, blend, complement};
}
UnaryF32 select_affine() {
    return affine;
}
UnaryF32 select_scaled_tanh() {
    return scaled_tanh;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_recurrent_loops);
HWY_EXPORT(select_affine);
HWY_EXPORT(select_scaled_tanh);

// Measured with AVX2 at 4 GHz, as those of the unary operators.
constexpr double kAffineNs = 0.06;
constexpr double kScaledTanhNs = 0.4;

}  // namespace

const RecurrentLoops& recurrent_loops() {
    static const RecurrentLoops kLoops = HWY_DYNAMIC_DISPATCH(select_recurrent_loops)();
    return kLoops;
}

UnaryF32Function gate_activation_f32(const GateActivation& activation) {
    UnaryF32Function function;
    if (activation.name == "Affine") {
        function.call = HWY_DYNAMIC_DISPATCH(select_affine)();
        function.ns_per_element = kAffineNs;
    } else if (activation.name == "ScaledTanh") {
        function.call = HWY_DYNAMIC_DISPATCH(select_scaled_tanh)();
        function.ns_per_element = kScaledTanhNs;
    } else {
        const std::optional<UnaryF32Function> found = find_unary_f32(activation.name, {});
        LEAT_CHECK(found.has_value(), "no function of floats for activation {}", activation.name);
        function = *found;
    }
    std::copy(activation.params.begin(), activation.params.end(), function.params);
    if (activation.name == "ThresholdedRelu") {  // x = alpha passes, other than in the operator
        function.params[0] =
            std::nextafter(function.params[0], -std::numeric_limits<float>::infinity());
    }
    return function;
}

}  // namespace leat
#endif  // HWY_ONCE
