#include "backends/vulkan/plugin/lower/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/plugin/lower/fused_groups.h"
#include "backends/vulkan/record/list_writer.h"
#include "base/error.h"
#include "base/transformed.h"
#include "ops/attention/fused_attention_vulkan.h"
#include "ops/elementwise/attached_chains_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/roofline.h"

namespace leat::vulkan {
namespace {

// From the first element to the end of the last one.
int64_t spanned_bytes(const TensorArg& arg) {
    if (arg.is_row_major() || arg.shape.element_count() == 0) {
        return bytes_of(arg);
    }
    int64_t last = 0;
    for (int axis = 0; axis < arg.shape.rank(); ++axis) {
        last += (arg.shape[axis] - 1) * arg.strides[size_t(axis)];
    }
    return (last + 1) * bits_of(arg.dtype) / 8;
}

std::vector<TensorArg> args_of(std::span<const GroupOperand> operands) {
    return transformed(operands, &GroupOperand::arg);
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
                   const CustomOperators& operators,
                   lowered::LoweredGraph lowered,
                   const FusedSteps& fused)
        : source_(graph),
          graph_(graph.graph),
          operators_(operators),
          fused_(fused),
          edges_(program_.edges),
          writer_(program_.list, limits) {
        program_.lowered = std::move(lowered);
        transient_index_.assign(program_.lowered.transients.size(), -1);
    }

