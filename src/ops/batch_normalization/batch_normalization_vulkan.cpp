#include <bit>

#include "base/error.h"
#include "ops/batch_normalization/batch_normalization.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

// As in batch_normalization.comp.
enum class Task : uint32_t { kApply, kApplyOwn, kMoments };
bool is_training(const NodeData& node) {
    return node.attr("training_mode", int64_t{0}) != 0;
}

std::string refuse_batch_normalization(const NodeData& node, const KernelTypes& types) {
    for (const DType dtype : types.inputs) {
        if (dtype != types.inputs[0]) {
            return "statistics or parameters of another type than X";
        }
    }
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

// What both tasks have in common.
KernelDispatch dispatch_of(const KernelNode& node, Task task) {
    const Shape& x = node.inputs[0].shape;
    const bool has_channels = x.rank() > 1;
    KernelDispatch dispatch;
    dispatch.shader = {shader_variant("batch_normalization", node.inputs[0].dtype),
                       {kWorkgroup, 0, 0, uint32_t(task)}};
    dispatch.scalars = {uint32_t(x[0]), uint32_t(has_channels ? x[1] : 1),
                        uint32_t(has_channels ? x.element_count(2, x.rank()) : 1),
                        std::bit_cast<uint32_t>(node.node.attr("epsilon", 1e-5F)),
                        std::bit_cast<uint32_t>(node.node.attr("momentum", 0.9F))};
    return dispatch;
}

// Mean and variance of each channel, in scratch.
struct Statistics {
    OperandRef mean;
    OperandRef variance;
};
Result<Statistics> write_moments(const KernelNode& node, KernelWriter& writer) {
    KernelDispatch dispatch = dispatch_of(node, Task::kMoments);
    const DType dtype = node.inputs[0].dtype;
    const int64_t channels = dispatch.scalars[1];
    const int64_t count = int64_t(dispatch.scalars[0]) * dispatch.scalars[2];
    const int64_t bytes =
        channels * int64_t(dtype == DType::kFloat64 ? sizeof(double) : sizeof(float));
    const Statistics statistics{writer.scratch(bytes), writer.scratch(bytes)};
    LEAT_ASSIGN_OR_RETURN(RowWork work, plan_rows({channels, count}, dtype, writer.limits()));
    work.constants.push_back(uint32_t(Task::kMoments));
    dispatch.shader.constants = std::move(work.constants);
    dispatch.groups = work.groups;
    dispatch.reads = {input_ref(0), input_ref(3), input_ref(4)};
    dispatch.writes = {statistics.mean, statistics.variance};
    for (int32_t i = 1; i <= 2; ++i) {
        const bool is_wanted = find_arg(node.outputs, i) != nullptr;
        dispatch.writes.push_back(is_wanted ? output_ref(i) : statistics.mean);
        dispatch.scalars[5] |= is_wanted ? 1U << unsigned(i - 1) : 0U;
    }
    LEAT_RETURN_IF_ERROR(writer.dispatch(dispatch));
    return statistics;
}

Status write_batch_normalization(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    if (node.inputs[1].shape.element_count() == 0) {
        return {};
    }
    const bool trains = is_training(node.node);
    Statistics statistics{input_ref(3), input_ref(4)};
    if (trains) {
        LEAT_ASSIGN_OR_RETURN(statistics, write_moments(node, writer));
    }
    const int64_t count = node.inputs[0].shape.element_count();
    if (count == 0) {
        return {};
    }
    KernelDispatch dispatch = dispatch_of(node, trains ? Task::kApplyOwn : Task::kApply);
    dispatch.groups = groups_for(count, kWorkgroup, writer.limits());
    dispatch.reads = {input_ref(0), input_ref(1), input_ref(2), statistics.mean,
                      statistics.variance};
    dispatch.writes = {output_ref(0)};
    return writer.dispatch(dispatch);
}

constexpr KernelEntry kBatchNormalizationVulkanKernels[] = {
    {"BatchNormalization", refuse_batch_normalization, write_batch_normalization}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> batch_normalization_vulkan_kernels() {
    return vulkan::kBatchNormalizationVulkanKernels;
}

}  // namespace leat
