// SlabPool: small blocks that share slabs of one placement, so that pages of theirs can be placed
// and counted.
//
// Thread-safe. Blocks keep what they need of the pool alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/domains/slab.h"

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
    // The same for several blocks, which lie one behind the other in one slab. Whole pages of them
    // are given back as blocks go, and nothing of it is used again. Where so much does not fit the
    // domain, or is below kChunkBytes, each is allocated by itself.
    Result<std::vector<std::shared_ptr<std::byte>>> allocate_together(
        std::span<const int64_t> sizes_bytes);
    // All slabs with blocks in them.
    std::vector<std::shared_ptr<const Slab>> slabs() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;  // shared with the blocks
};

}  // namespace leat
