#include "backends/host_device/host_instance.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "backends/host_device/host_slab.h"
#include "backends/lowered/failure.h"
#include "ops/roofline.h"

namespace leat::host_device {

HostInstance::HostInstance(const GraphData& graph,
                           std::shared_ptr<const HostProgram> program,
                           const LeatLinkage& linkage,
                           const DeviceContext& context,
                           int32_t device,
                           ProgramIdentity identity)
    : graph_(graph),
      program_(std::move(program)),
      context_(context),
      device_(device),
      identity_(identity),
      args_(program_->graph.args) {
    const std::vector<lowered::LoweredTransient>& wanted = program_->graph.transients;
    if (size_t(linkage.transient_count) != wanted.size()) {
        plugin::invalid_argument(
            fmt::format("{} places for {} transients", linkage.transient_count, wanted.size()));
    }
    transients_.reserve(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
        transients_.push_back(address_of(linkage.transients[i], wanted[i].bytes));
    }
    constants_.reserve(size_t(linkage.constant_count));
    for (int32_t i = 0; i < linkage.constant_count; ++i) {
        constants_.push_back(address_of(linkage.constants[i], 0));
    }
    for (const lowered::LoweredPlace& place : program_->graph.form->places) {
        if (place.place == lowered::Place::kConstant && size_t(place.index) >= constants_.size()) {
            plugin::invalid_argument(fmt::format("no place for packed constant {}", place.index));
        }
    }
}

void HostInstance::check_binding(const LeatBinding& binding, int64_t bytes) const {
    if (binding.bytes < bytes) {
        plugin::invalid_argument(
            fmt::format("a binding of {} bytes; needed {}", binding.bytes, bytes));
    }
    const std::byte* address = address_of({binding.slab, binding.offset_bytes}, binding.bytes);
    const int32_t domain = domain_of({binding.slab, binding.offset_bytes});
    if (domain != device_) {
        plugin::invalid_argument(fmt::format(
            "a binding in domain {}; device {} has memory of its own", domain, device_));
    }
    if (reinterpret_cast<uintptr_t>(address) % uintptr_t(context_.alignment_bytes) != 0) {
        plugin::invalid_argument(
            fmt::format("a binding at offset {}, which is not aligned to {} bytes",
                        binding.offset_bytes, context_.alignment_bytes));
    }
}

int64_t HostInstance::input_bytes(size_t input) const {
    const TypeInfo& type = program_->graph.facts[size_t(graph_.inputs[input].index)].type;
    const std::optional<Shape> shape = type.fixed_shape();
    return storage_bytes(type.dtype, shape ? shape->element_count() : 0).value_or(0);
}

std::span<const std::byte> HostInstance::input_range(size_t input,
                                                     const std::vector<LeatBinding>& inputs) const {
    const auto value = size_t(graph_.inputs[input].index);
    if (program_->graph.form->places[value].place != lowered::Place::kInput) {
        return {};
    }
    const int64_t bytes = input_bytes(input);
    return {address_of({inputs[input].slab, inputs[input].offset_bytes}, bytes), size_t(bytes)};
}

std::span<std::byte> HostInstance::output_range(size_t output,
                                                const std::vector<LeatBinding>& outputs) const {
    const int64_t bytes = program_->graph.outputs[output].bytes;
    return {address_of({outputs[output].slab, outputs[output].offset_bytes}, bytes), size_t(bytes)};
}

const TypeInfo& HostInstance::output_type(size_t output) const {
    return program_->graph.facts[size_t(program_->graph.outputs[output].value)].type;
}

void HostInstance::check_bindings(const LeatBinding* inputs, const LeatBinding* outputs) const {
    const lowered::LoweredGraph& program = program_->graph;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const auto value = size_t(graph_.inputs[i].index);
        if (program.form->places[value].place == lowered::Place::kInput) {
            check_binding(inputs[i], input_bytes(i));
        }
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) {
        check_binding(outputs[i], program.outputs[i].bytes);
        if (program.outputs[i].is_bounded && outputs[i].actual_extents == nullptr) {
            plugin::invalid_argument(fmt::format(
                "output {} has a data-dependent size: it needs a place for its extents", i));
        }
    }
}

