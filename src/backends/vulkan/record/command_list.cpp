#include "backends/vulkan/record/command_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kParametersAlignment = 16;

}  // namespace

BufferId CommandList::add_buffer(int64_t size_bytes, bool is_external) {
    buffers_.push_back({size_bytes, is_external});
    return BufferId(buffers_.size() - 1);
}

int64_t CommandList::add_parameters(std::span<const std::byte> bytes) {
    const int64_t offset = round_up(int64_t(parameters_.size()), kParametersAlignment);
    parameters_.resize(size_t(offset));
    parameters_.insert(parameters_.end(), bytes.begin(), bytes.end());
    return offset;
}

Status CommandList::check_range(BufferId buffer, ByteRange bytes) const {
    if (size_t(buffer) >= buffers_.size()) {
        return invalid_argument("buffer {} of a list of {}", size_t(buffer), buffers_.size());
    }
    const int64_t size_bytes = buffers_[size_t(buffer)].size_bytes;
    if (bytes.begin < 0 || bytes.begin >= bytes.end || bytes.end > size_bytes) {
        return invalid_argument("bytes {} to {} of buffer {} of {} bytes", bytes.begin, bytes.end,
                                size_t(buffer), size_bytes);
    }
    return Status();
}

Status CommandList::check_internal(BufferId buffer) const {
    if (is_external(buffer)) {
        return invalid_argument("a copy or fill of external buffer {}", size_t(buffer))
            .with_needed("a buffer of the instance, or a kernel that copies")
            .with_hint("a recorded copy always has the same addresses");
    }
    return Status();
}

Status CommandList::check_operand(const Dispatch& dispatch, uint32_t index) const {
    const Operand& operand = dispatch.operands[index];
    const bool is_window = (dispatch.windows >> index & 1U) != 0;
    const int64_t size_bytes = is_window ? operand.size_bytes : 1;
    LEAT_RETURN_IF_ERROR(
        check_range(operand.buffer, {operand.offset_bytes, operand.offset_bytes + size_bytes}));
    if (is_window && is_external(operand.buffer)) {
        return invalid_argument("a window of external buffer {}", size_t(operand.buffer))
            .with_needed("a buffer of the instance, or a kernel that takes an address")
            .with_hint("a recorded window always is of the same bytes");
    }
    return Status();
}

template <class Action>
void CommandList::append(const Action& action,
                         std::span<const BufferUse> uses,
                         int64_t estimated_ns) {
    commands_.push_back({action, uint32_t(uses_.size()), uint32_t(uses.size()), estimated_ns});
    uses_.insert(uses_.end(), uses.begin(), uses.end());
}

Status CommandList::add(const Dispatch& dispatch,
                        std::span<const BufferUse> uses,
                        int64_t estimated_ns) {
    if (dispatch.operand_count > kMaxOperands ||
        std::count(dispatch.groups.begin(), dispatch.groups.end(), 0U) > 0) {
        return invalid_argument("a dispatch of {} x {} x {} groups with {} operands",
                                dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                                dispatch.operand_count)
            .with_needed(fmt::format("positive counts and at most {} operands", kMaxOperands));
    }
    if (dispatch.parameters_offset >= int64_t(parameters_.size())) {
        return invalid_argument("a dispatch with parameters at {} of {} bytes",
                                dispatch.parameters_offset, parameters_.size());
    }
    for (const BufferUse& use : uses) {
        LEAT_RETURN_IF_ERROR(check_range(use.buffer, use.bytes));
    }
    for (uint32_t i = 0; i < dispatch.operand_count; ++i) {
        LEAT_RETURN_IF_ERROR(check_operand(dispatch, i));
    }
    if (dispatch.windows >> dispatch.operand_count != 0) {
        return invalid_argument("a dispatch of {} operands with windows {:#b}",
                                dispatch.operand_count, dispatch.windows);
    }
    append(dispatch, uses, estimated_ns);
    return Status();
}

Status CommandList::add(const BufferCopy& copy, int64_t estimated_ns) {
    const BufferUse uses[] = {
        {copy.source, {copy.source_offset, copy.source_offset + copy.byte_count}, false},
        {copy.destination,
         {copy.destination_offset, copy.destination_offset + copy.byte_count},
         true}};
    for (const BufferUse& use : uses) {
        LEAT_RETURN_IF_ERROR(check_range(use.buffer, use.bytes));
        LEAT_RETURN_IF_ERROR(check_internal(use.buffer));
    }
    if (copy.source == copy.destination && uses[0].bytes.meets(uses[1].bytes)) {
        return invalid_argument("a copy of {} bytes from {} to {} of one buffer overlaps itself",
                                copy.byte_count, copy.source_offset, copy.destination_offset);
    }
    append(copy, uses, estimated_ns);
    return Status();
}

Status CommandList::add(const Fill& fill, int64_t estimated_ns) {
    LEAT_RETURN_IF_ERROR(check_range(fill.destination, fill.bytes));
    LEAT_RETURN_IF_ERROR(check_internal(fill.destination));
    if (fill.bytes.begin % 4 != 0 || fill.bytes.end % 4 != 0) {
        return invalid_argument("a fill of bytes {} to {}", fill.bytes.begin, fill.bytes.end)
            .with_needed("multiples of 4");
    }
    const BufferUse use{fill.destination, fill.bytes, true};
    append(fill, std::span(&use, 1), estimated_ns);
    return Status();
}

}  // namespace leat::vulkan
