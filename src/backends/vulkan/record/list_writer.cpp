#include "backends/vulkan/record/list_writer.h"

#include <utility>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

// Of the kernels that copy and fill where a recorded command cannot.
constexpr uint32_t kCopyWorkgroup = 64;
constexpr int64_t kWordLimit = int64_t{1} << 31;

// As in strided_copy.comp.
struct CopyShape {
    std::array<uint32_t, kMaxRank> extents{};
    std::array<int32_t, kMaxRank> x_strides{};
    std::array<int32_t, kMaxRank> y_strides{};
};

}  // namespace

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

OperandRef ListWriter::index_report(IndexReport report) {
    const auto index = int32_t(reports_.size());
    reports_.push_back({list_.add_buffer(sizeof(ToldIndex)), std::move(report)});
    return {OperandRef::Kind::kReport, index, 0};
}

// The operand from the reference's offset on.
Result<PlacedOperand> ListWriter::place_of(const OperandRef& ref) const {
    const auto index = size_t(ref.index);
    PlacedOperand place;
    if (ref.kind == OperandRef::Kind::kScratch) {
        place = {scratch_[index].buffer, 0, scratch_[index].size_bytes};
    } else if (ref.kind == OperandRef::Kind::kReport) {
        place = {reports_[index].buffer, 0, sizeof(ToldIndex)};
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
    if (ref.size_bytes > place.size_bytes) {
        return invalid_argument("a kernel touches {} bytes of an operand with {}", ref.size_bytes,
                                place.size_bytes);
    }
    place.size_bytes = ref.size_bytes < 0 ? place.size_bytes : ref.size_bytes;
    return place;
}

bool ListWriter::can_be_window(const OperandRef& operand) const {
    const Result<PlacedOperand> place = place_of(operand);
    return limits_.max_window_texels > 0 && place.ok() && !is_external(*place) &&
           place->offset_bytes % limits_.window_alignment_bytes == 0;
}

Result<PipelineId> ListWriter::pipeline_of(const ShaderUse& shader) {
    const ShaderKey key{shader.name, shader.constants};
    const auto found = pipelines_.find(key);
    if (found != pipelines_.end()) {
        return found->second;
    }
    LEAT_RETURN_IF_ERROR(check_features(shader, limits_));
    const auto next = PipelineId(shaders_.size());
    pipelines_.emplace(key, next);
    shaders_.push_back(shader);
    return next;
}

Status ListWriter::dispatch(const KernelDispatch& dispatch) {
    const size_t operand_count =
        dispatch.reads.size() + dispatch.writes.size() + dispatch.late_reads.size();
    if (operand_count > kMaxOperands) {
        return unsupported("kernel '{}' with {} operands", dispatch.shader.name, operand_count)
            .with_needed(fmt::format("at most {}", kMaxOperands));
    }
    Dispatch command;
    command.groups = dispatch.groups;
    command.scalars = dispatch.scalars;
    command.windows = dispatch.shader.windows;
    command.vector_windows = dispatch.shader.vector_windows;
    std::vector<BufferUse> uses;
    uses.reserve(operand_count);
    for (const std::vector<OperandRef>* refs :
         {&dispatch.reads, &dispatch.writes, &dispatch.late_reads}) {
        const bool is_write = refs == &dispatch.writes;
        for (const OperandRef& ref : *refs) {
            LEAT_ASSIGN_OR_RETURN(const PlacedOperand place, place_of(ref));
            command.operands[command.operand_count++] = {place.buffer, place.offset_bytes,
                                                         place.size_bytes};
            // An empty operand keeps its number, and nobody touches it.
            if (place.size_bytes > 0) {
                uses.push_back({place.buffer,
                                {place.offset_bytes, place.offset_bytes + place.size_bytes},
                                is_write});
            }
        }
    }
    LEAT_ASSIGN_OR_RETURN(command.pipeline, pipeline_of(dispatch.shader));
    if (!dispatch.parameters.empty()) {
        command.parameters_offset = list_.add_parameters(dispatch.parameters);
    }
    return list_.add(command, uses, dispatch.estimated_ns);
}

bool ListWriter::is_external(const PlacedOperand& place) const {
    return list_.is_external(place.buffer);
}

Status ListWriter::copy(OperandRef from, OperandRef to, int64_t size_bytes) {
    LEAT_ASSIGN_OR_RETURN(const PlacedOperand source, place_of(from));
    LEAT_ASSIGN_OR_RETURN(const PlacedOperand target, place_of(to));
    const bool is_there_already =
        source.buffer == target.buffer && source.offset_bytes == target.offset_bytes;
    if (size_bytes == 0 || is_there_already) {
        return Status();
    }
    if (is_external(source) || is_external(target)) {
        return copy_by_kernel(source, target, size_bytes);
    }
    return list_.add(BufferCopy{source.buffer, target.buffer, source.offset_bytes,
                                target.offset_bytes, size_bytes});
}

// In words as wide as the offsets allow, the bytes after the last word one by one. Tensors
// themselves begin at multiples of 64 bytes.
Status ListWriter::copy_by_kernel(const PlacedOperand& source,
                                  const PlacedOperand& target,
                                  int64_t size_bytes) {
    int64_t word_bytes = 16;
    while ((source.offset_bytes | target.offset_bytes) % word_bytes != 0) {
        word_bytes /= 2;
    }
    const int64_t whole_bytes = size_bytes / word_bytes * word_bytes;
    LEAT_RETURN_IF_ERROR(copy_words(source, target, {0, whole_bytes}, word_bytes));
    return copy_words(source, target, {whole_bytes, size_bytes}, 1);
}

// `bytes` of both operands, counted from their begins; nothing if there are none.
Status ListWriter::copy_words(const PlacedOperand& source,
                              const PlacedOperand& target,
                              ByteRange bytes,
                              int64_t word_bytes) {
    const int64_t words = (bytes.end - bytes.begin) / word_bytes;
    if (words == 0) {
        return Status();
    }
    if (words >= kWordLimit) {
        return unsupported("a copy of {} bytes by a kernel", bytes.end)
            .with_needed(fmt::format("less than {}", kWordLimit * word_bytes));
    }
    CopyShape shape;
    shape.extents[0] = uint32_t(words);
    shape.x_strides[0] = 1;
    shape.y_strides[0] = 1;
    Dispatch command;
    command.groups = groups_for(words, kCopyWorkgroup, limits_);
    command.scalars = {uint32_t(words), 1};
    command.operands[0] = {source.buffer, source.offset_bytes + bytes.begin};
    command.operands[1] = {target.buffer, target.offset_bytes + bytes.begin};
    command.operand_count = 2;
    LEAT_ASSIGN_OR_RETURN(
        command.pipeline,
        pipeline_of({fmt::format("strided_copy_{}", word_bytes * 8), {kCopyWorkgroup}}));
    command.parameters_offset = list_.add_parameters(std::as_bytes(std::span(&shape, 1)));
    const BufferUse uses[] = {{source.buffer,
                               {source.offset_bytes + bytes.begin, source.offset_bytes + bytes.end},
                               false},
                              {target.buffer,
                               {target.offset_bytes + bytes.begin, target.offset_bytes + bytes.end},
                               true}};
    return list_.add(command, uses);
}

Status ListWriter::fill(OperandRef to, int64_t size_bytes, uint32_t pattern) {
    LEAT_ASSIGN_OR_RETURN(const PlacedOperand target, place_of(to));
    if (size_bytes == 0) {
        return Status();
    }
    const ByteRange bytes{target.offset_bytes, target.offset_bytes + size_bytes};
    if (!is_external(target)) {
        return list_.add(Fill{target.buffer, bytes, pattern});
    }
    if (bytes.begin % 4 != 0 || bytes.end % 4 != 0 || size_bytes / 4 >= kWordLimit) {
        return invalid_argument("a fill of bytes {} to {}", bytes.begin, bytes.end)
            .with_needed("multiples of 4, and less than 8 GiB");
    }
    Dispatch command;
    command.groups = groups_for(size_bytes / 4, kCopyWorkgroup, limits_);
    command.scalars = {uint32_t(size_bytes / 4), pattern};
    command.operands[0] = {target.buffer, target.offset_bytes};
    command.operand_count = 1;
    LEAT_ASSIGN_OR_RETURN(command.pipeline, pipeline_of({"fill_words", {kCopyWorkgroup}}));
    const BufferUse use{target.buffer, bytes, true};
    return list_.add(command, std::span(&use, 1));
}

}  // namespace leat::vulkan
