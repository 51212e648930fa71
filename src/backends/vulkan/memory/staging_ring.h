// StagingRing: copies between the host's memory and arenas that the host does not see.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backends/vulkan/device/queue.h"
#include "backends/vulkan/memory/arena.h"

namespace leat::vulkan {

struct StagingOptions {
    // Three slots: one is filled, one copied, one waits; 32 MiB hide a copy's fixed costs.
    int64_t slot_bytes = int64_t{32} << 20;
    int slot_count = 3;
};

// Used by one thread at a time. Its copies are submits of `queue`, so they are ordered with others
// by points, which the caller passes on.
class StagingRing {
  public:
    static Result<std::unique_ptr<StagingRing>> create(std::shared_ptr<Queue> queue,
                                                       StagingOptions options = {});
    StagingRing(const StagingRing&) = delete;
    StagingRing& operator=(const StagingRing&) = delete;
    // Waits for its copies.
    ~StagingRing();

    // Copies `source` to `arena` from `offset` on. Returns the point at which the arena holds it;
    // `source` is free at once. Blocks while all slots are in flight.
    Result<uint64_t> upload(std::span<const std::byte> source, const Arena& arena, int64_t offset);
    // Blocks until `destination` holds what `arena` has at `offset` after the point `after`.
    Status download(const Arena& arena,
                    int64_t offset,
                    std::span<std::byte> destination,
                    uint64_t after = 0);

  private:
    struct Slot {
        Arena memory;
        VkCommandBuffer commands = nullptr;
        uint64_t point = 0;  // of the copy that last used it
    };

    explicit StagingRing(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    Status make_slots(StagingOptions options);
    Result<Slot*> next_slot();
    Status wait(uint64_t point);
    // Copies between a slot's begin and a part of one segment; `after` 0 waits for nothing.
    Status submit_copy(
        Slot& slot, const Arena& arena, ByteRange bytes, bool is_upload, uint64_t after);
    // The bytes of `left` that fit into a slot and lie in one segment.
    ByteRange next_part(const Arena& arena, ByteRange left) const;

    std::shared_ptr<Queue> queue_;
    OwnedCommandPool pool_;
    std::vector<Slot> slots_;
    size_t next_ = 0;
};

}  // namespace leat::vulkan
