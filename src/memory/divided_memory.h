// DividedMemory: blocks that several readers read in parts, each part in its reader's domain.
//
// Thread-safe. A block lives as long as somebody holds its pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "memory/domains/slab.h"
#include "memory/domains/slab_pool.h"

namespace leat {

// An equal part of `bytes` > 0 for each reader, in their order, to the nearest page, or huge page
// where a part has many. Parts next to each other in one domain are one; empty ones are left out.
std::vector<SlabPart> divide_among(int64_t bytes, std::span<const MemoryDomainId> readers);

class DividedMemory {
  public:
    // A smaller block is mostly borders of pages.
    static constexpr int64_t kLeastBytes = SlabPool::kOwnSlabBytes;

    DividedMemory(std::shared_ptr<MemoryDomains> domains, std::vector<MemoryDomainId> readers);

    // Zeroed and resident.
    Result<std::shared_ptr<std::byte>> allocate(int64_t bytes);
    // Of all blocks.
    std::vector<std::shared_ptr<const Slab>> slabs() const;

  private:
    using Block = std::vector<Slab>;

    std::shared_ptr<MemoryDomains> domains_;
    std::vector<MemoryDomainId> readers_;
    mutable std::mutex mutex_;  // guards blocks_
    std::vector<std::weak_ptr<const Block>> blocks_;
};

}  // namespace leat
