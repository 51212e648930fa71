#include "plan/kernel_answers.h"

#include <algorithm>

#include "custom/custom_op_def.h"
#include "leat/scheduler/task_dag.h"

namespace leat {
namespace {

constexpr int64_t kMostTiles = scheduler::Task::kMaxTiles;
static_assert(OperatorKernel::kMostTiles == kMostTiles, "the promise of the public header");
// Twice what a custom kernel may ask for: it may need some for outputs that nobody reads.
constexpr int64_t kMostScratchBytes = 2 * OperatorKernel::kMostScratchBytes;

}  // namespace

Status SizeSum::add(const TypeInfo& type,
                    const std::optional<Shape>& shape,
                    std::string_view value) {
    // As MemoryPlanner has it.
    constexpr int64_t kMostBytes = int64_t{1} << 60;
    if (!shape || type.dtype == DType::kString) {
        return {};
    }
    const std::optional<int64_t> bytes = storage_bytes(type.dtype, shape->element_count());
    if (!bytes || *bytes > kMostBytes - bytes_) {
        return out_of_memory("the values are too large to be planned, from '{}' on", value)
            .with_found(type.to_string())
            .with_needed(fmt::format("at most {} bytes in all inputs and results", kMostBytes))
            .with_hint("use smaller shapes");
    }
    bytes_ += *bytes;
    return {};
}

Status check_kernel(const HostKernel& kernel) {
    if (kernel.tile_count < 0 || kernel.tile_count > kMostTiles) {
        return invalid_argument("its kernel divides the work into {} tiles", kernel.tile_count)
            .with_needed(fmt::format("0 to {}", kMostTiles));
    }
    if (kernel.scratch_bytes < 0 || kernel.scratch_bytes > kMostScratchBytes) {
        return invalid_argument("its kernel needs {} bytes of scratch memory for each thread",
                                kernel.scratch_bytes)
            .with_needed(fmt::format("0 to {}", kMostScratchBytes));
    }
    if (!(kernel.cost_ns >= 0 && kernel.cost_ns <= kMostEstimatedNs)) {
        return invalid_argument("its kernel is estimated to take {} ns", kernel.cost_ns)
            .with_needed(fmt::format("0 to {:g}", kMostEstimatedNs));
    }
    return {};
}

Result<Cost> checked_cost(const NodeData& node,
                          std::span<const TensorArg> inputs,
                          std::span<const TensorArg> outputs) {
    if (custom::find_custom(node.def) != nullptr) {
        return custom::checked_cost(node, inputs, outputs);
    }
    return node.def->cost(node, inputs, outputs);
}

Result<double> estimate_ns(const NodeData& node,
                           std::span<const TensorArg> inputs,
                           std::span<const TensorArg> outputs) {
    // One worker at 10 flops a nanosecond and 10 bytes a nanosecond: only small against large
    // matters.
    constexpr double kPerNs = 10;
    if (node.def->cost == nullptr) {
        double bytes = 0;
        for (const std::span<const TensorArg> side : {inputs, outputs}) {
            for (const TensorArg& arg : side) {
                bytes += double(arg.byte_count());
            }
        }
        return std::min(bytes / kPerNs, kMostEstimatedNs);
    }
    LEAT_ASSIGN_OR_RETURN(const Cost cost, checked_cost(node, inputs, outputs));
    return std::min(cost.flops / kPerNs + double(cost.bytes) / kPerNs, kMostEstimatedNs);
}

}  // namespace leat
