#include "ops/reduce/row_kernel_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/round_up.h"
#include "ops/elementwise/element_access.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kElementLimit = int64_t{1} << 31;
// Shuffles combine floats alone.
constexpr DTypeSet kLaneTypes =
    dtype_bit(DType::kFloat32) | dtype_bit(DType::kFloat16) | dtype_bit(DType::kBfloat16);

// Whether a workgroup does a row rather than an invocation.
bool wants_lanes(const RowExtents& extents, const KernelLimits& limits) {
    if (extents.columns < int64_t(2) * limits.subgroup_size) {
        return false;
    }
    if (limits
            .is_cpu) {  // loads cost the same wherever they go: what counts is work for all threads
        return extents.rows < kWorkgroup;
    }
    // Rows that are dense are read by whole cache lines only with lanes.
    constexpr int64_t kManyRows = 1 << 15;
    return extents.is_dense || extents.rows < kManyRows;
}

int64_t row_iterations(const RowExtents& extents, int64_t columns, const KernelLimits& limits) {
    return extents.passes *
           loop_iterations(columns, extents.iterations + limits.attached_iterations);
}

// Of what lanes do together, over a subgroup and over the subgroups, for each of two results.
int64_t lane_iterations(uint32_t lanes, const KernelLimits& limits) {
    const int64_t steps = std::bit_width(limits.subgroup_size);
    const int64_t subgroups = divide_up(lanes, limits.subgroup_size);
    return 2 * (loop_iterations(steps) + loop_iterations(subgroups));
}

}  // namespace

std::string shader_variant(std::string_view stem, DType dtype) {
    return fmt::format("{}_{}", stem, dtype == DType::kBool ? "u8" : name_of(dtype));
}

std::string type_refusal(DType dtype, DTypeSet allowed) {
    return contains(allowed, dtype) ? std::string()
                                    : fmt::format("no kernel for elements {}", name_of(dtype));
}

std::string epilogue_refusal(const NodeData& node) {
    return node.epilogue.empty() ? std::string() : std::string("fused steps after the operator");
}

Status check_offsets(const KernelNode& node) {
    for (const std::span<const TensorArg> args : {node.inputs, node.outputs}) {
        for (const TensorArg& arg : args) {
            if (arg.present() && arg.shape.element_count() >= kElementLimit) {
                return unsupported("{}: an operand of {} elements", node.node.label(),
                                   arg.shape.element_count())
                    .with_needed("less than 2^31");
            }
        }
    }
    return {};
}

Result<RowWork> plan_rows(RowExtents extents, DType dtype, const KernelLimits& limits) {
    // exp and log of real_math.glsl are series in loops.
    constexpr int64_t kRealIterations = loop_iterations(14) + loop_iterations(10);
    extents.iterations += dtype == DType::kFloat64 ? kRealIterations : 0;
    RowWork work;
    const bool is_too_long =
        limits.is_cpu && row_iterations(extents, extents.columns, limits) > kMostIterations / 2;
    if (!contains(kLaneTypes, dtype) || !(wants_lanes(extents, limits) || is_too_long)) {
        work.constants = {kWorkgroup, 0, 0};
        LEAT_ASSIGN_OR_RETURN(
            work.groups,
            groups_with_loops(extents.rows, kWorkgroup,
                              row_iterations(extents, extents.columns, limits), limits));
        return work;
    }
    constexpr uint32_t kMostLanes = 256;
    const uint32_t most = std::min(kMostLanes, limits.max_workgroup_invocations);
    // On CPU devices a barrier costs more than it saves, so more lanes are for long rows alone.
    const int64_t elements_each =
        limits.is_cpu ? kMostIterations / 2 / row_iterations(extents, 1, limits) : int64_t{4};
    uint32_t lanes = limits.subgroup_size;
    while (lanes * 2 <= most && int64_t(lanes) * elements_each < extents.columns) {
        lanes *= 2;
    }
    // Devices with subgroups of several sizes may choose a smaller one than they report.
    const bool has_barrier = !limits.is_cpu || lanes > limits.subgroup_size;
    work.constants = {lanes, 1, has_barrier ? 1U : 0U};
    const int64_t share = divide_up(extents.columns, int64_t{lanes});
    const int64_t own = row_iterations(extents, share, limits) + lane_iterations(lanes, limits);
    LEAT_ASSIGN_OR_RETURN(work.groups, groups_with_loops(extents.rows, 1, own, limits));
    return work;
}

}  // namespace leat::vulkan
