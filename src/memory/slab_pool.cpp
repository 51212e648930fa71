#include "memory/slab_pool.h"

#include <algorithm>
#include <cstring>
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

// Free ranges of one slab.
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

// A slab for blocks that are known to come. Guarded by the pool's mutex.
struct Room {
    explicit Room(Slab all) : slab(std::move(all)) {}
    // All of its pages, so that blocks can be rounded to the alignment.
    bool has(int64_t bytes) const { return is_open && bytes <= slab.mapped_bytes() - used_bytes; }

    Slab slab;
    int64_t used_bytes = 0;
    bool is_open = true;
};

}  // namespace

struct SlabPool::Impl : std::enable_shared_from_this<SlabPool::Impl> {
    std::shared_ptr<MemoryDomains> domains;
    SlabPlacement placement;
    mutable std::mutex mutex;  // guards what follows
    std::vector<std::unique_ptr<Chunk>> chunks;
    std::vector<std::shared_ptr<Slab>> own_slabs;  // of large blocks
    std::vector<std::weak_ptr<Room>> rooms;        // whose blocks, or whoever reserved it, hold it

    Result<std::shared_ptr<Slab>> new_slab(int64_t bytes) const {
        LEAT_ASSIGN_OR_RETURN(Slab slab, Slab::make(bytes, domains, placement));
        return std::make_shared<Slab>(std::move(slab));
    }
    // Under the mutex.
    Result<std::pair<Chunk*, std::byte*>> take(int64_t bytes, Range& spare) {
        for (const std::unique_ptr<Chunk>& chunk : chunks) {
            if (std::byte* begin = chunk->take(bytes, spare)) {
                return std::pair(chunk.get(), begin);
            }
        }
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<Slab> slab, new_slab(kChunkBytes));
        chunks.push_back(std::make_unique<Chunk>(std::move(slab)));
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
    // Null: no room has so much.
    std::shared_ptr<std::byte> take_reserved(int64_t bytes) {
        std::shared_ptr<Room> room;
        int64_t offset = 0;
        {
            const std::lock_guard lock(mutex);
            for (const std::weak_ptr<Room>& held : rooms) {
                room = held.lock();
                if (room != nullptr && room->has(bytes)) {
                    bytes = round_up(bytes, kAlignmentBytes);
                    offset = std::exchange(room->used_bytes, room->used_bytes + bytes);
                    break;
                }
                room.reset();
            }
        }
        if (room == nullptr) {
            return nullptr;
        }
        std::byte* data = room->slab.data() + offset;
        return std::shared_ptr<std::byte>(
            data, [impl = shared_from_this(), room = std::move(room), offset, bytes](std::byte*) {
                const std::lock_guard lock(impl->mutex);
                room->slab.discard(offset, bytes);
            });
    }
    void close(Room& room) {
        const std::lock_guard lock(mutex);
        room.is_open = false;
        room.slab.discard(room.used_bytes, room.slab.mapped_bytes() - room.used_bytes);
    }
    void forget(const std::shared_ptr<Slab>& slab) {
        const std::lock_guard lock(mutex);
        const auto found = std::find(own_slabs.begin(), own_slabs.end(), slab);
        if (found != own_slabs.end()) {
            own_slabs.erase(found);
        }
    }
};

SlabPool::SlabPool(std::shared_ptr<MemoryDomains> domains, SlabPlacement placement)
    : impl_(std::make_shared<Impl>()) {
    impl_->domains = std::move(domains);
    impl_->placement = std::move(placement);
}

std::shared_ptr<const void> SlabPool::reserve(int64_t bytes) {
    if (bytes < kChunkBytes) {
        return nullptr;
    }
    Result<Slab> slab = Slab::make_if_it_fits(bytes, impl_->domains, impl_->placement);
    if (!slab.ok()) {
        return nullptr;
    }
    const auto room = std::make_shared<Room>(std::move(slab).value());
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->rooms.erase(std::remove_if(impl_->rooms.begin(), impl_->rooms.end(),
                                          [](const auto& held) { return held.expired(); }),
                           impl_->rooms.end());
        impl_->rooms.push_back(room);
    }
    return std::shared_ptr<const void>(
        room.get(), [impl = impl_, room](const void* /*room*/) { impl->close(*room); });
}

Result<std::shared_ptr<std::byte>> SlabPool::allocate(int64_t bytes) {
    if (std::shared_ptr<std::byte> reserved = impl_->take_reserved(std::max<int64_t>(bytes, 1))) {
        return reserved;
    }
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
    std::vector<std::shared_ptr<const Slab>> all(impl_->own_slabs.begin(), impl_->own_slabs.end());
    for (const std::unique_ptr<Chunk>& chunk : impl_->chunks) {
        all.push_back(chunk->slab());
    }
    for (const std::weak_ptr<Room>& held : impl_->rooms) {
        if (const std::shared_ptr<Room> room = held.lock()) {
            all.emplace_back(room, &room->slab);
        }
    }
    return all;
}

}  // namespace leat
