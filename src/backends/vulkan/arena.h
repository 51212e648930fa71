// Arena: memory of a device, in segments that one allocation and one buffer can be. Offsets run
// over all segments; a planner that wants tensors to lie in one segment plans each with its own
// capacity.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_range.h"
#include "device.h"
#include "memory_types.h"
#include "owned.h"

namespace leat::vulkan {

// Large enough for any layer's weights in one piece, small enough that a fragmented heap has it.
constexpr int64_t kSegmentBytes = int64_t{1} << 30;
// What an offset in an arena is aligned to at least, whatever the driver asks for.
constexpr int64_t kArenaAlignmentBytes = 256;

struct ArenaOptions {
    MemoryUse use = MemoryUse::kDevice;
    int64_t segment_bytes = kSegmentBytes;  // the device's limits may make it less
    // Tensors as if the device had memory of its own, so that staging can be tested anywhere.
    bool is_never_mapped = false;
};

// Bytes of a full segment: the least of the option and the device's limits.
int64_t segment_limit_bytes(const Device& device, const ArenaOptions& options);

// Move-only. Reading it is safe from any thread; its destruction wants the device to be done with
// it.
class Arena {
  public:
    struct Segment {
        OwnedMemory memory;
        OwnedBuffer buffer;  // destroyed before its memory
        ByteRange bytes;     // in the arena
        uint64_t address = 0;
        std::byte* mapped = nullptr;
    };

    // out_of_memory names the size and the segment that failed; nothing stays allocated then.
    static Result<Arena> allocate(std::shared_ptr<const Device> device,
                                  int64_t size_bytes,
                                  ArenaOptions options = {});
    // The caller's memory as one segment: unsupported where the device cannot, invalid_argument
    // where begin or size is not aligned to host_import_alignment_bytes. It must outlive the arena.
    static Result<Arena> import_host(std::shared_ptr<const Device> device,
                                     std::span<std::byte> memory);

    int64_t size_bytes() const { return size_bytes_; }
    bool is_mapped() const;
    std::span<const Segment> segments() const { return segments_; }
    // The segment that holds the byte; `offset` is inside the arena.
    size_t segment_of(int64_t offset) const;
    // The device's address of a range; invalid_argument unless it lies within one segment.
    Result<uint64_t> address(ByteRange range) const;

  private:
    explicit Arena(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
    Status add_segment(int64_t size_bytes, const ArenaOptions& options);
    Status add_imported(std::span<std::byte> memory);
    Status make_buffer(Segment& segment, int64_t size_bytes, const void* next) const;
    Status bind(Segment& segment, bool is_mapped) const;

    std::shared_ptr<const Device> device_;
    std::vector<Segment> segments_;
    int64_t size_bytes_ = 0;
};

}  // namespace leat::vulkan
