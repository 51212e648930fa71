// WeightSlots: which entries a WeightStore has or is making, by the tensor that they are made of
// and by its elements.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "leat/tensor.h"

namespace leat {

// Identity of a source. The weak owner keeps the control block's address taken, so that another
// tensor at the same address is not mistaken for one that is gone.
struct WeightSource {
    const std::byte* address = nullptr;
    std::weak_ptr<const void> owner;
    bool has_owner = false;  // false: the elements live for ever
    int64_t bytes = 0;

    explicit WeightSource(const Tensor& tensor)
        : address(tensor.bytes()),
          owner(tensor.owner()),
          has_owner(tensor.owner() != nullptr),
          bytes(tensor.byte_count()) {}

    bool operator<(const WeightSource& other) const {
        const auto mine = std::tie(address, bytes);
        const auto others = std::tie(other.address, other.bytes);
        return mine < others || (mine == others && owner.owner_before(other.owner));
    }
    // False also where the elements are gone.
    bool has_same_elements(const Tensor& tensor) const {
        const std::shared_ptr<const void> alive = owner.lock();
        return (alive != nullptr || !has_owner) && bytes == tensor.byte_count() &&
               (bytes == 0 || std::memcmp(address, tensor.bytes(), size_t(bytes)) == 0);
    }
};

// What is made of a source.
struct PlacedForm {
    DType dtype = DType::kUndefined;
    int64_t packed_bytes = 0;
    int32_t place = 0;  // a domain, or what the store numbers beside them
    std::string layout_key;

    bool operator<(const PlacedForm& other) const {
        return std::tie(dtype, packed_bytes, place, layout_key) <
               std::tie(other.dtype, other.packed_bytes, other.place, other.layout_key);
    }
};

using WeightKey = std::pair<WeightSource, PlacedForm>;
using WeightContent = std::pair<uint64_t, PlacedForm>;

class WeightSlot;
using SlotBySource = std::map<WeightKey, std::shared_ptr<WeightSlot>>;

// One entry, packed or about to be.
class WeightSlot {
  public:
    WeightSlot(WeightSource first, WeightContent key)
        : source(std::move(first)), content(std::move(key)) {}

    const WeightSource source;  // that it was made for
    const WeightContent content;
    std::vector<SlotBySource::iterator> names;  // all that share it; guarded by the tables' mutex

    // Null: there is none, or none yet.
    std::shared_ptr<const std::byte> entry() const {
        const std::lock_guard lock(mutex_);
        return packed_.lock();
    }
    // The same without becoming a holder: the last one forgets the slot.
    bool is_empty() const {
        const std::lock_guard lock(mutex_);
        return packed_.expired();
    }
    struct Turn {
        std::shared_ptr<const std::byte> entry;
        bool is_callers = false;  // to fill it; end_filling must follow
    };
    // The entry, or the turn to fill it. With neither another caller has that.
    Turn begin_filling() {
        const std::lock_guard lock(mutex_);
        return turn();
    }
    // Waits for the other caller.
    Turn wait_to_fill() {
        std::unique_lock lock(mutex_);
        is_ended_.wait(lock, [this] { return !is_being_filled_; });
        return turn();
    }
    // Null: it stays empty.
    void end_filling(const std::shared_ptr<const std::byte>& entry) {
        {
            const std::lock_guard lock(mutex_);
            packed_ = entry;
            is_being_filled_ = false;
        }
        is_ended_.notify_all();
    }

  private:
    // Under the mutex.
    Turn turn() {
        if (is_being_filled_) {
            return {};
        }
        std::shared_ptr<const std::byte> found = packed_.lock();
        is_being_filled_ = found == nullptr;
        return {std::move(found), is_being_filled_};
    }

    mutable std::mutex mutex_;  // guards what follows
    std::condition_variable is_ended_;
    bool is_being_filled_ = false;
    std::weak_ptr<const std::byte> packed_;
};

// The tables of slots.
class WeightSlots {
  public:
    // The slot of equal elements, or a new one; `hash`: content_hash of the elements, if known.
    std::shared_ptr<WeightSlot> find_or_add(const Tensor& tensor,
                                            const WeightKey& key,
                                            std::optional<uint64_t> hash);
    // Takes a slot without an entry out of the tables, if only the caller holds it. Called when the
    // last holder of an entry is gone; a new caller may hold the slot already.
    void forget(const std::shared_ptr<WeightSlot>& slot);

    struct Entry {
        PlacedForm form;
        std::shared_ptr<const std::byte> memory;
    };
    // What there is of the tensor.
    std::vector<Entry> entries_of(const Tensor& tensor);

  private:
    std::shared_ptr<WeightSlot> find(const WeightKey& key);
    void name(const WeightKey& key, const std::shared_ptr<WeightSlot>& slot);
    void add(const WeightKey& key, const std::shared_ptr<WeightSlot>& slot);

    std::mutex mutex_;  // guards what follows
    SlotBySource by_source_;
    std::multimap<WeightContent, std::shared_ptr<WeightSlot>> by_content_;
};

}  // namespace leat
