#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "ops/pool/pool.h"
#include "ops/reduce/reduce_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"
#include "ops/window_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

std::string refuse_pool(const NodeData& node, const KernelTypes& types) {
    const DTypeSet allowed =
        node.op_type == "MaxPool" ? kFloatTypes | kByteTypes : DTypeSet{kFloatTypes};
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], allowed) : reason;
}

// Variants of pool_run.comp.
struct PoolRun {
    // Where rows have one element, as those of global pools, the other lanes of a run would idle.
    // Seven as in conv_run.glsl.
    uint32_t columns = 1;
    uint32_t stride = 0;  // of windows that are read as whole texels; 0: others

    std::string shader_name() const {
        return stride == 0 ? fmt::format("pool_run_{}", columns)
                           : fmt::format("pool_run_{}_stride{}", columns, stride);
    }
};

PoolRun run_of(const WindowParameters& window) {
    if (window.y_extents[2] == 1) {
        return {};
    }
    constexpr uint32_t kColumns = 7;
    const bool has_texels = window.taps[2] <= 3 && window.stride[2] <= 2 && window.dilation[2] == 1;
    return {kColumns, has_texels ? window.stride[2] : 0};
}

// Elements near the largest float have a sum that is none: as many of them as a window has taps are
// scaled by a power of two to what is less than one of them.
uint32_t average_scale_bits(const WindowGeometry& window) {
    return std::bit_cast<uint32_t>(
        std::ldexp(1.0F, -int(std::bit_width(uint64_t(window.kernel_count())))));
}

// Devices that are CPUs read texels faster (docs/measurements/vulkan.md). None where the kernel
// does not take the pool.
std::optional<KernelDispatch> runs_of(const TensorArg& x,
                                      const PoolGeometry& pool,
                                      const WindowParameters& window,
                                      const KernelLimits& limits) {
    if (!limits.is_cpu || x.dtype != DType::kFloat32 ||
        x.shape.element_count() > limits.max_window_texels) {
        return std::nullopt;
    }
    const PoolRun run = run_of(window);
    const int64_t planes = pool.batch * pool.channels;
    const int64_t rows = planes * window.y_extents[0] * window.y_extents[1];
    const int64_t runs = rows * ((window.y_extents[2] + run.columns - 1) / run.columns);
    const auto [d, h, w] = window.taps;
    const int64_t of_a_row = run.stride == 0 ? loop_iterations(w) : 0;
    const auto groups = groups_with_loops(runs, limits.subgroup_size,
                                          loop_iterations(d, loop_iterations(h, of_a_row)), limits);
    if (!groups.ok()) {
        return std::nullopt;
    }
    KernelDispatch dispatch;
    dispatch.shader = {run.shader_name(),
                       {limits.subgroup_size, pool.kind == PoolKind::kAverage ? 1U : 0U}};
    dispatch.shader.windows = 1;
    dispatch.shader.vector_windows = run.stride == 0 ? 0 : 1;
    dispatch.groups = *groups;
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0)};
    dispatch.scalars = {uint32_t(planes), pool.count_include_pad ? 1U : 0U,
                        average_scale_bits(pool.window)};
    dispatch.parameters = std::as_bytes(std::span(&window, 1));
    return dispatch;
}

bool is_global(const NodeData& node) {
    return node.op_type == "GlobalMaxPool" || node.op_type == "GlobalAveragePool";
}

// A global pool whose windows have more taps than an invocation may have iterations: lanes share
// each window as they share the rows of reductions.
Status reduce_planes(const TensorArg& x, PoolKind kind, KernelWriter& writer) {
    constexpr uint32_t kBatchAndChannels = 3;
    const uint32_t every_axis = (1U << uint32_t(x.shape.rank())) - 1;
    return write_reduction(x, every_axis & ~kBatchAndChannels,
                           kind == PoolKind::kAverage ? ReduceKind::kMean : ReduceKind::kMax,
                           writer);
}

Status write_pool(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    if (y.shape.element_count() == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const PoolGeometry pool, PoolGeometry::make(node.node, x.shape, y.shape));
    const Extents& extents = pool.window.input;
    const bool has_indices = find_arg(node.outputs, 1) != nullptr;
    const bool is_column_major = node.node.attr("storage_order", int64_t{0}) != 0;
    const Extents strides = is_column_major ? Extents{1, extents[0], extents[0] * extents[1]}
                                            : Extents{extents[1] * extents[2], extents[2], 1};
    const WindowParameters window = WindowParameters::make(pool.window);
    if (!has_indices) {
        if (std::optional<KernelDispatch> runs = runs_of(x, pool, window, writer.limits())) {
            const int64_t bytes = x.shape.element_count() * int64_t(sizeof(float));
            LEAT_RETURN_IF_ERROR(make_window(runs->reads[0], bytes, writer));
            return writer.dispatch(*runs);
        }
    }
    KernelDispatch dispatch;
    dispatch.shader = {shader_variant("pool", x.dtype),
                       {kWorkgroup, pool.kind == PoolKind::kAverage ? 1U : 0U}};
    const auto [d, h, w] = window.taps;
    const int64_t iterations = loop_iterations(d, loop_iterations(h, loop_iterations(w)));
    const auto groups =
        groups_with_loops(y.shape.element_count(), kWorkgroup, iterations, writer.limits());
    if (!groups.ok() && is_global(node.node)) {
        return reduce_planes(x, pool.kind, writer);
    }
    LEAT_ASSIGN_OR_RETURN(dispatch.groups, groups);
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0), output_ref(has_indices ? 1 : 0)};
    dispatch.scalars = {uint32_t(pool.batch * pool.channels),
                        has_indices ? 1U : 0U,
                        pool.count_include_pad ? 1U : 0U,
                        uint32_t(strides[0]),
                        uint32_t(strides[1]),
                        uint32_t(strides[2]),
                        average_scale_bits(pool.window)};
    dispatch.parameters = std::as_bytes(std::span(&window, 1));
    return writer.dispatch(dispatch);
}

constexpr KernelEntry kPoolVulkanKernels[] = {{"MaxPool", refuse_pool, write_pool},
                                              {"AveragePool", refuse_pool, write_pool},
                                              {"GlobalMaxPool", refuse_pool, write_pool},
                                              {"GlobalAveragePool", refuse_pool, write_pool}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> pool_vulkan_kernels() {
    return vulkan::kPoolVulkanKernels;
}

}  // namespace leat
