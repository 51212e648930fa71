#include "ops/reduce/row_kernel_vulkan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/elementwise/element_access.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kWorkgroup = 64;
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

RowWork plan_rows(const RowExtents& extents, DType dtype, const KernelLimits& limits) {
    RowWork work;
    if (!contains(kLaneTypes, dtype) || !wants_lanes(extents, limits)) {
        work.constants = {kWorkgroup, 0, 0};
        work.groups = groups_for(extents.rows, kWorkgroup, limits);
        return work;
    }
    uint32_t lanes = limits.subgroup_size;
    if (!limits.is_cpu) {  // there a barrier costs more than it saves
        constexpr uint32_t kMostLanes = 256;
        constexpr int64_t kElementsEach = 4;
        const uint32_t most = std::min(kMostLanes, limits.max_workgroup_invocations);
        while (lanes * 2 <= most && int64_t(lanes) * kElementsEach < extents.columns) {
            lanes *= 2;
        }
    }
    // Devices with subgroups of several sizes may choose a smaller one than they report.
    work.constants = {lanes, 1, limits.is_cpu ? 0U : 1U};
    work.groups = groups_for(extents.rows, 1, limits);
    return work;
}

}  // namespace leat::vulkan
