#include "plan/step_memory.h"

#include <algorithm>
#include <span>
#include <utility>

#include "plan/value_views.h"

namespace leat {
namespace {

// Element by element, of output 0.
bool lies_as_output(const Plan& plan, const PlanStep& step, int32_t input) {
    const TensorArg& from = plan.args[size_t(step.first_arg) + size_t(input)];
    const TensorArg& to = plan.output_arg(step, 0);
    return from.dtype == to.dtype && from.dtype != DType::kString && from.shape == to.shape &&
           same_memory_order(from.shape, from.strides, to.strides);
}

bool is_epilogue_operand(const NodeData& node, int32_t input) {
    return std::any_of(node.epilogue.begin(), node.epilogue.end(),
                       [input](const EpilogueStep& step) { return step.operand_input == input; });
}

// As far as the kernel is concerned.
bool may_run_in_place(const Plan& plan, const PlanStep& step, int32_t input) {
    const NodeData& node = *step.node;
    const bool allowed = input < 32 && ((node.def->in_place_inputs >> input) & 1U) != 0;
    const bool operand_of_epilogue =
        step.kernel->epilogue_in_place && is_epilogue_operand(node, input);
    if (!step.kernel->allows_in_place || (!allowed && !operand_of_epilogue)) {
        return false;
    }
    return lies_as_output(plan, step, input);
}

// Values on the device, and that of the host that a transfer reads or writes.
MemoryStep describe_device_step(const Plan& plan, const PlanStep& step) {
    const DeviceUse& use = plan.devices.uses[size_t(step.device_use)];
    MemoryStep described;
    for (const int32_t value : use.reads) {
        if (value >= 0) {
            described.reads.push_back(value);
        }
    }
    for (const int32_t value : use.writes) {
        described.writes.push_back(value);
    }
    for (const int32_t end : use.ends_before) {
        described.reads.push_back(end);
    }
    if (use.end >= 0) {
        described.writes.push_back(use.end);
    }
    if (plan.devices.memory_of(use).is_arena && !step.is_transfer) {
        described.inside = use.inside;
        for (const int32_t value : use.transients) {
            described.writes.push_back(value);
        }
    }
    if (step.is_transfer && step.input_count > 0) {
        const int32_t value = step.node->inputs[0].index;
        if (!plan.known[size_t(value)]) {
            described.reads.push_back(value);
        }
    } else if (step.is_transfer) {
        described.writes.push_back(step.node->outputs[0].index);
    }
    return described;
}

}  // namespace

MemoryStep describe_step(const Plan& plan, const PlanStep& step) {
    if (step.device != nullptr) {
        return describe_device_step(plan, step);
    }
    const NodeData& node = *step.node;
    MemoryStep described;
    described.reads.reserve(size_t(step.input_count));
    for (int32_t i = 0; i < step.input_count; ++i) {
        const ValueId id = node.inputs[size_t(i)];
        if (id.valid() && !plan.known[size_t(id.index)]) {
            described.reads.push_back(id.index);
            if (may_run_in_place(plan, step, i)) {
                described.in_place.push_back(id.index);
            }
        }
    }
    for (int32_t i = 0; i < step.output_count; ++i) {
        if (plan.output_arg(step, i).present()) {
            described.writes.push_back(node.outputs[size_t(i)].index);
        }
    }
    const std::span<const TensorArg> args = std::span(plan.args).subspan(size_t(step.first_arg));
    for (const ContiguousBox& box :
         contiguous_boxes(node, args.subspan(0, size_t(step.input_count)),
                          args.subspan(size_t(step.input_count), size_t(step.output_count)))) {
        const int32_t input = node.inputs[size_t(box.input)].index;
        const int32_t output = node.outputs[size_t(box.output)].index;
        const int64_t offset = box.element_offset * (bits_of(args[size_t(box.input)].dtype) / 8);
        described.views.push_back(box.is_output_whole ? ValueView{input, output, offset}
                                                      : ValueView{output, input, offset});
    }
    return described;
}

}  // namespace leat