std::byte* HostInstance::address_of_value(ValueId id,
                                          const std::vector<LeatBinding>& inputs,
                                          const std::vector<LeatBinding>& outputs) const {
    if (!id.valid()) {
        return nullptr;
    }
    const lowered::LoweredPlace place = program_->graph.form->places[size_t(id.index)];
    const auto index = size_t(place.index);
    switch (place.place) {
        case lowered::Place::kInput:
            return address_of({inputs[index].slab, inputs[index].offset_bytes}, 0);
        case lowered::Place::kOutput:
            return address_of({outputs[index].slab, outputs[index].offset_bytes}, 0);
        case lowered::Place::kTransient:
            return transients_[index];
        case lowered::Place::kConstant:
            return constants_[index];
        case lowered::Place::kKnown:
            return const_cast<std::byte*>(program_->graph.facts[size_t(id.index)].value->bytes());
        case lowered::Place::kNone:
            break;
    }
    return nullptr;
}

void HostInstance::bind_step(size_t index,
                             const std::vector<LeatBinding>& inputs,
                             const std::vector<LeatBinding>& outputs) {
    const NodeData& node = graph_.node(program_->graph.steps[index].node);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
        inputs_of(index)[k].data = address_of_value(node.inputs[k], inputs, outputs);
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
        outputs_of(index)[k].data = address_of_value(node.outputs[k], inputs, outputs);
    }
}

std::span<TensorArg> HostInstance::own(std::span<const TensorArg> of_program) {
    const auto first = size_t(of_program.data() - program_->graph.args.data());
    return std::span(args_).subspan(first, of_program.size());
}

std::span<TensorArg> HostInstance::inputs_of(size_t index) {
    return own(program_->graph.steps[index].inputs);
}

std::span<TensorArg> HostInstance::outputs_of(size_t index) {
    return own(program_->graph.steps[index].outputs);
}

void HostInstance::run_non_zero_step(size_t index, const std::vector<LeatBinding>& outputs) {
    const TensorArg& to = outputs_of(index)[0];
    const ValueId result = graph_.node(program_->graph.steps[index].node).outputs[0];
    const auto output = size_t(program_->graph.form->places[size_t(result.index)].index);
    const int64_t count = run_non_zero(inputs_of(index)[0], to.as<int64_t>());
    const bool reports_bound = context_.plants.has(queues::Plant::kWrongActualSize);
    outputs[output].actual_extents[0] = to.shape[0];
    outputs[output].actual_extents[1] = reports_bound ? to.shape[1] : count;
}

void HostInstance::run_step(size_t index, const std::vector<LeatBinding>& outputs) {
    const std::span<const TensorArg> from = inputs_of(index);
    const std::span<const TensorArg> to = outputs_of(index);
    const NodeData& node = graph_.node(program_->graph.steps[index].node);
    const ProgramStep& step = program_->steps[index];
    if (step.custom) {
        run_custom(*step.custom, node, from, to);
    } else if (step.kernel != nullptr) {
        std::byte* scratch = step.scratch < 0 ? nullptr : transients_[size_t(step.scratch)];
        lowered::throw_if(
            context_.team.run(*step.kernel, {from, to, scratch}, step.scratch_stride));
    } else if (is_non_zero(node)) {
        run_non_zero_step(index, outputs);
    } else {
        std::memcpy(to[0].data, from[0].data, size_t(bytes_of(from[0])));
    }
}

void HostInstance::copy_outputs(const std::vector<LeatBinding>& inputs,
                                const std::vector<LeatBinding>& outputs) const {
    for (size_t i = 0; i < program_->graph.outputs.size(); ++i) {
        const lowered::LoweredOutput& output = program_->graph.outputs[i];
        if (output.is_copied && output.bytes > 0) {
            std::memmove(address_of({outputs[i].slab, outputs[i].offset_bytes}, output.bytes),
                         address_of_value(ValueId{output.value}, inputs, outputs),
                         size_t(output.bytes));
        }
    }
}

void HostInstance::run(const std::vector<LeatBinding>& inputs,
                       const std::vector<LeatBinding>& outputs,
                       LeatProfile* profile) {
    for (size_t i = 0; i < program_->steps.size(); ++i) {
        bind_step(i, inputs, outputs);
        const int64_t begin = device_ticks(context_);
        run_step(i, outputs);
        if (profile != nullptr && profile->count < profile->capacity) {
            profile->steps[profile->count++] = {int32_t(i), begin, device_ticks(context_)};
        }
    }
    copy_outputs(inputs, outputs);
}

}  // namespace leat::host_device
