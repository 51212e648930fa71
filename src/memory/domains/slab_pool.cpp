#include "memory/domains/slab_pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"

namespace leat {
namespace {

// Ranges of a slab: bytes by offset.
using Ranges = std::map<int64_t, int64_t>;
// A range that is in no map. Held by whoever has the memory, so that giving it back needs none.
using Range = Ranges::node_type;

Range new_range() {
    Ranges one;
    one.emplace(0, 0);
    return one.extract(one.begin());
}

}  // namespace

// Free ranges of one slab. A member of a type with linkage has linkage itself, or GCC 14 warns
// where files are joined.
class Chunk {
  public:
    explicit Chunk(std::shared_ptr<Slab> slab) : slab_(std::move(slab)) {
        free_.emplace(0, slab_->size_bytes());
    }
    const std::shared_ptr<Slab>& slab() const { return slab_; }
    bool is_unused() const {
        return free_.size() == 1 && free_.begin()->second == slab_->size_bytes();
    }
    // `spare` becomes the beginning of the first range that is large enough. Null: there is none.
    // Allocates nothing.
    std::byte* take(int64_t bytes, Range& spare) {
        for (auto found = free_.begin(); found != free_.end(); ++found) {
            if (found->second < bytes) {
                continue;
            }
            spare.key() = found->first;
            spare.mapped() = bytes;
            Range rest = free_.extract(found);
            rest.key() += bytes;
            rest.mapped() -= bytes;
            if (rest.mapped() > 0) {
                free_.insert(std::move(rest));
            }
            std::byte* begin = slab_->data() + spare.key();
            // Fresh pages are zero, and stay untouched until they are needed.
            const int64_t used_before = std::clamp<int64_t>(touched_bytes_ - spare.key(), 0, bytes);
            std::memset(begin, 0, size_t(used_before));
            touched_bytes_ = std::max(touched_bytes_, spare.key() + bytes);
            return begin;
        }
        return nullptr;
    }
    void give_back(Range range) {
        const auto own = free_.insert(std::move(range)).position;
        const auto next = std::next(own);
        if (next != free_.end() && own->first + own->second == next->first) {
            own->second += next->second;
            free_.erase(next);
        }
        if (own != free_.begin()) {
            const auto previous = std::prev(own);
            if (previous->first + previous->second == own->first) {
                previous->second += own->second;
                free_.erase(own);
            }
        }
    }

  private:
    std::shared_ptr<Slab> slab_;
    Ranges free_;                // neighbours are merged
    int64_t touched_bytes_ = 0;  // of the slab's beginning: a block was there once
};

namespace {

// Where blocks of these sizes begin that lie one behind the other, and where the last one ends.
// Empty: they are more than any slab has.
std::vector<int64_t> offsets_of(std::span<const int64_t> sizes_bytes) {
    constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max() / 4;
    std::vector<int64_t> offsets = {0};
    offsets.reserve(sizes_bytes.size() + 1);
    for (const int64_t bytes : sizes_bytes) {
        if (bytes > kMostBytes - offsets.back()) {
            return {};
        }
        const int64_t rounded = round_up(std::max<int64_t>(bytes, 1), SlabPool::kAlignmentBytes);
        offsets.push_back(offsets.back() + rounded);
    }
    return offsets;
}

}  // namespace

struct SlabPool::Impl : std::enable_shared_from_this<SlabPool::Impl> {
    std::shared_ptr<MemoryDomains> domains;
    SlabPlacement placement;
    mutable std::mutex mutex;  // guards what follows
    std::vector<std::unique_ptr<Chunk>> chunks;
    std::vector<std::weak_ptr<Slab>> others;  // that blocks hold

