#include "backends/vulkan/list_writer.h"

#include "base/error.h"

namespace leat::vulkan {

void ListWriter::begin_node(std::span<const PlacedOperand> inputs,
                            std::span<const PlacedOperand> outputs) {
    inputs_ = inputs;
    outputs_ = outputs;
    ++node_;
}

OperandRef ListWriter::scratch(int64_t size_bytes) {
    const auto index = int32_t(scratch_.size());
    scratch_.push_back({list_.add_buffer(size_bytes), size_bytes, node_});
    return {OperandRef::Kind::kScratch, index, 0};
}

// The operand from the reference's offset on.
Result<PlacedOperand> ListWriter::place_of(const OperandRef& ref) const {
    const auto index = size_t(ref.index);
    PlacedOperand place;
    if (ref.kind == OperandRef::Kind::kScratch) {
        place = {scratch_[index].buffer, 0, scratch_[index].size_bytes};
    } else {
        const std::span<const PlacedOperand> operands =
            ref.kind == OperandRef::Kind::kInput ? inputs_ : outputs_;
        if (index >= operands.size()) {
            return invalid_argument("a kernel names operand {} of {}", index, operands.size());
        }
        place = operands[index];
    }
    if (ref.offset_bytes < 0 || ref.offset_bytes > place.size_bytes) {
        return invalid_argument("a kernel begins at byte {} of an operand of {}", ref.offset_bytes,
                                place.size_bytes);
    }
    place.offset_bytes += ref.offset_bytes;
    place.size_bytes -= ref.offset_bytes;
    return place;
}

PipelineId ListWriter::pipeline_of(const ShaderUse& shader) {
    const auto next = PipelineId(shaders_.size());
    const auto [at, is_new] = pipelines_.try_emplace({shader.name, shader.constants}, next);
    if (is_new) {
        shaders_.push_back(shader);
    }
    return at->second;
}

Status ListWriter::dispatch(const KernelDispatch& dispatch) {
    if (dispatch.reads.size() + dispatch.writes.size() > kMaxOperands) {
        return unsupported("kernel '{}' with {} operands", dispatch.shader.name,
                           dispatch.reads.size() + dispatch.writes.size())
            .with_needed(fmt::format("at most {}", kMaxOperands));
    }
    Dispatch command;
    command.groups = dispatch.groups;
    command.scalars = dispatch.scalars;
    std::vector<BufferUse> uses;
    for (const bool is_write : {false, true}) {
        for (const OperandRef& ref : is_write ? dispatch.writes : dispatch.reads) {
            LEAT_ASSIGN_OR_RETURN(const PlacedOperand place, place_of(ref));
            command.operands[command.operand_count++] = {place.buffer, place.offset_bytes};
            // An empty operand keeps its number, and nobody touches it.
            if (place.size_bytes > 0) {
                uses.push_back({place.buffer,
                                {place.offset_bytes, place.offset_bytes + place.size_bytes},
                                is_write});
            }
        }
    }
    command.pipeline = pipeline_of(dispatch.shader);
    if (!dispatch.parameters.empty()) {
        command.parameters_offset = list_.add_parameters(dispatch.parameters);
    }
    return list_.add(command, uses, dispatch.estimated_ns);
}

Status ListWriter::copy(OperandRef from, OperandRef to, int64_t size_bytes) {
    LEAT_ASSIGN_OR_RETURN(const PlacedOperand source, place_of(from));
    LEAT_ASSIGN_OR_RETURN(const PlacedOperand target, place_of(to));
    return list_.add(
        Copy{source.buffer, target.buffer, source.offset_bytes, target.offset_bytes, size_bytes});
}

Status ListWriter::fill(OperandRef to, int64_t size_bytes, uint32_t pattern) {
    LEAT_ASSIGN_OR_RETURN(const PlacedOperand target, place_of(to));
    return list_.add(
        Fill{target.buffer, {target.offset_bytes, target.offset_bytes + size_bytes}, pattern});
}

}  // namespace leat::vulkan