    DeviceProgram build() {
        program_.step_begins.reserve(fused_.groups.size() + program_.lowered.outputs.size() + 1);
        for (const FusedGroup& group : fused_.groups) {
            add_group(group);
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
        for (const ReportBuffer& told : writer_.report_buffers()) {
            describe(told.buffer,
                     {BufferRole::kReport, int32_t(program_.reports.size()), sizeof(ToldIndex)});
            program_.reports.push_back(told.report);
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
        const lowered::LoweredPlace place = program_.lowered.form->places[size_t(id.index)];
        PlacedOperand operand{{}, 0, size_bytes};
        switch (place.place) {
            case lowered::Place::kInput:
                operand.buffer = buffer_of(BufferRole::kInput, place.index, size_bytes);
                break;
            case lowered::Place::kOutput:
                operand.buffer = output_buffer(place.index, size_bytes);
                break;
            case lowered::Place::kTransient:
                if (const std::optional<PartPlace>& part = fused_.parts[size_t(place.index)]) {
                    operand = operand_of(part->whole, bytes_of_value(part->whole));
                    operand.offset_bytes += part->offset_bytes;
                    operand.size_bytes = size_bytes;
                    break;
                }
                operand.buffer =
                    buffer_of(BufferRole::kTransient, transient_of(place.index), size_bytes);
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

    // Values between the steps of a group are never asked for, and have no memory.
    int32_t transient_of(int32_t lowered_index) {
        int32_t& index = transient_index_[size_t(lowered_index)];
        if (index < 0) {
            index = int32_t(program_.transients.size());
            program_.transients.push_back(
                {program_.lowered.transients[size_t(lowered_index)].bytes, {}});
        }
        return index;
    }

    int64_t bytes_of_value(ValueId id) const {
        const TypeInfo& type = program_.lowered.facts[size_t(id.index)].type;
        const std::optional<Shape> shape = type.fixed_shape();
        return shape ? storage_bytes(type.dtype, shape->element_count()).value_or(0) : 0;
    }

    // Views are parts of their values.
    Operands operands_of(const std::vector<GroupOperand>& values) {
        Operands operands(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
            if (values[i].value.valid()) {
                const int64_t offset = values[i].first_element * bits_of(values[i].arg.dtype) / 8;
                operands[i] = operand_of(values[i].value, bytes_of_value(values[i].value));
                operands[i].offset_bytes += offset;
                operands[i].size_bytes = spanned_bytes(values[i].arg);
            }
        }
        return operands;
    }

    void add_group(const FusedGroup& group) {
        const Operands reads = operands_of(group.reads);
        const Operands writes = operands_of(group.results);
        begin_step(name_of(group), reads, writes);
        if (!group.copies.empty()) {
            throw_if(write_copies(group).with_node(program_.step_names.back()));
        } else if (group.anchor < 0) {
            throw_if(write_elementwise_chain(group.chain, writer_)
                         .with_node(program_.step_names.back()));
        } else {
            write_anchor(group);
        }
        end_uses(args_of(group.reads), args_of(group.results), reads, writes);
    }

    void write_anchor(const FusedGroup& group) {
        const lowered::LoweredStep& anchor = program_.lowered.steps[size_t(group.anchor)];
        std::vector<TensorArg> outputs(anchor.outputs.begin(), anchor.outputs.end());
        if (group.strided_result) {
            outputs[0] = *group.strided_result;
        }
        AttachedChains chains;
        chains.prologue = group.prologue.steps.empty() ? nullptr : &group.prologue;
        chains.epilogue = group.chain.steps.empty() ? nullptr : &group.chain;
        if (group.stores_prologue()) {
            chains.stored = output_ref(1);
        }
        if (group.is_attention) {
            const std::vector<TensorArg>& inputs = group.anchor_inputs;
            const AttentionArgs args{inputs[0], inputs[1], inputs[2], outputs[0]};
            const auto write = [&](KernelWriter& writer) { return write_attention(args, writer); };
            write_chained(write, chains);
            return;
        }
        write_node(graph_.node(anchor.node), group.anchor_inputs, outputs, chains);
    }

    void write_chained(const std::function<Status(KernelWriter&)>& write,
                       const AttachedChains& chains) {
        throw_if(write_with_chains(write, chains, writer_).with_node(program_.step_names.back()));
    }

    // Each result is a view of the one operand.
    Status write_copies(const FusedGroup& group) {
        for (size_t i = 0; i < group.copies.size(); ++i) {
            const StridedView& view = group.copies[i];
            LEAT_RETURN_IF_ERROR(
                write_strided_copy(writer_, group.results[i].arg.dtype, view.shape,
                                   {input_ref(0), view.first_element, view.strides},
                                   {output_ref(int32_t(i)), 0, row_major_strides(view.shape)}));
        }
        return {};
    }

    std::string name_of(const FusedGroup& group) const {
        const auto names = transformed(group.steps, [this](int32_t step) {
            return graph_.node(program_.lowered.steps[size_t(step)].node).label();
        });
        return fmt::format("{}", fmt::join(names, " + "));
    }

    void begin_step(std::string name, const Operands& reads, const Operands& writes) {
        end_step();
        program_.step_names.push_back(std::move(name));
        writer_.begin_node(reads, writes);
    }

    void write_node(const NodeData& node,
                    std::span<const TensorArg> inputs,
                    std::span<const TensorArg> outputs,
                    const AttachedChains& chains = {}) {
        const std::vector<DType> input_types = types_of(inputs);
        const std::vector<DType> output_types = types_of(outputs);
        const NodeKernel kernel = find_kernel(node, {input_types, output_types}, operators_);
        if (kernel.write == nullptr) {
            throw plugin::Error(kLeatUnsupported,
                                fmt::format("{}: {}", node.label(), kernel.reason));
        }
        const KernelNode kernel_node{node, inputs, outputs};
        const auto write = [&](KernelWriter& writer) { return kernel.write(kernel_node, writer); };
        write_chained(write, chains);
    }

    void end_uses(std::span<const TensorArg> inputs,
                  std::span<const TensorArg> outputs,
                  const Operands& reads,
                  const Operands& writes) {
        note_uses(inputs, reads, false);
        note_uses(outputs, writes, true);
        ++program_.step_count;
    }

    void note_uses(std::span<const TensorArg> args, const Operands& operands, bool is_write) {
        for (size_t i = 0; i < args.size(); ++i) {
            if (!args[i].present()) {
                continue;
            }
            if (is_write) {
                edges_.write(operands[i].buffer, program_.step_count);
            } else {
                edges_.read(operands[i].buffer, program_.step_count);
            }
            const ProgramBuffer& buffer = program_.buffers[size_t(operands[i].buffer)];
            if (buffer.role == BufferRole::kTransient) {
                note_transient(program_.transients[size_t(buffer.index)].steps);
            }
        }
    }

    void note_transient(std::vector<int32_t>& steps) const {
        if (steps.empty() || steps.back() != program_.step_count) {
            steps.push_back(program_.step_count);
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
        NodeData identity;
        identity.name = fmt::format("output {}", index);
        identity.op_type = "Identity";
        identity.def = find_op("", identity.op_type);
        const TensorArg arg = row_major_arg(type.dtype, *shape, nullptr);
        const Operands reads = {from};
        const Operands writes = {to};
        begin_step(identity.label(), reads, writes);
        write_node(identity, {&arg, 1}, {&arg, 1});
        end_uses({&arg, 1}, {&arg, 1}, reads, writes);
    }

    const lowered::ImportedGraph& source_;
    const GraphData& graph_;
    const CustomOperators& operators_;
    const FusedSteps& fused_;
    DeviceProgram program_;
    StepEdges edges_;
    ListWriter writer_;
    std::map<std::pair<BufferRole, int32_t>, BufferId> ids_;
    std::vector<int32_t>
        transient_index_;  // of the program, by that of the lowered graph; -1: none
};

}  // namespace

DeviceProgram make_program(const lowered::ImportedGraph& graph,
                           const KernelLimits& limits,
                           const LeatRunShape& shape,
                           ProgramOptions options) {
    const CustomOperators none;
    const CustomOperators& operators = options.operators == nullptr ? none : *options.operators;
    lowered::LoweredGraph lowered =
        lowered::lower(graph, operators, shape, {.aliases_views = true}, std::move(options.former));
    const FusedSteps fused = options.fuses ? fuse_steps(graph.graph, lowered, limits)
                                           : single_steps(graph.graph, lowered);
    return ProgramBuilder(graph, limits, operators, std::move(lowered), fused).build();
}

}  // namespace leat::vulkan
