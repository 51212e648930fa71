// SlabPool: small blocks that share slabs of one placement, so that pages of theirs can be placed
// and counted.
//
// Thread-safe. Blocks keep what they need of the pool alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/slab.h"

namespace leat {

class SlabPool {
  public:
    static constexpr int64_t kAlignmentBytes = 64;
    // A slab of the pool. Below a huge page: only what is used becomes resident.
    static constexpr int64_t kChunkBytes = int64_t{1} << 20;
    // From here on a block has a slab of its own; what that wastes of a page is below 2 % then.
    static constexpr int64_t kOwnSlabBytes = kChunkBytes / 4;

    // `domains` null, or no domain in `placement`: wherever it is touched.
    SlabPool(std::shared_ptr<MemoryDomains> domains, SlabPlacement placement);

    // Zeroed memory, aligned to kAlignmentBytes; bytes == 0 gives one that must not be read. Room
    // of blocks that are gone is used again, and slabs without any block go back to the system.
    Result<std::shared_ptr<std::byte>> allocate(int64_t bytes);
    // One slab for the next blocks, whatever their size, which lie in it one behind the other while
    // they fit, until the result goes. What no block has then is given back, and whole pages of
    // blocks are as they go: nothing of it is used again. Null: so much does not fit the domain, or
    // is below kChunkBytes, and blocks are allocated as without.
    std::shared_ptr<const void> reserve(int64_t bytes);
    // All slabs with blocks in them, or reserved for some.
    std::vector<std::shared_ptr<const Slab>> slabs() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;  // shared with the blocks
};

}  // namespace leat
