#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/gather/gather.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/scatter/scatter.h"

namespace leat {
namespace vulkan {
namespace {

struct Lines {
    std::array<uint32_t, kMaxRank> extents{};
    std::array<int32_t, kMaxRank> y_strides{};
    std::array<int32_t, kMaxRank> update_strides{};
    std::array<int32_t, kMaxRank> indexed_extents{};
    std::array<int32_t, kMaxRank> indexed_strides{};
};

// Lines that share no element of y, and what each does step by step.
struct ScatterLoop {
    Lines lines;
    int64_t line_count = 0;
    int rank = 0;
    int64_t steps = 0;
    int64_t updates_by_step = 0;
    int64_t indices_by_step = 0;
    bool indices_follow_updates = false;
    int depth = 1;
};

std::string refuse_scatter(const NodeData& node, const KernelTypes& types) {
    const DType dtype = types.inputs[0];
    if (scatter_reduction(node) != ScatterReduction::kNone &&
        !contains(kNumericTypes | dtype_bit(DType::kBool), dtype)) {
        return fmt::format("no reductions of {} elements", name_of(dtype));
    }
    return movement_refusal(dtype);
}

Status write_scatter(const KernelNode& node, KernelWriter& writer, const ScatterLoop& loop) {
    LEAT_RETURN_IF_ERROR(write_whole_copy(node, writer));
    const TensorArg& y = node.outputs[0];
    const int64_t updates = node.inputs[2].shape.element_count();
    if (y.shape.element_count() == 0 || updates == 0) {
        return {};
    }
    if (y.shape.element_count() >= kMovementCountLimit || updates >= kMovementCountLimit) {
        return unsupported("{} updates of {} elements", updates, y.shape.element_count())
            .with_needed("less than 2^31");
    }
    const auto reduction = uint32_t(scatter_reduction(node.node));
    const DType type = reduction == 0 ? unsigned_of_width(y.dtype) : y.dtype;
    KernelDispatch dispatch;
    dispatch.shader = {reduction == 0 ? "scatter_replace" : "scatter_combine",
                       {kMovementWorkgroup, uint32_t(type), reduction}};
    LEAT_ASSIGN_OR_RETURN(
        dispatch.groups, groups_with_loops(loop.line_count, kMovementWorkgroup,
                                           loop_iterations(loop.steps, loop_iterations(loop.depth)),
                                           writer.limits()));
    dispatch.reads = {input_ref(1), input_ref(2)};
    const auto& extents = loop.lines.indexed_extents;
    dispatch.writes = {
        output_ref(0),
        writer.index_report({node.node.label(), {extents.begin(), extents.begin() + loop.depth}})};
    dispatch.scalars = {
        uint32_t(loop.line_count),      uint32_t(loop.rank),
        uint32_t(loop.steps),           uint32_t(loop.updates_by_step),
        uint32_t(loop.indices_by_step), loop.indices_follow_updates ? 1U : 0U,
        uint32_t(loop.depth),           node.inputs[1].dtype == DType::kInt32 ? 1U : 2U};
    dispatch.parameters = std::as_bytes(std::span(&loop.lines, 1));
    return writer.dispatch(dispatch);
}

// A line is everything along the axis.
Status write_scatter_elements(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& y = node.outputs[0];
    const TensorArg& updates = node.inputs[2];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, y.shape.rank()));
    ScatterLoop loop;
    loop.rank = y.shape.rank();
    loop.line_count = 1;
    for (int i = 0; i < loop.rank; ++i) {
        const auto at = size_t(i);
        const int64_t extent = i == axis ? 1 : updates.shape[i];
        loop.lines.extents[at] = uint32_t(extent);
        loop.lines.y_strides[at] = int32_t(y.strides[at]);
        loop.lines.update_strides[at] = int32_t(updates.strides[at]);
        loop.line_count *= extent;
    }
    loop.lines.indexed_extents[0] = int32_t(y.shape[axis]);
    loop.lines.indexed_strides[0] = int32_t(y.strides[size_t(axis)]);
    loop.steps = updates.shape[axis];
    loop.updates_by_step = updates.strides[size_t(axis)];
    loop.indices_by_step = loop.updates_by_step;
    loop.indices_follow_updates = true;
    return write_scatter(node, writer, loop);
}

// A line is one element of every slice.
Status write_scatter_nd(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& y = node.outputs[0];
    // batch_dims is no attribute here, so these are positions without batches.
    const GatherNdLoop positions = gather_nd_loop(node.node, y, node.inputs[1]);
    ScatterLoop loop;
    loop.rank = 1;
    loop.line_count = positions.slice;
    loop.lines.extents[0] = uint32_t(positions.slice);
    loop.lines.y_strides[0] = 1;
    loop.lines.update_strides[0] = 1;
    loop.steps = positions.picks;
    loop.updates_by_step = positions.slice;
    loop.indices_by_step = positions.depth;
    loop.depth = positions.depth;
    for (int i = 0; i < loop.depth; ++i) {
        loop.lines.indexed_extents[size_t(i)] = int32_t(y.shape[i]);
        loop.lines.indexed_strides[size_t(i)] = int32_t(y.strides[size_t(i)]);
    }
    return write_scatter(node, writer, loop);
}

constexpr KernelEntry kScatterVulkanKernels[] = {
    {"ScatterND", refuse_scatter, write_scatter_nd},
    {"ScatterElements", refuse_scatter, write_scatter_elements}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> scatter_vulkan_kernels() {
    return vulkan::kScatterVulkanKernels;
}

}  // namespace leat
