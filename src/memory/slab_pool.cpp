#include "memory/slab_pool.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

// Free ranges of one slab.
class Chunk {
  public:
    explicit Chunk(std::shared_ptr<Slab> slab) : slab_(std::move(slab)) {
        free_[0] = slab_->size_bytes();
    }
    const std::shared_ptr<Slab>& slab() const { return slab_; }
    bool is_unused() const {
        return free_.size() == 1 && free_.begin()->second == slab_->size_bytes();
    }
    // The first range that is large enough; null: there is none.
    std::byte* take(int64_t bytes) {
        for (auto range = free_.begin(); range != free_.end(); ++range) {
            const auto [offset, room] = *range;
            if (room < bytes) {
                continue;
            }
            free_.erase(range);
            if (room > bytes) {
                free_[offset + bytes] = room - bytes;
            }
            std::byte* begin = slab_->data() + offset;
            // Fresh pages are zero, and stay untouched until they are needed.
            const int64_t used_before = std::clamp<int64_t>(touched_bytes_ - offset, 0, bytes);
            std::memset(begin, 0, size_t(used_before));
            touched_bytes_ = std::max(touched_bytes_, offset + bytes);
            return begin;
        }
        return nullptr;
    }
    void give_back(const std::byte* begin, int64_t bytes) {
        auto range = free_.emplace(begin - slab_->data(), bytes).first;
        const auto next = std::next(range);
        if (next != free_.end() && range->first + range->second == next->first) {
            range->second += next->second;
            free_.erase(next);
        }
        if (range != free_.begin()) {
            const auto previous = std::prev(range);
            if (previous->first + previous->second == range->first) {
                previous->second += range->second;
                free_.erase(range);
            }
        }
    }

  private:
    std::shared_ptr<Slab> slab_;
    std::map<int64_t, int64_t> free_;  // bytes by offset; neighbours are merged
    int64_t touched_bytes_ = 0;        // of the slab's beginning: a block was there once
};

}  // namespace

struct SlabPool::Impl {
    std::shared_ptr<MemoryDomains> domains;
    SlabPlacement placement;
    mutable std::mutex mutex;  // guards chunks and own_slabs
    std::vector<std::unique_ptr<Chunk>> chunks;
    std::vector<std::shared_ptr<Slab>> own_slabs;  // of large blocks

    Result<std::shared_ptr<Slab>> new_slab(int64_t bytes) const {
        LEAT_ASSIGN_OR_RETURN(Slab slab, Slab::make(bytes, domains, placement));
        return std::make_shared<Slab>(std::move(slab));
    }
    // Under the mutex.
    Result<std::pair<Chunk*, std::byte*>> take(int64_t bytes) {
        for (const std::unique_ptr<Chunk>& chunk : chunks) {
            if (std::byte* begin = chunk->take(bytes)) {
                return std::pair(chunk.get(), begin);
            }
        }
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<Slab> slab, new_slab(kChunkBytes));
        chunks.push_back(std::make_unique<Chunk>(std::move(slab)));
        return std::pair(chunks.back().get(), chunks.back()->take(bytes));
    }
    void give_back(Chunk* chunk, const std::byte* begin, int64_t bytes) {
        const std::lock_guard lock(mutex);
        chunk->give_back(begin, bytes);
        if (chunk->is_unused()) {
            chunks.erase(std::find_if(chunks.begin(), chunks.end(),
                                      [&](const auto& held) { return held.get() == chunk; }));
        }
    }
    void forget(const std::shared_ptr<Slab>& slab) {
        const std::lock_guard lock(mutex);
        own_slabs.erase(std::find(own_slabs.begin(), own_slabs.end(), slab));
    }
};

SlabPool::SlabPool(std::shared_ptr<MemoryDomains> domains, SlabPlacement placement)
    : impl_(std::make_shared<Impl>()) {
    impl_->domains = std::move(domains);
    impl_->placement = std::move(placement);
}

Result<std::shared_ptr<std::byte>> SlabPool::allocate(int64_t bytes) {
    if (bytes >= kOwnSlabBytes) {
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<Slab> slab, impl_->new_slab(bytes));
        {
            const std::lock_guard lock(impl_->mutex);
            impl_->own_slabs.push_back(slab);
        }
        std::byte* data = slab->data();
        return std::shared_ptr<std::byte>(
            data, [impl = impl_, slab = std::move(slab)](std::byte*) { impl->forget(slab); });
    }
    const int64_t rounded =
        (std::max<int64_t>(bytes, 1) + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    const std::lock_guard lock(impl_->mutex);
    using Taken = std::pair<Chunk*, std::byte*>;
    LEAT_ASSIGN_OR_RETURN(const Taken taken, impl_->take(rounded));
    return std::shared_ptr<std::byte>(
        taken.second, [impl = impl_, chunk = taken.first, rounded](std::byte* begin) {
            impl->give_back(chunk, begin, rounded);
        });
}

std::vector<std::shared_ptr<const Slab>> SlabPool::slabs() const {
    const std::lock_guard lock(impl_->mutex);
    std::vector<std::shared_ptr<const Slab>> all(impl_->own_slabs.begin(), impl_->own_slabs.end());
    for (const std::unique_ptr<Chunk>& chunk : impl_->chunks) {
        all.push_back(chunk->slab());
    }
    return all;
}

}  // namespace leat
