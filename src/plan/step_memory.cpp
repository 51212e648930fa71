#include "plan/step_memory.h"

#include <algorithm>
#include <span>

#include "plan/value_views.h"

namespace leat {
namespace {

// Element by element, of output 0.
bool lies_as_output(const PlanWork& work, const PlanStep& step, int32_t input) {
    const TensorArg& from = work.inputs_of(step)[size_t(input)];
    const TensorArg& to = work.outputs_of(step)[0];
    return from.dtype == to.dtype && from.dtype != DType::kString && from.shape == to.shape &&
           same_memory_order(from.shape, from.strides, to.strides);
}

bool is_epilogue_operand(const NodeData& node, int32_t input) {
    return std::any_of(node.epilogue.begin(), node.epilogue.end(),
                       [input](const EpilogueStep& step) { return step.operand_input == input; });
}

// As far as the kernel is concerned.
bool may_run_in_place(const PlanWork& work, const PlanStep& step, int32_t input) {
    const NodeData& node = *step.node;
    const bool allowed = input < 32 && ((node.def->in_place_inputs >> input) & 1U) != 0;
    const bool operand_of_epilogue =
        step.kernel->epilogue_in_place && is_epilogue_operand(node, input);
    if (!step.kernel->allows_in_place || (!allowed && !operand_of_epilogue)) {
        return false;
    }
    return lies_as_output(work, step, input);
}

// Values on the device, and that of the host that a transfer reads or writes.
MemoryStep describe_device_step(const PlanWork& work,
                                const IdVector<ValueId, bool>& known,
                                const PlanStep& step) {
    const DeviceUse& use = work.use_of(step);
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
    if (work.devices.memory_of(use).is_arena && !step.is_transfer) {
        described.inside = use.inside;
        for (const int32_t value : use.transients) {
            described.writes.push_back(value);
        }
    }
    if (step.is_transfer && step.input_count > 0) {
        const ValueId value = step.node->inputs[0];
        if (!known[value]) {
            described.reads.push_back(value.index);
        }
    } else if (step.is_transfer) {
        described.writes.push_back(step.node->outputs[0].index);
    }
    return described;
}

// A value that no step touches takes no place.
MemoryValue memory_value_of(ValueId id, const PlanFacts& facts, const DescribedValues& values) {
    MemoryValue value;
    const TensorArg* arg = values.find(id);
    value.is_placed =
        !facts.known[id] && (arg == nullptr || (arg->dtype != DType::kString && !arg->grows));
    if (arg == nullptr || !value.is_placed) {
        value.size_bytes = value.is_placed ? 0 : 1;
    } else {
        value.size_bytes = arg->byte_count();
    }
    return value;
}

// Outside of the arena its uses order steps, and its place is the device's.
void add_device_value(const DeviceValue& value,
                      const DeviceMemory& memory,
                      bool is_serial,
                      MemoryProblem& problem) {
    MemoryValue& own = problem.values.emplace_back();
    own.is_placed = memory.is_arena;
    own.size_bytes = own.is_placed ? value.size_bytes : 1;
    own.is_kept = own.is_placed && is_serial;
    if (own.is_placed) {
        problem.alignment_bytes = std::max(problem.alignment_bytes, value.alignment_bytes);
    }
}

}  // namespace

MemoryStep describe_step(const PlanWork& work,
                         const IdVector<ValueId, bool>& known,
                         const PlanStep& step) {
    if (step.device != nullptr) {
        return describe_device_step(work, known, step);
    }
    const NodeData& node = *step.node;
    MemoryStep described;
    described.reads.reserve(size_t(step.input_count));
    for (int32_t i = 0; i < step.input_count; ++i) {
        const ValueId id = node.inputs[size_t(i)];
        if (id.valid() && !known[id]) {
            described.reads.push_back(id.index);
            if (may_run_in_place(work, step, i)) {
                described.in_place.push_back(id.index);
            }
        }
    }
    for (int32_t i = 0; i < step.output_count; ++i) {
        if (work.outputs_of(step)[size_t(i)].present()) {
            described.writes.push_back(node.outputs[size_t(i)].index);
        }
    }
    const std::span<const TensorArg> inputs = work.inputs_of(step);
    for (const ContiguousBox& box : contiguous_boxes(node, inputs, work.outputs_of(step))) {
        const int32_t input = node.inputs[size_t(box.input)].index;
        if (known[node.inputs[size_t(box.input)]]) {
            described.views.clear();  // constants lie elsewhere: their elements are copied
            break;
        }
        const int32_t output = node.outputs[size_t(box.output)].index;
        const int64_t offset = box.element_offset * (bits_of(inputs[size_t(box.input)].dtype) / 8);
        described.views.push_back(box.is_output_whole ? ValueView{input, output, offset}
                                                      : ValueView{output, input, offset});
    }
    return described;
}

void describe_memory(const PlanContext& context,
                     const PlanFacts& facts,
                     const DescribedValues& values,
                     const PlanWork& work,
                     MemoryProblem& problem) {
    const GraphData& graph = context.graph();
    const DevicePlan& devices = work.devices;
    problem.values.reserve(graph.values.size() + devices.values.size() + work.own_memories.size());
    for (ValueId id{0}; size_t(id.index) < graph.values.size(); ++id.index) {
        const bool is_off_host = !devices.is_off_host.empty() && devices.is_off_host[id];
        problem.values.push_back(is_off_host ? MemoryValue{.size_bytes = 1, .is_placed = false}
                                             : memory_value_of(id, facts, values));
        problem.values.back().is_kept = context.options.runs_serially;
    }
    for (const ValueId id : graph.inputs) {
        problem.values[size_t(id.index)].is_placed = false;
    }
    for (const ValueId id : graph.outputs) {
        problem.values[size_t(id.index)].is_kept = true;
    }
    for (const DeviceMemory& memory : devices.memories) {
        if (memory.is_arena) {
            problem.alignment_bytes =
                std::max(problem.alignment_bytes, memory.part->domain().alignment_bytes);
        }
    }
    for (const DeviceValue& value : devices.values) {
        add_device_value(value, devices.memories[size_t(value.memory)],
                         context.options.runs_serially, problem);
    }
    for (const OwnMemory& memory : work.own_memories) {
        problem.values.push_back({.size_bytes = memory.size_bytes});
    }
    problem.steps.reserve(work.steps.size());
    for (const PlanStep& step : work.steps) {
        problem.steps.push_back(describe_step(work, facts.known, step));
        if (step.own_memory >= 0) {
            problem.steps.back().writes.push_back(work.value_of_own_memory(graph, step.own_memory));
        }
    }
}

}  // namespace leat
