// Kernels that look each axis up on its own: y[i, j, ..] = x[map_0(i), map_1(j), ..], or a value
// where some map leaves x. The shader axis_map. Pad, Tile, Resize to the nearest element.
#pragma once

#include <vector>

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// How indices of y that lie outside of x are taken; numbers as in axis_map.comp.
enum class AxisMode : uint32_t { kConstant, kEdge, kReflect, kWrap, kTable };

// One axis: index i of y is index i - begin of x, or the table's element i, -1 for the value.
struct AxisMap {
    AxisMode mode = AxisMode::kConstant;
    int64_t y_extent = 1;
    int64_t x_extent = 1;
    int64_t x_stride = 0;  // in elements
    int64_t begin = 0;
    std::vector<int32_t> table = {};
};

// The value: one element of x's type, in memory or as bits.
struct MapValue {
    bool is_operand = false;
    OperandRef operand = {};
    std::array<uint32_t, 4> bits{};
};

// Axes outermost first, at most kMaxRank; y is dense. Nothing is written where y is empty.
// unsupported where y has 2^31 elements, or an axis of x 2^30.
Status write_axis_map(KernelWriter& writer,
                      DType dtype,
                      const std::vector<AxisMap>& axes,
                      OperandRef x,
                      OperandRef y,
                      const MapValue& value = {});

}  // namespace leat::vulkan
