#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/axis_map_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/resize/resize.h"

namespace leat {
namespace vulkan {
namespace {

// Tables of an index and a weight for each tap of each axis, beside the tensors themselves.
constexpr int64_t kTableLimit = int64_t{1} << 24;

std::string refuse_resize(const NodeData& node, const KernelTypes& types) {
    const DType dtype = types.inputs[0];
    const Result<ResizeMode> mode = resize_mode(node);
    if (mode.ok() && *mode != ResizeMode::kNearest &&
        !contains(kNumericTypes | dtype_bit(DType::kBool), dtype)) {
        return fmt::format("no interpolation of {} elements", name_of(dtype));
    }
    return movement_refusal(dtype);
}

// By axis; axes that stay have none.
using AllTaps = std::vector<std::optional<ResizeTaps>>;

Result<AllTaps> all_taps(const NodeData& node,
                         ResizeMode mode,
                         const std::vector<ResizeAxis>& axes) {
    AllTaps taps(axes.size());
    int64_t entries = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
        if (!axes[i].is_identity()) {
            taps[i] = resize_taps(node, mode, axes[i]);
            entries += int64_t(taps[i]->indices.size());
        }
    }
    if (entries >= kTableLimit) {
        return unsupported("a table of {} taps", entries).with_needed("less than 2^24");
    }
    return taps;
}

bool is_extrapolated(const ResizeTaps& taps, size_t index) {
    return !taps.extrapolated.empty() && taps.extrapolated[index] != 0;
}

// What stands where x does not reach. Types without a number have zeros, as has x then.
float extrapolation_value(const NodeData& node, DType dtype) {
    const float value = node.attr("extrapolation_value", 0.0F);
    // It is truncated where the result of an interpolation is rounded.
    return contains(kFloatTypes, dtype) ? value : std::trunc(value);
}

Status write_nearest(const KernelNode& node, KernelWriter& writer, const AllTaps& taps) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    std::vector<AxisMap> axes;
    axes.reserve(taps.size());
    for (size_t i = 0; i < taps.size(); ++i) {
        AxisMap& axis = axes.emplace_back();
        axis.y_extent = y.shape[int(i)];
        axis.x_extent = x.shape[int(i)];
        axis.x_stride = x.strides[i];
        if (!taps[i]) {
            continue;
        }
        axis.mode = AxisMode::kTable;
        for (size_t k = 0; k < taps[i]->indices.size(); ++k) {
            axis.table.push_back(is_extrapolated(*taps[i], k) ? -1 : int32_t(taps[i]->indices[k]));
        }
    }
    MapValue value;
    if (contains(kNumericTypes | dtype_bit(DType::kBool), y.dtype)) {
        store_real(y.dtype, reinterpret_cast<std::byte*>(value.bits.data()), 0,
                   node.node.attr("extrapolation_value", 0.0F));
    }
    return write_axis_map(writer, x.dtype, axes, input_ref(0), output_ref(0), value);
}

// As in resize.comp, before the taps.
struct ResizeHeader {
    std::array<uint32_t, kMaxRank> y_extents{};
    std::array<uint32_t, kMaxRank> x_strides{};
    std::array<uint32_t, kMaxRank> tap_counts{};
    std::array<uint32_t, kMaxRank> tap_begins{};
};

// The kernel's axes: neighbours without taps are one.
struct Interpolation {
    ResizeHeader header;
    uint32_t rank = 0;
    int64_t taps_of_element = 1;
    std::vector<int32_t> indices;
    std::vector<double> weights;
};

void append_taps(const ResizeTaps& taps, Interpolation& result) {
    result.header.tap_counts[result.rank] = uint32_t(taps.count);
    result.header.tap_begins[result.rank] = uint32_t(result.indices.size());
    result.taps_of_element *= taps.count;
    for (size_t i = 0; i < taps.indices.size(); ++i) {
        const auto count = size_t(taps.count);
        const bool is_outside = i % count == 0 && is_extrapolated(taps, i / count);
        result.indices.push_back(is_outside ? -1 : int32_t(taps.indices[i]));
    }
    result.weights.insert(result.weights.end(), taps.weights.begin(), taps.weights.end());
}

Interpolation interpolation_of(const KernelNode& node, const AllTaps& taps) {
    Interpolation result;
    bool follows_whole_axis = false;
    for (size_t i = 0; i < taps.size(); ++i) {
        const auto extent = uint32_t(node.outputs[0].shape[int(i)]);
        if (!taps[i] && follows_whole_axis) {
            --result.rank;
            result.header.y_extents[result.rank] *= extent;
        } else {
            result.header.y_extents[result.rank] = extent;
        }
        result.header.x_strides[result.rank] = uint32_t(node.inputs[0].strides[i]);
        if (taps[i]) {
            append_taps(*taps[i], result);
        }
        follows_whole_axis = !taps[i];
        ++result.rank;
    }
    return result;
}

// The kernel's parameters; `weights_begin` is in elements of T from their begin.
template <class T>
std::vector<std::byte> parameters_of(const Interpolation& from, uint32_t& weights_begin) {
    const size_t indices_bytes = from.indices.size() * sizeof(int32_t);
    const size_t begin = (sizeof(ResizeHeader) + indices_bytes + sizeof(T) - 1) / sizeof(T);
    const size_t begin_bytes = begin * sizeof(T);
    const std::vector<T> weights(from.weights.begin(), from.weights.end());
    std::vector<std::byte> bytes(begin_bytes + weights.size() * sizeof(T));
    std::memcpy(bytes.data(), &from.header, sizeof(ResizeHeader));
    if (!weights.empty()) {
        std::memcpy(bytes.data() + sizeof(ResizeHeader), from.indices.data(), indices_bytes);
        std::memcpy(bytes.data() + begin_bytes, weights.data(), weights.size() * sizeof(T));
    }
    weights_begin = uint32_t(begin);
    return bytes;
}

Status write_interpolation(const KernelNode& node,
                           KernelWriter& writer,
                           const Interpolation& from) {
    const DType dtype = node.inputs[0].dtype;
    const int64_t count = node.outputs[0].shape.element_count();
    if (std::max(count, node.inputs[0].shape.element_count()) >= kMovementCountLimit) {
        return unsupported("{} elements", count).with_needed("less than 2^31");
    }
    // Sums of f16 and bf16 in f32 would be rounded twice, which the last bit shows.
    const bool is_narrow = dtype == DType::kFloat32;
    KernelDispatch dispatch;
    dispatch.shader = {is_narrow ? "resize" : "resize_wide", {kMovementWorkgroup, uint32_t(dtype)}};
    const int64_t iterations = loop_iterations(from.taps_of_element, loop_iterations(from.rank));
    LEAT_ASSIGN_OR_RETURN(
        dispatch.groups, groups_with_loops(count, kMovementWorkgroup, iterations, writer.limits()));
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0)};
    const float value = extrapolation_value(node.node, dtype);
    dispatch.scalars = {uint32_t(count), from.rank, uint32_t(from.taps_of_element)};
    std::memcpy(&dispatch.scalars[3], &value, sizeof(value));
    const std::vector<std::byte> parameters =
        is_narrow ? parameters_of<float>(from, dispatch.scalars[4])
                  : parameters_of<double>(from, dispatch.scalars[4]);
    dispatch.parameters = parameters;
    return writer.dispatch(dispatch);
}

Status write_resize(const KernelNode& node, KernelWriter& writer) {
    LEAT_ASSIGN_OR_RETURN(const ResizeMode mode, resize_mode(node.node));
    LEAT_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                          resize_axes_of(node.node, node.inputs));
    if (node.outputs[0].shape.element_count() == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const AllTaps taps, all_taps(node.node, mode, axes));
    const bool is_copy =
        std::none_of(taps.begin(), taps.end(), [](const auto& axis) { return axis.has_value(); });
    if (is_copy) {
        return write_whole_copy(node, writer);
    }
    return mode == ResizeMode::kNearest
               ? write_nearest(node, writer, taps)
               : write_interpolation(node, writer, interpolation_of(node, taps));
}

constexpr uint32_t kRoiOnHost = 0b10;
constexpr KernelEntry kResizeVulkanKernels[] = {
    {"Resize", refuse_resize, write_resize, kRoiOnHost}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> resize_vulkan_kernels() {
    return vulkan::kResizeVulkanKernels;
}

}  // namespace leat
