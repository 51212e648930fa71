#include <utility>

#include "base/error.h"
#include "ops/gather/gather.h"
#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

// As in gather.comp and gather_elements.comp.
struct IndexedAxes {
    std::array<int32_t, kMaxRank> extents{};
    std::array<int32_t, kMaxRank> strides{};
};

uint32_t index_words(const TensorArg& indices) {
    return indices.dtype == DType::kInt32 ? 1 : 2;
}

// Positions in `indices`, which repeat where a loop has more of them.
Status write_positions(const KernelNode& node,
                       KernelWriter& writer,
                       const GatherNdLoop& loop,
                       int64_t held_positions) {
    const TensorArg& x = node.inputs[0];
    const int64_t count = node.outputs[0].shape.element_count();
    if (count == 0) {
        return {};
    }
    const int64_t element_bytes = bits_of(x.dtype) / 8;
    // All offsets are multiples of a slice.
    const int64_t slice_bytes[] = {loop.slice * element_bytes};
    const int bits = widest_bits(element_bytes, slice_bytes);
    const int64_t factor = bits / 8 / element_bytes;
    IndexedAxes axes;
    for (int i = 0; i < loop.depth; ++i) {
        const int axis = loop.first_axis + i;
        axes.extents[size_t(i)] = int32_t(x.shape[axis]);
        axes.strides[size_t(i)] = int32_t(x.strides[size_t(axis)] / factor);
    }
    if (x.shape.element_count() / factor >= kMovementCountLimit) {
        return unsupported("indices into {} elements", x.shape.element_count() / factor)
            .with_needed("less than 2^31");
    }
    LEAT_ASSIGN_OR_RETURN(KernelDispatch dispatch,
                          movement_dispatch(writer, "gather", bits, count / factor));
    IndexReport report{node.node.label(), {}};
    for (int i = 0; i < loop.depth; ++i) {
        report.extents.push_back(x.shape[loop.first_axis + i]);
    }
    dispatch.reads = {input_ref(0), input_ref(1)};
    dispatch.writes = {output_ref(0), writer.index_report(std::move(report))};
    dispatch.scalars[1] = uint32_t(loop.slice / factor);
    dispatch.scalars[2] = uint32_t(loop.picks);
    dispatch.scalars[3] = uint32_t(held_positions);
    dispatch.scalars[4] = uint32_t(loop.batch_elements / factor);
    dispatch.scalars[5] = uint32_t(loop.depth);
    dispatch.scalars[6] = index_words(node.inputs[1]);
    dispatch.parameters = std::as_bytes(std::span(&axes, 1));
    return writer.dispatch(dispatch);
}

// Each index of the axes before the gathered one is a batch of the same positions.
Status write_gather(const KernelNode& node, KernelWriter& writer) {
    const Shape& x = node.inputs[0].shape;
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, x.rank()));
    GatherNdLoop loop;
    loop.batches = x.element_count(0, axis);
    loop.batch_elements = x.element_count(axis, x.rank());
    loop.picks = node.inputs[1].shape.element_count();
    loop.depth = 1;
    loop.first_axis = axis;
    loop.slice = x.element_count(axis + 1, x.rank());
    return write_positions(node, writer, loop, loop.picks);
}

Status write_gather_nd(const KernelNode& node, KernelWriter& writer) {
    const GatherNdLoop loop = gather_nd_loop(node.node, node.inputs[0], node.inputs[1]);
    return write_positions(node, writer, loop, loop.batches * loop.picks);
}

Status write_gather_elements(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const Shape& shape = node.outputs[0].shape;
    const int64_t count = shape.element_count();
    if (count == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, x.shape.rank()));
    if (x.shape.element_count() >= kMovementCountLimit) {
        return unsupported("indices into {} elements", x.shape.element_count())
            .with_needed("less than 2^31");
    }
    IndexedAxes axes;
    for (int i = 0; i < shape.rank(); ++i) {
        axes.extents[size_t(i)] = int32_t(shape[i]);
        axes.strides[size_t(i)] = i == axis ? 0 : int32_t(x.strides[size_t(i)]);
    }
    LEAT_ASSIGN_OR_RETURN(KernelDispatch dispatch,
                          movement_dispatch(writer, "gather_elements", bits_of(x.dtype), count));
    dispatch.reads = {input_ref(0), input_ref(1)};
    dispatch.writes = {output_ref(0), writer.index_report({node.node.label(), {x.shape[axis]}})};
    dispatch.scalars[1] = uint32_t(shape.rank());
    dispatch.scalars[2] = uint32_t(x.shape[axis]);
    dispatch.scalars[3] = uint32_t(x.strides[size_t(axis)]);
    dispatch.scalars[4] = index_words(node.inputs[1]);
    dispatch.parameters = std::as_bytes(std::span(&axes, 1));
    return writer.dispatch(dispatch);
}

constexpr KernelEntry kGatherVulkanKernels[] = {
    {"Gather", refuse_immovable, write_gather},
    {"GatherElements", refuse_immovable, write_gather_elements},
    {"GatherND", refuse_immovable, write_gather_nd}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> gather_vulkan_kernels() {
    return vulkan::kGatherVulkanKernels;
}

}  // namespace leat
