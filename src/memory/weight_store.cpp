#include "memory/weight_store.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "memory/arena.h"

namespace leat {
namespace {

constexpr int64_t kAlignmentBytes = 64;

// Identity of a source. The weak owner keeps the control block's address taken, so that another
// tensor at the same address is not mistaken for one that is gone.
struct Key {
    const std::byte* address = nullptr;
    std::weak_ptr<const void> owner;
    int64_t source_bytes = 0;
    int64_t packed_bytes = 0;
    std::string layout_key;

    bool operator<(const Key& other) const {
        const auto mine = std::tie(address, source_bytes, packed_bytes, layout_key);
        const auto others =
            std::tie(other.address, other.source_bytes, other.packed_bytes, other.layout_key);
        return mine < others || (mine == others && owner.owner_before(other.owner));
    }
};

// One entry, packed or about to be. `packing` is held while it is filled.
struct Slot {
    std::mutex packing;
    std::weak_ptr<const std::byte> packed;
};

// Large entries get their own mapping, so that huge pages apply and everything returns to the
// system.
Result<std::shared_ptr<std::byte>> allocate_zeroed(int64_t bytes) {
    if (bytes >= Arena::kHugePageBytes) {
        LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::make(bytes));
        auto owner = std::make_shared<Arena>(std::move(arena));
        std::byte* data = owner->data();
        return std::shared_ptr<std::byte>(std::move(owner), data);
    }
    const int64_t rounded =
        (std::max<int64_t>(bytes, 1) + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    void* memory = std::aligned_alloc(size_t(kAlignmentBytes), size_t(rounded));
    if (memory == nullptr) {
        return out_of_memory("cannot allocate {} bytes for packed weights", bytes);
    }
    std::memset(memory, 0, size_t(rounded));
    return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory), std::free);
}

}  // namespace

struct WeightStore::Impl {
    std::mutex mutex;  // guards slots
    std::map<Key, std::shared_ptr<Slot>> slots;
    std::atomic<int64_t> packed_bytes{0};

    std::shared_ptr<Slot> find_or_add(const Key& key) {
        const std::lock_guard lock(mutex);
        std::shared_ptr<Slot>& slot = slots[key];
        if (slot == nullptr) {
            slot = std::make_shared<Slot>();
        }
        return slot;
    }
    // Called when the last holder of an entry is gone; a new caller may hold the slot already.
    void forget(const Key& key) {
        const std::lock_guard lock(mutex);
        const auto found = slots.find(key);
        if (found != slots.end() && found->second.use_count() == 1 && is_empty(*found->second)) {
            slots.erase(found);
        }
    }
    // Locks, so that what a caller that has just left wrote is seen.
    static bool is_empty(Slot& slot) {
        const std::lock_guard lock(slot.packing);
        return slot.packed.expired();
    }
};

WeightStore::WeightStore() : impl_(std::make_shared<Impl>()) {}
WeightStore::~WeightStore() = default;

int64_t WeightStore::packed_bytes() const {
    return impl_->packed_bytes.load(std::memory_order_relaxed);
}

Result<std::shared_ptr<const std::byte>> WeightStore::get_or_pack(
    const Tensor& source,
    std::string_view layout_key,
    int64_t bytes,
    const std::function<void(const Tensor& source, std::byte* packed)>& pack) {
    LEAT_CHECK(bytes >= 0, "packed weights of {} bytes", bytes);
    const Key key{source.bytes(), source.owner(), source.byte_count(), bytes,
                  std::string(layout_key)};
    const std::shared_ptr<Slot> slot = impl_->find_or_add(key);
    const std::lock_guard lock(slot->packing);
    if (std::shared_ptr<const std::byte> found = slot->packed.lock()) {
        return found;
    }
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, allocate_zeroed(bytes));
    std::byte* data = memory.get();
    pack(source, data);
    drop_source_pages(source);
    impl_->packed_bytes.fetch_add(bytes, std::memory_order_relaxed);
    // The last holder gives back the memory first, then its place in the table.
    std::shared_ptr<const std::byte> entry(
        data, [key, impl = impl_, memory = std::move(memory)](const std::byte*) mutable {
            memory.reset();
            impl->packed_bytes.fetch_sub(key.packed_bytes, std::memory_order_relaxed);
            impl->forget(key);
        });
    slot->packed = entry;
    return entry;
}

}  // namespace leat
