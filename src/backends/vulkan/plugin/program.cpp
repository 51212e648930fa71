#include "backends/vulkan/plugin/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "backends/vulkan/list_writer.h"
#include "backends/vulkan/plugin/failure.h"

namespace leat::vulkan {
namespace {

// The backend adds no operators to leat's.
class NoOperators final : public lowered::OwnOperators {
  public:
    bool has(const NodeData& /*node*/) const override { return false; }
    void infer(const NodeData& /*node*/,
               std::span<const TensorArg> /*inputs*/,
               std::span<ValueFact> /*outputs*/) const override {}
    bool is_bounded(const NodeData& /*node*/) const override { return false; }
};

int64_t bytes_of(const TensorArg& arg) {
    return arg.present() ? storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0) : 0;
}

std::vector<DType> types_of(std::span<const TensorArg> args) {
    std::vector<DType> types;
    types.reserve(args.size());
    for (const TensorArg& arg : args) {
        types.push_back(arg.dtype);
    }
    return types;
}

// Which steps must have ended before another one may start.
class StepEdges {
  public:
    explicit StepEdges(std::vector<LeatEdge>& edges) : edges_(edges) {}

    void read(BufferId buffer, int32_t step) {
        Users& users = users_[buffer];
        add(users.writer, step);
        users.readers.push_back(step);
    }
    void write(BufferId buffer, int32_t step) {
        Users& users = users_[buffer];
        add(users.writer, step);
        for (const int32_t reader : users.readers) {
            add(reader, step);
        }
        users.readers.clear();
        users.writer = step;
    }

  private:
    struct Users {
        int32_t writer = -1;
        std::vector<int32_t> readers;
    };
    // Edges to a step are added one after the other, so that twice the same is seen at the end.
    void add(int32_t from, int32_t to) {
        const auto is_same = [&](const LeatEdge& edge) { return edge.from_step == from; };
        auto begin = edges_.rbegin();
        auto end = std::find_if(begin, edges_.rend(),
                                [&](const LeatEdge& edge) { return edge.to_step != to; });
        if (from >= 0 && from != to && std::find_if(begin, end, is_same) == end) {
            edges_.push_back({from, to});
        }
    }

    std::vector<LeatEdge>& edges_;
    std::map<BufferId, Users> users_;
};

class ProgramBuilder {
  public:
    ProgramBuilder(const lowered::ImportedGraph& graph,
                   const KernelLimits& limits,
                   lowered::LoweredGraph lowered)
        : source_(graph),
          graph_(graph.graph),
          edges_(program_.edges),
          writer_(program_.list, limits) {
        program_.lowered = std::move(lowered);
        program_.transients = program_.lowered.transients;
    }

    Program build() {
        const std::vector<lowered::LoweredStep>& steps = program_.lowered.steps;
        program_.step_begins.reserve(steps.size() + program_.lowered.outputs.size() + 1);
        for (const lowered::LoweredStep& step : steps) {
            const NodeData& node = graph_.node(step.node);
            add_step(node, step.inputs, step.outputs, operands_of(node.inputs, step.inputs),
                     operands_of(node.outputs, step.outputs));
        }
        for (size_t i = 0; i < program_.lowered.outputs.size(); ++i) {
            copy_output(i);
        }
        end_step();
        program_.shaders.assign(writer_.shaders().begin(), writer_.shaders().end());
        for (const ScratchBuffer& scratch : writer_.scratch_buffers()) {
            describe(scratch.buffer, {BufferRole::kTransient, int32_t(program_.transients.size()),
                                      scratch.size_bytes});
            program_.transients.push_back({scratch.size_bytes, {scratch.node}});
        }
        return std::move(program_);
    }

  private:
    using Operands = std::vector<PlacedOperand>;

    void end_step() { program_.step_begins.push_back(uint32_t(program_.list.commands().size())); }

    void describe(BufferId id, const ProgramBuffer& buffer) {
        program_.buffers.resize(std::max(program_.buffers.size(), size_t(id) + 1));
        program_.buffers[size_t(id)] = buffer;
    }

    // Both ends of a state pair are one buffer.
    std::optional<int32_t> state_input_of(int32_t output) const {
        for (const LeatStatePair& pair : source_.states) {
            if (pair.output == output) {
                return pair.input;
            }
        }
        return std::nullopt;
    }

    BufferId buffer_of(BufferRole role, int32_t index, int64_t size_bytes) {
        const auto [at, is_new] = ids_.try_emplace({role, index});
        if (is_new) {
            const bool is_external = role == BufferRole::kInput || role == BufferRole::kOutput;
            // Operands begin inside their buffers, empty ones too.
            at->second = program_.list.add_buffer(std::max<int64_t>(size_bytes, 1), is_external);
            describe(at->second, {role, index, size_bytes});
        }
        return at->second;
    }

