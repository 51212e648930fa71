#include "backends/sim/sim_executable.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "memory/content_hash.h"

namespace leat::sim {
namespace {

constexpr uint64_t kRowMajorKey = 1;

class SimRequirements final : public plugin::Requirements {
  public:
    SimRequirements(lowered::LoweredGraph program, int64_t alignment_bytes)
        : program_(std::move(program)) {
        transients_.reserve(program_.transients.size());
        pointers_.reserve(program_.transients.size());
        for (const lowered::LoweredTransient& source : program_.transients) {
            LeatTransient& row = transients_.emplace_back(plugin::made<LeatTransient>());
            row.bytes = source.bytes;
            row.alignment_bytes = alignment_bytes;
            row.step_count = int32_t(source.steps.size());
            row.steps = source.steps.data();
            pointers_.push_back(&row);
        }
        for (size_t i = 1; i < program_.steps.size(); ++i) {
            edges_.push_back({int32_t(i) - 1, int32_t(i)});
        }
        for (const lowered::LoweredOutput& output : program_.outputs) {
            output_bytes_.push_back(output.bytes);
            output_is_bounded_.push_back(output.is_bounded ? 1 : 0);
        }
        step_count = int32_t(program_.steps.size());
        edge_count = int32_t(edges_.size());
        edges = edges_.data();
        transient_count = int32_t(pointers_.size());
        transients = pointers_.data();
        output_count = int32_t(output_bytes_.size());
        LeatRequirements::output_bytes = output_bytes_.data();
        LeatRequirements::output_is_bounded = output_is_bounded_.data();
    }

  private:
    lowered::LoweredGraph program_;
    std::vector<LeatTransient> transients_;
    std::vector<const LeatTransient*> pointers_;
    std::vector<LeatEdge> edges_;
    std::vector<int64_t> output_bytes_;
    std::vector<int32_t> output_is_bounded_;
};

}  // namespace

int64_t device_ticks(const ExecutableContext& context) {
    return (context.host.monotonic_ns() - context.epoch_ns) / kNsPerTick;
}

SimExecutable::SimExecutable(lowered::ImportedGraph graph, const ExecutableContext& context)
    : graph_(std::move(graph)),
      context_(context),
      packed_index_(graph_.graph.values.size(), -1),
      info_(plugin::made<LeatExecutableInfo>()) {
    for (size_t i = 0; i < graph_.graph.values.size(); ++i) {
        const std::optional<Tensor>& tensor = graph_.graph.values[i].constant;
        if (!tensor) {
            continue;
        }
        packed_index_[i] = int32_t(constants_.size());
        LeatPackedConstant& row = constants_.emplace_back(plugin::made<LeatPackedConstant>());
        row.value = graph_.constant_values[constants_.size() - 1];
        row.content_hash = content_hash({tensor->bytes(), size_t(tensor->byte_count())});
        row.layout_key = kRowMajorKey;
        row.bytes = tensor->byte_count();
        row.alignment_bytes = context.alignment_bytes;
    }
    constant_pointers_.reserve(constants_.size());
    for (const LeatPackedConstant& row : constants_) {
        constant_pointers_.push_back(&row);
    }
    info_.constant_count = int32_t(constants_.size());
    info_.constants = constant_pointers_.data();
    info_.input_count = int32_t(graph_.graph.inputs.size());
    info_.output_count = int32_t(graph_.graph.outputs.size());
    info_.symbol_count = int32_t(graph_.symbols.size());
    info_.host_inputs_low = graph_.host_inputs;
}

void SimExecutable::save(const LeatSink& sink) {
    const std::string bytes = lowered::saved_graph(graph_);
    const LeatCode code = sink.write(sink.user, bytes.data(), int64_t(bytes.size()));
    if (code != kLeatOk) {
        throw plugin::Error(code, "the host could not store what was saved");
    }
}

void SimExecutable::pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) {
    if (index < 0 || size_t(index) >= constants_.size() ||
        tensor.bytes != constants_[size_t(index)].bytes) {
        plugin::invalid_argument(
            fmt::format("constant {} of {} bytes is none of this executable", index, tensor.bytes));
    }
    std::memcpy(address_of(to, tensor.bytes), tensor.data, size_t(tensor.bytes));
}

std::unique_ptr<plugin::Requirements> SimExecutable::requirements(const LeatRunShape& shape) {
    return std::make_unique<SimRequirements>(
        lowered::lower(graph_, context_.operators, packed_index_, shape), context_.alignment_bytes);
}

std::unique_ptr<plugin::Instance> SimExecutable::link(const LeatRunShape& shape,
                                                      const LeatLinkage& linkage) {
    return std::make_unique<SimInstance>(
        graph_.graph, lowered::lower(graph_, context_.operators, packed_index_, shape), linkage,
        context_);
}

