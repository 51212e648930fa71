// Unary functions of float vectors, for the element-wise kernels and for the epilogues of others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "leat/graph.h"

namespace leat {

// y[i] = f(x[i]) for i in [0, n). y may be x, else no overlap; any alignment; n >= 0. An element's
// result does not depend on n or on its place.
using UnaryF32 = void (*)(const float* x, float* y, int64_t n, const float* params);

struct UnaryF32Function {
    UnaryF32 call = nullptr;
    float params[4] = {};  // passed to call
    double ns_per_element = 0.1;

    void operator()(const float* x, float* y, int64_t n) const { call(x, y, n, params); }
};

// The function of a unary operator (or of Clip with float attributes "min" and "max"), for the best
// instruction set of this machine; nullopt if there is none.
std::optional<UnaryF32Function> find_unary_f32(std::string_view op_type,
                                               const Attributes& attributes);

}  // namespace leat
