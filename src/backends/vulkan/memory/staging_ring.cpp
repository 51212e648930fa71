#include "backends/vulkan/memory/staging_ring.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/vulkan/record/command_pool.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

Status check_range(const Arena& arena, int64_t offset, size_t count) {
    const auto bytes = int64_t(count);
    if (offset < 0 || bytes > arena.size_bytes() || offset > arena.size_bytes() - bytes) {
        return invalid_argument("a copy of {} bytes at {} of an arena of {}", bytes, offset,
                                arena.size_bytes());
    }
    return Status();
}

// Orders the copy with everything before it in the queue, and makes it visible to all after it and
// to the host.
void order_copy(const DeviceCalls& vk, VkCommandBuffer commands) {
    constexpr VkAccessFlags2 kAny = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
    record_barrier(vk, commands, {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, kAny},
                   {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT, kAny});
}

}  // namespace

Result<std::unique_ptr<StagingRing>> StagingRing::create(std::shared_ptr<Queue> queue,
                                                         StagingOptions options) {
    if (options.slot_bytes <= 0 || options.slot_count <= 0) {
        return invalid_argument("a staging ring of {} slots of {} bytes", options.slot_count,
                                options.slot_bytes);
    }
    std::unique_ptr<StagingRing> ring(new StagingRing(std::move(queue)));
    LEAT_RETURN_IF_ERROR(ring->make_slots(options));
    return ring;
}

StagingRing::~StagingRing() {
    for (const Slot& slot : slots_) {
        (void)wait(slot.point);
    }
}

Status StagingRing::make_slots(StagingOptions options) {
    const std::shared_ptr<Device>& device = queue_->device();
    LEAT_ASSIGN_OR_RETURN(pool_, make_command_pool(*device, queue_->family()));
    ArenaOptions memory;
    // Read by the host as often as written.
    memory.use = MemoryUse::kReadback;
    slots_.reserve(size_t(options.slot_count));
    for (int i = 0; i < options.slot_count; ++i) {
        LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(device, options.slot_bytes, memory));
        LEAT_ASSIGN_OR_RETURN(const VkCommandBuffer commands,
                              allocate_commands(*device, pool_.get()));
        slots_.push_back({std::move(arena), commands, 0});
    }
    return Status();
}

Status StagingRing::wait(uint64_t point) {
    if (point == 0) {
        return Status();
    }
    return queue_->wait(point, std::numeric_limits<int64_t>::max()).error();
}

Result<StagingRing::Slot*> StagingRing::next_slot() {
    Slot& slot = slots_[next_];
    LEAT_RETURN_IF_ERROR(wait(slot.point));
    next_ = (next_ + 1) % slots_.size();
    return &slot;
}

ByteRange StagingRing::next_part(const Arena& arena, ByteRange left) const {
    const int64_t slot_bytes = slots_.front().memory.size_bytes();
    const int64_t together = std::min(slot_bytes, arena.buffer_at(left.begin).bytes);
    return {left.begin, std::min(left.end, left.begin + together)};
}

Status StagingRing::submit_copy(
    Slot& slot, const Arena& arena, ByteRange bytes, bool is_upload, uint64_t after) {
    const DeviceCalls& vk = queue_->device()->calls();
    const BufferPart part = arena.buffer_at(bytes.begin);
    const VkBuffer staging = slot.memory.buffer_at(0).buffer;
    const auto offset = VkDeviceSize(part.offset);
    const auto count = VkDeviceSize(bytes.end - bytes.begin);
    LEAT_RETURN_IF_ERROR(begin_commands(*queue_->device(), slot.commands));
    order_copy(vk, slot.commands);
    if (is_upload) {
        const VkBufferCopy copy{0, offset, count};
        vk.CmdCopyBuffer(slot.commands, staging, part.buffer, 1, &copy);
    } else {
        const VkBufferCopy copy{offset, 0, count};
        vk.CmdCopyBuffer(slot.commands, part.buffer, staging, 1, &copy);
    }
    order_copy(vk, slot.commands);
    LEAT_RETURN_IF_ERROR(end_commands(*queue_->device(), slot.commands));
    const Queue::Wait wait{queue_.get(), after};
    LEAT_ASSIGN_OR_RETURN(slot.point, queue_->submit(std::span(&slot.commands, 1),
                                                     after == 0 ? std::span<const Queue::Wait>()
                                                                : std::span(&wait, 1)));
    return Status();
}

Result<uint64_t> StagingRing::upload(std::span<const std::byte> source,
                                     const Arena& arena,
                                     int64_t offset) {
    LEAT_RETURN_IF_ERROR(check_range(arena, offset, source.size()));
    uint64_t point = 0;
    ByteRange left{offset, offset + int64_t(source.size())};
    while (left.begin < left.end) {
        const ByteRange part = next_part(arena, left);
        LEAT_ASSIGN_OR_RETURN(Slot * slot, next_slot());
        std::memcpy(slot->memory.mapped_at(0).data(), source.data() + (part.begin - offset),
                    size_t(part.end - part.begin));
        LEAT_RETURN_IF_ERROR(submit_copy(*slot, arena, part, true, 0));
        point = slot->point;
        left.begin = part.end;
    }
    return point;
}

Status StagingRing::download(const Arena& arena,
                             int64_t offset,
                             std::span<std::byte> destination,
                             uint64_t after) {
    LEAT_RETURN_IF_ERROR(check_range(arena, offset, destination.size()));
    struct Part {
        Slot* slot = nullptr;
        ByteRange bytes;
    };
    std::vector<Part> parts;  // in flight, oldest first
    parts.reserve(slots_.size());
    const auto take_oldest = [&]() -> Status {
        const Part part = parts.front();
        parts.erase(parts.begin());
        LEAT_RETURN_IF_ERROR(wait(part.slot->point));
        std::memcpy(destination.data() + (part.bytes.begin - offset),
                    part.slot->memory.mapped_at(0).data(),
                    size_t(part.bytes.end - part.bytes.begin));
        return Status();
    };
    ByteRange left{offset, offset + int64_t(destination.size())};
    while (left.begin < left.end) {
        if (parts.size() == slots_.size()) {
            LEAT_RETURN_IF_ERROR(take_oldest());
        }
        const ByteRange bytes = next_part(arena, left);
        LEAT_ASSIGN_OR_RETURN(Slot * slot, next_slot());
        LEAT_RETURN_IF_ERROR(submit_copy(*slot, arena, bytes, false, after));
        parts.push_back({slot, bytes});
        left.begin = bytes.end;
    }
    while (!parts.empty()) {
        LEAT_RETURN_IF_ERROR(take_oldest());
    }
    return Status();
}

}  // namespace leat::vulkan