    BufferId output_buffer(int32_t output, int64_t size_bytes) {
        const std::optional<int32_t> state = state_input_of(output);
        return state ? buffer_of(BufferRole::kInput, *state, size_bytes)
                     : buffer_of(BufferRole::kOutput, output, size_bytes);
    }

    PlacedOperand operand_of(ValueId id, int64_t size_bytes) {
        const lowered::ValuePlace place = program_.lowered.places[size_t(id.index)];
        PlacedOperand operand{{}, 0, size_bytes};
        switch (place.place) {
            case lowered::Place::kInput:
                operand.buffer = buffer_of(BufferRole::kInput, place.index, size_bytes);
                break;
            case lowered::Place::kOutput:
                operand.buffer = output_buffer(place.index, size_bytes);
                break;
            case lowered::Place::kTransient:
                operand.buffer = buffer_of(BufferRole::kTransient, place.index, size_bytes);
                break;
            case lowered::Place::kConstant:
                operand.buffer = buffer_of(BufferRole::kConstant, place.index, size_bytes);
                break;
            case lowered::Place::kKnown:
            case lowered::Place::kNone:
                operand.buffer = buffer_of(BufferRole::kLiteral, id.index, size_bytes);
                break;
        }
        return operand;
    }

    Operands operands_of(const std::vector<ValueId>& values, std::span<const TensorArg> args) {
        Operands operands(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
            if (values[i].valid()) {
                operands[i] = operand_of(values[i], bytes_of(args[i]));
            }
        }
        return operands;
    }

    void add_step(const NodeData& node,
                  std::span<const TensorArg> inputs,
                  std::span<const TensorArg> outputs,
                  const Operands& reads,
                  const Operands& writes) {
        const std::vector<DType> input_types = types_of(inputs);
        const std::vector<DType> output_types = types_of(outputs);
        const KernelChoice choice = choose_kernel(node, {input_types, output_types});
        if (choice.entry == nullptr) {
            throw plugin::Error(kLeatUnsupported,
                                fmt::format("{}: {}", node.label(), choice.reason));
        }
        end_step();
        writer_.begin_node(reads, writes);
        Status status = choice.entry->write({node, inputs, outputs}, writer_);
        throw_if(std::move(status).with_node(node.label()));
        note_uses(inputs, reads, false);
        note_uses(outputs, writes, true);
        ++program_.step_count;
    }

    void note_uses(std::span<const TensorArg> args, const Operands& operands, bool is_write) {
        for (size_t i = 0; i < args.size(); ++i) {
            if (args[i].present() && is_write) {
                edges_.write(operands[i].buffer, program_.step_count);
            } else if (args[i].present()) {
                edges_.read(operands[i].buffer, program_.step_count);
            }
        }
    }

    // The value lies elsewhere: it is a view, known, an input, another output too, or new state.
    void copy_output(size_t index) {
        const lowered::LoweredOutput& output = program_.lowered.outputs[index];
        const ValueId id{output.value};
        const TypeInfo& type = program_.lowered.facts[size_t(id.index)].type;
        const std::optional<Shape> shape = type.fixed_shape();
        if (!output.is_copied || output.bytes == 0 || !shape) {
            return;
        }
        const PlacedOperand from = operand_of(id, output.bytes);
        const PlacedOperand to{output_buffer(int32_t(index), output.bytes), 0, output.bytes};
        if (from.buffer == to.buffer) {
            return;
        }
        const lowered::ValuePlace place = program_.lowered.places[size_t(id.index)];
        if (place.place == lowered::Place::kTransient) {
            program_.transients[size_t(place.index)].steps.push_back(program_.step_count);
        }
        NodeData identity;
        identity.name = fmt::format("output {}", index);
        identity.op_type = "Identity";
        identity.def = find_op("", identity.op_type);
        const TensorArg arg = row_major_arg(type.dtype, *shape, nullptr);
        add_step(identity, {&arg, 1}, {&arg, 1}, {from}, {to});
    }

    const lowered::ImportedGraph& source_;
    const GraphData& graph_;
    Program program_;
    StepEdges edges_;
    ListWriter writer_;
    std::map<std::pair<BufferRole, int32_t>, BufferId> ids_;
};

}  // namespace

Program make_program(const lowered::ImportedGraph& graph,
                     const std::vector<int32_t>& constants,
                     const KernelLimits& limits,
                     const LeatRunShape& shape) {
    lowered::LowerOptions options;
    options.aliases_views = true;
    return ProgramBuilder(graph, limits,
                          lowered::lower(graph, NoOperators(), constants, shape, options))
        .build();
}

}  // namespace leat::vulkan
