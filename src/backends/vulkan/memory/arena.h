// Arena: memory of a device with one range of addresses, whatever the device's limit of an
// allocation is. Where a device cannot join allocations, each of them has addresses of its own.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/owned.h"
#include "backends/vulkan/memory/host_pages.h"
#include "backends/vulkan/memory/memory_types.h"
#include "base/byte_range.h"

namespace leat::vulkan {

// What an offset in an arena is aligned to at least, whatever the driver asks for.
constexpr int64_t kArenaAlignmentBytes = 256;

// How several allocations get addresses that run on from one to the next.
enum class Joining : uint8_t {
    kAny,       // kImported on devices that are CPUs, then kSparse, then kNone
    kImported,  // host memory, imported in pieces, where a device's addresses are the process's
    kSparse,    // one buffer that is bound to all of them
    kNone,
};

struct ArenaOptions {
    MemoryUse use = MemoryUse::kDevice;
    // Of one allocation, at most; the device's limits may make it less.
    int64_t allocation_bytes = std::numeric_limits<int64_t>::max();
    // Of an arena that needs several allocations.
    Joining joining = Joining::kAny;
    // Tensors as if the device had memory of its own, so that staging can be tested anywhere.
    bool is_never_mapped = false;
};

// Bytes of the largest allocation: the least of the option and the device's limits.
int64_t allocation_limit_bytes(const Device& device, const ArenaOptions& options);

// What commands other than dispatches, and windows, name: a buffer from an offset on.
struct BufferPart {
    VkBuffer buffer = nullptr;
    int64_t offset = 0;
    int64_t bytes = 0;  // to the end of the buffer
};

// Move-only. Reading it is safe from any thread; its destruction wants the device to be done with
// it.
class Arena {
  public:
    // One allocation.
    struct Segment {
        OwnedMemory memory;
        OwnedBuffer buffer;  // destroyed before its memory; none in a sparse arena
        ByteRange bytes;     // in the arena
        uint64_t address = 0;
        std::byte* mapped = nullptr;
    };

    // Joining::kSparse waits for the work of the compute queue. out_of_memory names the size and
    // what was allocated of it; nothing stays allocated then. unsupported: a way of joining that
    // the device lacks.
    static Result<Arena> allocate(const std::shared_ptr<const Device>& device,
                                  int64_t size_bytes,
                                  ArenaOptions options = {});
    // The caller's memory as one segment: unsupported where the device cannot, invalid_argument
    // where begin or size is not aligned to host_import_alignment_bytes. It must outlive the arena.
    static Result<Arena> import_host(std::shared_ptr<const Device> device,
                                     std::span<std::byte> memory);

    int64_t size_bytes() const { return size_bytes_; }
    bool is_mapped() const;
    std::span<const Segment> segments() const { return segments_; }
    // The bytes around one, inside the arena, whose addresses run on: all of them, unless the
    // device cannot join.
    ByteRange addressable_around(int64_t offset) const;
    // The device's address of a range; invalid_argument unless it lies inside, unsupported where
    // addresses do not run on over it.
    Result<uint64_t> address(ByteRange range) const;
    BufferPart buffer_at(int64_t offset) const;
    // From the offset to the end of the mapping; empty where the host does not see it.
    std::span<std::byte> mapped_at(int64_t offset) const;
    // Writes what the host sees, inside the arena.
    void write(int64_t offset, std::span<const std::byte> bytes) const;
    // A range of an imported arena, in multiples of host_import_alignment_bytes, in one buffer,
    // which no single segment may have: the same memory, which must outlive it. unsupported
    // elsewhere.
    Result<Arena> import_part(ByteRange range) const;

  private:
    explicit Arena(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
    Status add_segments(Joining way,
                        int64_t size_bytes,
                        int64_t limit,
                        const ArenaOptions& options);
    Status add_allocated(int64_t size_bytes, const ArenaOptions& options);
    Status add_pieces(int64_t size_bytes, int64_t limit, bool is_mapped);
    Status add_sparse(int64_t size_bytes, int64_t limit, const ArenaOptions& options);
    Status add_imported(std::span<std::byte> memory);
    const Segment& segment_at(int64_t offset) const;

    std::shared_ptr<const Device> device_;
    HostPages pages_;  // of an imported arena
    std::vector<Segment> segments_;
    OwnedBuffer sparse_;  // of a sparse one: over all segments
    int64_t size_bytes_ = 0;
    bool is_joined_ = true;
};

}  // namespace leat::vulkan