    // That its blocks hold.
    std::shared_ptr<Slab> add(Slab made) {
        auto slab = std::make_shared<Slab>(std::move(made));
        const std::lock_guard lock(mutex);
        others.erase(std::remove_if(others.begin(), others.end(),
                                    [](const auto& held) { return held.expired(); }),
                     others.end());
        others.push_back(slab);
        return slab;
    }
    // Under the mutex.
    Result<std::pair<Chunk*, std::byte*>> take(int64_t bytes, Range& spare) {
        for (const std::unique_ptr<Chunk>& chunk : chunks) {
            if (std::byte* begin = chunk->take(bytes, spare)) {
                return std::pair(chunk.get(), begin);
            }
        }
        LEAT_ASSIGN_OR_RETURN(Slab slab, Slab::make(kChunkBytes, domains, placement));
        chunks.push_back(std::make_unique<Chunk>(std::make_shared<Slab>(std::move(slab))));
        return std::pair(chunks.back().get(), chunks.back()->take(bytes, spare));
    }
    void give_back(Chunk* chunk, Range range) {
        const std::lock_guard lock(mutex);
        chunk->give_back(std::move(range));
        if (chunk->is_unused()) {
            chunks.erase(std::find_if(chunks.begin(), chunks.end(),
                                      [&](const auto& held) { return held.get() == chunk; }));
        }
    }
    // [offset, offset + bytes) of a slab that no other block has.
    std::shared_ptr<std::byte> block_of(std::shared_ptr<Slab> slab, int64_t offset, int64_t bytes) {
        std::byte* data = slab->data() + offset;
        return std::shared_ptr<std::byte>(
            data, [impl = shared_from_this(), slab = std::move(slab), offset, bytes](std::byte*) {
                const std::lock_guard lock(impl->mutex);
                slab->discard(offset, bytes);
            });
    }
};

SlabPool::SlabPool(std::shared_ptr<MemoryDomains> domains, SlabPlacement placement)
    : impl_(std::make_shared<Impl>()) {
    impl_->domains = std::move(domains);
    impl_->placement = std::move(placement);
}

Result<std::vector<std::shared_ptr<std::byte>>> SlabPool::allocate_together(
    std::span<const int64_t> sizes_bytes) {
    std::vector<std::shared_ptr<std::byte>> blocks;
    blocks.reserve(sizes_bytes.size());
    const std::vector<int64_t> offsets = offsets_of(sizes_bytes);
    if (!offsets.empty() && offsets.back() >= kChunkBytes) {
        Result<Slab> made = Slab::make_if_it_fits(offsets.back(), impl_->domains, impl_->placement);
        if (made.ok()) {
            const std::shared_ptr<Slab> slab = impl_->add(std::move(made).value());
            for (size_t i = 0; i + 1 < offsets.size(); ++i) {
                blocks.push_back(impl_->block_of(slab, offsets[i], offsets[i + 1] - offsets[i]));
            }
            return blocks;
        }
    }
    for (const int64_t bytes : sizes_bytes) {
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> block, allocate(bytes));
        blocks.push_back(std::move(block));
    }
    return blocks;
}

Result<std::shared_ptr<std::byte>> SlabPool::allocate(int64_t bytes) {
    if (bytes >= kOwnSlabBytes) {
        LEAT_ASSIGN_OR_RETURN(Slab made, Slab::make(bytes, impl_->domains, impl_->placement));
        const std::shared_ptr<Slab> slab = impl_->add(std::move(made));
        return std::shared_ptr<std::byte>(slab, slab->data());
    }
    const int64_t rounded = round_up(std::max<int64_t>(bytes, 1), kAlignmentBytes);
    Range range = new_range();
    Chunk* chunk = nullptr;
    std::byte* data = nullptr;
    {
        const std::lock_guard lock(impl_->mutex);
        using Taken = std::pair<Chunk*, std::byte*>;
        LEAT_ASSIGN_OR_RETURN(const Taken taken, impl_->take(rounded, range));
        std::tie(chunk, data) = taken;
    }
    // Without the mutex: where this fails, the block is given back at once.
    return std::shared_ptr<std::byte>(
        data, [impl = impl_, chunk, range = std::move(range)](std::byte*) mutable {
            impl->give_back(chunk, std::move(range));
        });
}

std::vector<std::shared_ptr<const Slab>> SlabPool::slabs() const {
    const std::lock_guard lock(impl_->mutex);
    std::vector<std::shared_ptr<const Slab>> all;
    all.reserve(impl_->chunks.size() + impl_->others.size());
    for (const std::unique_ptr<Chunk>& chunk : impl_->chunks) {
        all.push_back(chunk->slab());
    }
    for (const std::weak_ptr<Slab>& held : impl_->others) {
        if (std::shared_ptr<const Slab> slab = held.lock()) {
            all.push_back(std::move(slab));
        }
    }
    return all;
}

}  // namespace leat
