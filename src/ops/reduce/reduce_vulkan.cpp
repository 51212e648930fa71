#include "ops/reduce/reduce_vulkan.h"

#include <fmt/core.h>

#include "base/error.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/slice/slice.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

constexpr DTypeSet kSumTypes = kFloatTypes | kWideIntTypes;
constexpr DTypeSet kExtremeTypes = kSumTypes | kByteTypes | dtype_bit(DType::kBool);

// Neighbouring axes of one kind are one, so 8 axes are at most 4 of each.
constexpr size_t kMaxGroups = kMaxRank / 2;

struct AxisGroups {
    std::array<uint32_t, kMaxGroups> extents{1, 1, 1, 1};
    std::array<uint32_t, kMaxGroups> strides{};
    uint32_t count = 0;

    // Appends an axis inside those before; extends the last one where they follow each other.
    void append(int64_t extent, int64_t stride) {
        if (count > 0 && int64_t(strides[count - 1]) == extent * stride) {
            extents[count - 1] *= uint32_t(extent);
            strides[count - 1] = uint32_t(stride);
            return;
        }
        extents[count] = uint32_t(extent);
        strides[count] = uint32_t(stride);
        ++count;
    }
    int64_t element_count() const {
        int64_t product = 1;
        for (const uint32_t extent : extents) {
            product *= extent;
        }
        return product;
    }
};

// As in reduce.comp.
struct ReduceProblem {
    uint32_t results = 0;
    uint32_t count = 0;
    uint32_t kept_axes = 0;
    uint32_t reduced_axes = 0;
    uint32_t has_bools = 0;
    std::array<uint32_t, kMaxGroups> kept_extents{};
    std::array<uint32_t, kMaxGroups> kept_strides{};
    std::array<uint32_t, kMaxGroups> reduced_extents{};
    std::array<uint32_t, kMaxGroups> reduced_strides{};
};

struct Axes {
    AxisGroups kept;
    AxisGroups reduced;

    static Axes make(const Shape& x, uint32_t mask) {
        Axes axes;
        for (int axis = 0; axis < x.rank(); ++axis) {
            if (x[axis] == 1) {
                continue;
            }
            AxisGroups& groups = (mask >> unsigned(axis) & 1U) != 0 ? axes.reduced : axes.kept;
            groups.append(x[axis], x.element_count(axis + 1, x.rank()));
        }
        return axes;
    }
};

bool is_extreme(ReduceKind kind) {
    return kind == ReduceKind::kMax || kind == ReduceKind::kMin;
}

std::string refuse_reduce(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    if (reason.empty()) {
        reason = type_refusal(types.inputs[0],
                              is_extreme(reduce_kind(node.op_type)) ? kExtremeTypes : kSumTypes);
    }
    return reason;
}

Result<uint32_t> axes_of(const KernelNode& node) {
    const auto axes = find_ints(node.inputs, 1);
    return reduced_axes(node.node, axes ? &*axes : nullptr, node.inputs[0].shape.rank());
}

Status write_reduce(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    if (node.outputs[0].shape.element_count() == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const uint32_t mask, axes_of(node));
    return write_reduction(node.inputs[0], mask, reduce_kind(node.node.op_type), writer);
}

constexpr KernelEntry kReduceVulkanKernels[] = {{"ReduceSum", refuse_reduce, write_reduce},
                                                {"ReduceMean", refuse_reduce, write_reduce},
                                                {"ReduceMax", refuse_reduce, write_reduce},
                                                {"ReduceMin", refuse_reduce, write_reduce},
                                                {"ReduceProd", refuse_reduce, write_reduce},
                                                {"ReduceL1", refuse_reduce, write_reduce},
                                                {"ReduceL2", refuse_reduce, write_reduce},
                                                {"ReduceLogSum", refuse_reduce, write_reduce},
                                                {"ReduceLogSumExp", refuse_reduce, write_reduce},
                                                {"ReduceSumSquare", refuse_reduce, write_reduce}};

}  // namespace

Status write_reduction(const TensorArg& x,
                       uint32_t axes_mask,
                       ReduceKind kind,
                       KernelWriter& writer) {
    const Axes axes = Axes::make(x.shape, axes_mask);
    const int64_t results = axes.kept.element_count();
    const int64_t count = x.shape.element_count() == 0 ? 0 : axes.reduced.element_count();
    const size_t last = axes.reduced.count == 0 ? 0 : axes.reduced.count - 1;
    const bool is_dense = axes.reduced.strides[last] <= 1;
    const RowExtents extents{results, count, is_dense, 2, loop_iterations(axes.reduced.count)};
    LEAT_ASSIGN_OR_RETURN(RowWork work, plan_rows(extents, x.dtype, writer.limits()));
    work.constants.push_back(uint32_t(kind));
    const ReduceProblem problem{uint32_t(results),
                                uint32_t(count),
                                axes.kept.count,
                                axes.reduced.count,
                                x.dtype == DType::kBool ? 1U : 0U,
                                axes.kept.extents,
                                axes.kept.strides,
                                axes.reduced.extents,
                                axes.reduced.strides};
    KernelDispatch dispatch;
    dispatch.shader = {shader_variant("reduce", x.dtype), std::move(work.constants)};
    dispatch.groups = work.groups;
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0)};
    dispatch.parameters = std::as_bytes(std::span(&problem, 1));
    return writer.dispatch(dispatch);
}

}  // namespace vulkan

std::span<const vulkan::KernelEntry> reduce_vulkan_kernels() {
    return vulkan::kReduceVulkanKernels;
}

}  // namespace leat