SimInstance::SimInstance(const GraphData& graph,
                         lowered::LoweredGraph program,
                         const LeatLinkage& linkage,
                         const ExecutableContext& context)
    : graph_(graph), program_(std::move(program)), context_(context) {
    if (size_t(linkage.transient_count) != program_.transients.size()) {
        plugin::invalid_argument(fmt::format("{} places for {} transients", linkage.transient_count,
                                             program_.transients.size()));
    }
    for (size_t i = 0; i < program_.transients.size(); ++i) {
        transients_.push_back(address_of(linkage.transients[i], program_.transients[i].bytes));
    }
    for (const lowered::LoweredStep& step : program_.steps) {
        const NodeData& node = graph_.node(step.node);
        custom_.push_back(context.operators.find(node.domain, node.op_type));
    }
    for (int32_t i = 0; i < linkage.constant_count; ++i) {
        constants_.push_back(address_of(linkage.constants[i], 0));
    }
    for (const lowered::ValuePlace& place : program_.places) {
        if (place.place == lowered::Place::kConstant && size_t(place.index) >= constants_.size()) {
            plugin::invalid_argument(fmt::format("no place for packed constant {}", place.index));
        }
    }
}

void SimInstance::check_binding(const LeatBinding& binding, int64_t bytes) const {
    if (binding.bytes < bytes) {
        plugin::invalid_argument(
            fmt::format("a binding of {} bytes; needed {}", binding.bytes, bytes));
    }
    (void)address_of({binding.slab, binding.offset_bytes}, binding.bytes);
}

void SimInstance::check_bindings(const LeatBinding* inputs, const LeatBinding* outputs) const {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const auto value = size_t(graph_.inputs[i].index);
        if (program_.places[value].place == lowered::Place::kInput) {
            const std::optional<Shape> shape = program_.facts[value].type.fixed_shape();
            check_binding(inputs[i], storage_bytes(program_.facts[value].type.dtype,
                                                   shape ? shape->element_count() : 0)
                                         .value_or(0));
        }
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
        check_binding(outputs[i], program_.outputs[i].bytes);
        if (program_.outputs[i].is_bounded && outputs[i].actual_extents == nullptr) {
            plugin::invalid_argument(fmt::format(
                "output {} has a data-dependent size: it needs a place for its extents", i));
        }
    }
}

std::byte* SimInstance::address_of_value(ValueId id,
                                         const std::vector<LeatBinding>& inputs,
                                         const std::vector<LeatBinding>& outputs) const {
    if (!id.valid()) {
        return nullptr;
    }
    const lowered::ValuePlace place = program_.places[size_t(id.index)];
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
            return const_cast<std::byte*>(program_.facts[size_t(id.index)].value->bytes());
        case lowered::Place::kNone:
            break;
    }
    return nullptr;
}

void SimInstance::run_step(size_t index, const std::vector<LeatBinding>& outputs) {
    lowered::LoweredStep& step = program_.steps[index];
    const NodeData& node = graph_.node(step.node);
    if (custom_[index] != nullptr) {
        run_custom(*custom_[index], step.inputs, step.outputs);
    } else if (is_non_zero(node)) {
        const auto output = size_t(program_.places[size_t(node.outputs[0].index)].index);
        const int64_t count = run_non_zero(step.inputs[0], step.outputs[0].as<int64_t>());
        const bool reports_bound = context_.plants.has(Plant::kWrongActualSize);
        outputs[output].actual_extents[0] = step.outputs[0].shape[0];
        outputs[output].actual_extents[1] = reports_bound ? step.outputs[0].shape[1] : count;
    } else if (node.def->reference != nullptr) {
        lowered::throw_if(node.def->reference({node, step.inputs, step.outputs}));
    } else {
        const TensorArg& from = step.inputs[0];
        std::memcpy(step.outputs[0].data, from.data,
                    size_t(storage_bytes(from.dtype, from.shape.element_count()).value_or(0)));
    }
}

void SimInstance::run(const std::vector<LeatBinding>& inputs,
                      const std::vector<LeatBinding>& outputs,
                      LeatProfile* profile) {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
        lowered::LoweredStep& step = program_.steps[i];
        const NodeData& node = graph_.node(step.node);
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            step.inputs[k].data = address_of_value(node.inputs[k], inputs, outputs);
        }
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            step.outputs[k].data = address_of_value(node.outputs[k], inputs, outputs);
        }
        const int64_t begin = device_ticks(context_);
        run_step(i, outputs);
        if (profile != nullptr && profile->count < profile->capacity) {
            profile->steps[profile->count++] = {int32_t(i), begin, device_ticks(context_)};
        }
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
        const lowered::LoweredOutput& output = program_.outputs[i];
        if (output.is_copied && output.bytes > 0) {
            std::memmove(address_of({outputs[i].slab, outputs[i].offset_bytes}, output.bytes),
                         address_of_value(ValueId{output.value}, inputs, outputs),
                         size_t(output.bytes));
        }
    }
}

}  // namespace leat::sim
