// MaxPool, AveragePool, LpPool, GlobalMaxPool, GlobalAveragePool, GlobalLpPool over the spatial
// axes of x [n, c, spatial...].
//
// MaxPool-22: optional second output, i64: the flat index in x of each maximum (storage_order = 1:
// spatial
//   axes counted column-major). Of equal elements the first wins; the maximum of a window with a
//   NaN is NaN, and its index that of the first. AveragePool-22: count_include_pad = 0 divides by
//   the elements of x in the window, 1 by the positions inside the padded input. LpPool-22 and
//   GlobalLpPool-22: (sum of |x|^p)^(1/p) of the elements of x in the window, also where ceil_mode
//   cuts it off; p > 0, 2 by default. Version 1 has a fractional p: attribute kFractionalP. The
//   global ones give [n, c, 1...]. 1 to 3 spatial axes; windows: ops/window.h.
// Types: f16, bf16, f32, f64; MaxPool also i8, u8. The reference accumulates in double.
#pragma once

#include <string_view>

#include "graph/op_def.h"
#include "ops/window.h"

namespace leat {

enum class PoolKind : uint8_t { kMax, kAverage, kNorm };

// Attribute of LpPool and GlobalLpPool that only the upgrade of opset 1 sets: p, a float.
inline constexpr std::string_view kFractionalP = "leat.p";

// One pooling of fixed shapes; a global one has a window as large as the input.
struct PoolGeometry {
    PoolKind kind = PoolKind::kMax;
    WindowGeometry window;
    int64_t batch = 0;
    int64_t channels = 0;
    bool count_include_pad = false;
    double p = 2;  // of norms

    // x, y: logical shapes that inference accepted.
    static Result<PoolGeometry> make(const NodeData& node, const Shape& x, const Shape& y);
    // What an average over window (d, h, w) divides by is the product over its axes of this.
    int64_t axis_divisor(int axis, int64_t o) const;
    // Taps of window o along an axis that lie inside the input.
    IndexRange taps(int axis, int64_t o) const {
        const auto a = size_t(axis);
        return taps_inside(window.origin(axis, o), window.dilation[a], window.kernel[a],
                           window.input[a]);
    }
};

}  // namespace leat
