#include "ops/movement/axis_map_vulkan.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/movement/movement_vulkan.h"

namespace leat::vulkan {
namespace {

// Twice an extent is a period of kReflect.
constexpr int64_t kExtentLimit = int64_t{1} << 30;

// As in axis_map.comp, before the table.
struct MapHeader {
    std::array<uint32_t, kMaxRank> y_extents{};
    std::array<int32_t, kMaxRank> x_extents{};
    std::array<int32_t, kMaxRank> x_strides{};
    std::array<int32_t, kMaxRank> begins{};
    std::array<AxisMode, kMaxRank> modes{};
};

bool is_identity(const AxisMap& axis) {
    return axis.mode != AxisMode::kTable && axis.begin == 0 && axis.y_extent == axis.x_extent;
}

// Neighbours that y takes as they are become one axis.
std::vector<AxisMap> merged(const std::vector<AxisMap>& axes) {
    std::vector<AxisMap> result;
    result.reserve(axes.size());
    for (const AxisMap& axis : axes) {
        if (!result.empty() && is_identity(result.back()) && is_identity(axis) &&
            result.back().x_stride == axis.x_stride * axis.x_extent) {
            const int64_t extent = result.back().x_extent * axis.x_extent;
            result.back() = {axis.mode, extent, extent, axis.x_stride};
        } else {
            result.push_back(axis);
        }
    }
    return result;
}

Status check_extents(const std::vector<AxisMap>& axes) {
    for (const AxisMap& axis : axes) {
        if (axis.x_extent >= kExtentLimit || axis.begin <= -kExtentLimit ||
            axis.begin >= kExtentLimit) {
            return unsupported("an axis of {} elements that begins at {}", axis.x_extent,
                               axis.begin)
                .with_needed("less than 2^30");
        }
    }
    return {};
}

std::vector<std::byte> parameters_of(const std::vector<AxisMap>& axes) {
    MapHeader header;
    std::vector<int32_t> table;
    for (size_t i = 0; i < axes.size(); ++i) {
        const AxisMap& axis = axes[i];
        header.y_extents[i] = uint32_t(axis.y_extent);
        header.x_extents[i] = int32_t(axis.x_extent);
        header.x_strides[i] = int32_t(axis.x_stride);
        header.modes[i] = axis.mode;
        header.begins[i] =
            axis.mode == AxisMode::kTable ? int32_t(table.size()) : int32_t(axis.begin);
        table.insert(table.end(), axis.table.begin(), axis.table.end());
    }
    std::vector<std::byte> bytes(sizeof(header) + table.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (!table.empty()) {
        std::memcpy(bytes.data() + sizeof(header), table.data(), table.size() * sizeof(int32_t));
    }
    return bytes;
}

}  // namespace

Status write_axis_map(KernelWriter& writer,
                      DType dtype,
                      const std::vector<AxisMap>& all_axes,
                      OperandRef x,
                      OperandRef y,
                      const MapValue& value) {
    const std::vector<AxisMap> axes = merged(all_axes);
    int64_t count = 1;
    for (const AxisMap& axis : axes) {
        count *= axis.y_extent;
    }
    if (count == 0) {
        return {};
    }
    if (axes.empty() || (axes.size() == 1 && is_identity(axes[0]))) {
        return writer.copy(x, y, count * (bits_of(dtype) / 8));
    }
    LEAT_RETURN_IF_ERROR(check_extents(axes));
    LEAT_ASSIGN_OR_RETURN(KernelDispatch dispatch,
                          movement_dispatch(writer, "axis_map", bits_of(dtype), count));
    // What is not there is replaced by y, and nobody reads it.
    const bool is_x_empty = std::any_of(axes.begin(), axes.end(),
                                        [](const AxisMap& axis) { return axis.x_extent == 0; });
    dispatch.reads = {is_x_empty ? y : x, value.is_operand ? value.operand : y};
    dispatch.writes = {y};
    dispatch.scalars[1] = uint32_t(axes.size());
    dispatch.scalars[2] = value.is_operand ? 1 : 0;
    for (size_t i = 0; i < value.bits.size(); ++i) {
        dispatch.scalars[3 + i] = value.bits[i];
    }
    const std::vector<std::byte> parameters = parameters_of(axes);
    dispatch.parameters = parameters;
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
