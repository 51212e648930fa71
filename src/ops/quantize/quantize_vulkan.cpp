#include <algorithm>

#include "base/error.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/quantize/quantize.h"

namespace leat {
namespace vulkan {
namespace {

constexpr DTypeSet kReals = dtype_set(DType::kFloat16, DType::kBfloat16, DType::kFloat32);
constexpr DTypeSet kScales = kReals | dtype_set(DType::kFloat8E8M0);
constexpr DTypeSet kBytesAndPairs = kQuantizedTypes & ~kPackedIntegerTypes & ~kPackedFloatTypes;
// Of the ranges that one invocation joins in the end.
constexpr int64_t kMostRangeGroups = 64;

std::string refuse_type(const char* what, DType dtype, DTypeSet allowed) {
    return contains(allowed, dtype) ? std::string()
                                    : fmt::format("{} of type {}", what, name_of(dtype));
}

std::string refuse_quantize(const NodeData& node, const KernelTypes& types) {
    const DType x = types.inputs[0];
    const DType precision = quotient_type(node, types.inputs[1]);
    std::string reason = refuse_type("x", x, kReals | dtype_bit(DType::kInt32));
    if (reason.empty()) {
        reason = refuse_type("scales", types.inputs[1], kScales);
    }
    if (reason.empty()) {
        reason = refuse_type("quotients", precision, kReals);
    }
    if (reason.empty() && x == DType::kInt32 && precision != DType::kFloat32) {
        reason = "i32 that are rounded to a 16-bit type";
    }
    return reason.empty() ? refuse_type("y", types.outputs[0], kBytesAndPairs) : reason;
}

std::string refuse_dequantize(const NodeData& /*node*/, const KernelTypes& types) {
    std::string reason =
        refuse_type("x", types.inputs[0], kBytesAndPairs | dtype_bit(DType::kInt32));
    if (reason.empty()) {
        reason = refuse_type("scales", types.inputs[1], kScales);
    }
    return reason.empty() ? refuse_type("y", types.outputs[0], kReals) : reason;
}

Status check_count(int64_t count) {
    return count < kMovementCountLimit
               ? Status()
               : unsupported("quantization of {} elements", count).with_needed("less than 2^31");
}

// What the shader does with elements of these types.
struct QuantizeTypes {
    bool is_back = false;
    DType x = DType::kFloat32;
    DType scale = DType::kFloat32;
    DType y = DType::kUint8;
    DType precision = DType::kFloat32;
    bool saturates = true;  // 8-bit floats
};

KernelDispatch quantize_dispatch(const QuantizeTypes& types,
                                 const ScaleGrid& grid,
                                 int64_t count,
                                 const KernelLimits& limits) {
    KernelDispatch dispatch;
    dispatch.shader = {
        "quantize",
        {kMovementWorkgroup, types.is_back ? 1U : 0U, uint32_t(types.x), uint32_t(types.scale),
         uint32_t(types.y), uint32_t(types.precision), types.saturates ? 1U : 0U}};
    dispatch.groups = groups_for(count, kMovementWorkgroup, limits);
    dispatch.scalars = {uint32_t(count),
                        uint32_t(grid.kind),
                        uint32_t(grid.extent),
                        uint32_t(grid.inner),
                        uint32_t(grid.block),
                        uint32_t(grid.blocks),
                        0U};
    return dispatch;
}

Status write_quantize_node(const KernelNode& node, bool is_back, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& scale = node.inputs[1];
    const int64_t count = x.shape.element_count();
    if (count == 0) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_count(count));
    LEAT_ASSIGN_OR_RETURN(const ScaleGrid grid, ScaleGrid::make(node.node, x.shape, scale.shape));
    const DType precision = is_back ? DType::kFloat32 : quotient_type(node.node, scale.dtype);
    KernelDispatch dispatch =
        quantize_dispatch({is_back, x.dtype, scale.dtype, node.outputs[0].dtype, precision,
                           node.node.attr("saturate", int64_t{1}) != 0},
                          grid, count, writer.limits());
    const bool has_zero = find_arg(node.inputs, 2) != nullptr;
    dispatch.scalars[6] = has_zero ? 1 : 0;
    dispatch.reads = {input_ref(0), input_ref(1), input_ref(has_zero ? 2 : 1)};
    dispatch.writes = {output_ref(0)};
    return writer.dispatch(dispatch);
}

Status write_quantize(const KernelNode& node, KernelWriter& writer) {
    return write_quantize_node(node, false, writer);
}
Status write_dequantize(const KernelNode& node, KernelWriter& writer) {
    return write_quantize_node(node, true, writer);
}

// Ranges of invocations, their scale, and then the elements.
Status write_dynamic_quantize(const KernelNode& node, KernelWriter& writer) {
    const int64_t count = node.inputs[0].shape.element_count();
    LEAT_RETURN_IF_ERROR(check_count(count));
    const auto result = [&](int32_t i) {
        return find_arg(node.outputs, i) != nullptr ? output_ref(i) : writer.scratch(sizeof(float));
    };
    const OperandRef scale = result(1);
    const OperandRef zero = result(2);
    KernelLimits limits = writer.limits();
    if (!limits.is_cpu) {
        limits.max_groups[0] = uint32_t(kMostRangeGroups);
    }
    KernelDispatch ranges;
    LEAT_ASSIGN_OR_RETURN(ranges.groups, groups_with_loops(std::max<int64_t>(count, 1),
                                                           kMovementWorkgroup, 0, limits));
    const int64_t range_count = int64_t(ranges.groups[0]) * kMovementWorkgroup;
    const OperandRef joined = writer.scratch(range_count * 2 * int64_t{sizeof(float)});
    if (count == 0) {
        LEAT_RETURN_IF_ERROR(writer.fill(joined, range_count * 2 * int64_t{sizeof(float)}, 0));
    } else {
        ranges.shader = {"dynamic_range", {kMovementWorkgroup, 0}};
        ranges.reads = {input_ref(0)};
        ranges.writes = {joined};
        ranges.scalars = {uint32_t(count)};
        LEAT_RETURN_IF_ERROR(writer.dispatch(ranges));
    }
    // One invocation works, of a whole workgroup: with workgroups of one the validation layer
    // reports loads on Mesa's software device (22.3) that are right.
    KernelDispatch join;
    join.shader = {"dynamic_range", {kMovementWorkgroup, 1}};
    LEAT_ASSIGN_OR_RETURN(join.groups,
                          groups_with_loops(1, 1, loop_iterations(range_count), writer.limits()));
    join.reads = {joined};
    join.writes = {scale, zero};
    join.scalars = {uint32_t(range_count)};
    LEAT_RETURN_IF_ERROR(writer.dispatch(join));
    if (count == 0) {
        return {};
    }
    KernelDispatch elements = quantize_dispatch({}, {}, count, writer.limits());
    elements.scalars[6] = 1;
    elements.reads = {input_ref(0), scale, zero};
    elements.writes = {output_ref(0)};
    return writer.dispatch(elements);
}

constexpr KernelEntry kQuantizeVulkanKernels[] = {
    {"QuantizeLinear", refuse_quantize, write_quantize},
    {"DequantizeLinear", refuse_dequantize, write_dequantize},
    {"DynamicQuantizeLinear", refuse_nothing, write_dynamic_quantize}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> quantize_vulkan_kernels() {
    return vulkan::kQuantizeVulkanKernels;
}

}  // namespace leat
