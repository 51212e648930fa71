#include "memory/weight_store.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"
#include "base/sort_unique.h"
#include "leat/scheduler/thread_binding.h"
#include "memory/content_hash.h"
#include "memory/divided_memory.h"
#include "memory/slab_pool.h"

namespace leat {
namespace {

// Identity of a source. The weak owner keeps the control block's address taken, so that another
// tensor at the same address is not mistaken for one that is gone.
struct Source {
    const std::byte* address = nullptr;
    std::weak_ptr<const void> owner;
    bool has_owner = false;  // false: the elements live for ever
    int64_t bytes = 0;

    explicit Source(const Tensor& tensor)
        : address(tensor.bytes()),
          owner(tensor.owner()),
          has_owner(tensor.owner() != nullptr),
          bytes(tensor.byte_count()) {}

    bool operator<(const Source& other) const {
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

// Where a domain's number stands: all readers', in turn or by what each of them reads.
constexpr int32_t kAllReaders = -1;
constexpr int32_t kDivided = -2;

// What is made of a source.
struct Form {
    DType dtype = DType::kUndefined;
    int64_t packed_bytes = 0;
    int32_t domain = kAllReaders;  // of the target
    std::string layout_key;

    bool operator<(const Form& other) const {
        return std::tie(dtype, packed_bytes, domain, layout_key) <
               std::tie(other.dtype, other.packed_bytes, other.domain, other.layout_key);
    }
};

using SourceKey = std::pair<Source, Form>;
using ContentKey = std::pair<uint64_t, Form>;

struct Slot;
using SlotBySource = std::map<SourceKey, std::shared_ptr<Slot>>;

// One entry, packed or about to be. `packing` is held while it is filled.
struct Slot {
    Slot(Source first, ContentKey key) : source(std::move(first)), content(std::move(key)) {}

    const Source source;  // that it was made for
    const ContentKey content;
    std::vector<SlotBySource::iterator> names;  // all that share it; guarded by the store's mutex
    std::mutex packing;
    std::weak_ptr<const std::byte> packed;
};

}  // namespace

struct WeightStore::Impl {
    std::shared_ptr<MemoryDomains> domains = std::make_shared<MemoryDomains>();
    std::vector<MemoryDomainId> readers;  // each once
    std::map<int32_t, SlabPool> pools;    // by domain, or kAllReaders; fixed from the beginning
    std::optional<DividedMemory> divided;
    std::atomic<int64_t> packed_bytes{0};

    std::mutex mutex;  // guards what follows
    SlotBySource by_source;
    std::multimap<ContentKey, std::shared_ptr<Slot>> by_content;

    void make_pools() {
        SlabPlacement shared;
        if (!readers.empty()) {
            const bool is_one = readers.size() == 1;
            shared = {is_one ? MemoryPolicy::kBind : MemoryPolicy::kInterleave, readers};
        }
        pools.emplace(kAllReaders, SlabPool(domains, shared));
        for (const MemoryDomain& domain : domains->list()) {
            pools.emplace(int32_t(domain.id),
                          SlabPool(domains, {MemoryPolicy::kBind, {domain.id}}));
        }
    }

    int32_t place_of(const WeightTarget& target, WeightReads reads, int64_t bytes) const {
        if (target.domain) {
            return int32_t(*target.domain);
        }
        const bool is_divided = target.is_divided && reads == WeightReads::kInTileOrder &&
                                bytes >= DividedMemory::kLeastBytes;
        return is_divided && divided ? kDivided : kAllReaders;
    }
    Result<std::shared_ptr<std::byte>> allocate(int32_t place, int64_t bytes) {
        if (place == kDivided) {
            return divided->allocate(bytes);
        }
        const auto pool = pools.find(place);
        LEAT_CHECK(pool != pools.end(), "no memory domain {}", place);
        return pool->second.allocate(bytes);
    }

    std::shared_ptr<Slot> find(const SourceKey& key) {
        const std::lock_guard lock(mutex);
        const auto found = by_source.find(key);
        return found == by_source.end() ? nullptr : found->second;
    }
    // Under the mutex; `key` is new. All or nothing, also where an allocation fails.
    void name(const SourceKey& key, const std::shared_ptr<Slot>& slot) {
        slot->names.reserve(slot->names.size() + 1);
        slot->names.push_back(by_source.emplace(key, slot).first);
    }
    void add(const SourceKey& key, const std::shared_ptr<Slot>& slot) {
        slot->names.reserve(1);
        const auto content = by_content.emplace(slot->content, slot);
        try {
            name(key, slot);
        } catch (...) {
            by_content.erase(content);
            throw;
        }
    }
    // The slot of equal elements, or a new one. Elements are compared without the mutex: they may
    // have to come from a file.
    std::shared_ptr<Slot> find_or_add(const Tensor& tensor,
                                      const SourceKey& key,
                                      std::optional<uint64_t> hash) {
        if (std::shared_ptr<Slot> found = find(key)) {
            return found;
        }
        if (!hash) {
            hash = content_hash({tensor.bytes(), size_t(tensor.byte_count())});
        }
        const ContentKey content{*hash, key.second};
        std::set<const Slot*> others;  // with the same hash and other elements
        for (;;) {
            std::shared_ptr<Slot> candidate;
            {
                const std::lock_guard lock(mutex);
                if (const auto found = by_source.find(key); found != by_source.end()) {
                    return found->second;
                }
                const auto [begin, end] = by_content.equal_range(content);
                const auto next = std::find_if(begin, end, [&](const auto& held) {
                    return others.count(held.second.get()) == 0;
                });
                if (next == end) {
                    auto slot = std::make_shared<Slot>(key.first, content);
                    add(key, slot);
                    return slot;
                }
                candidate = next->second;
            }
            if (candidate->source.has_same_elements(tensor)) {
                const std::lock_guard lock(mutex);
                if (const auto found = by_source.find(key); found != by_source.end()) {
                    return found->second;
                }
                if (!candidate->names.empty()) {  // nobody has forgotten it meanwhile
                    name(key, candidate);
                    return candidate;
                }
            }
            others.insert(candidate.get());
        }
    }
    // Called when the last holder of an entry is gone; a new caller may hold the slot already.
    void forget(const std::shared_ptr<Slot>& slot) {
        const std::lock_guard lock(mutex);
        // The table's two, the names', and the caller's.
        const auto held_by_tables = int64_t(slot->names.size()) + 1;
        if (slot->names.empty() || slot.use_count() > held_by_tables + 1 || !is_empty(*slot)) {
            return;
        }
        for (const SlotBySource::iterator name : slot->names) {
            by_source.erase(name);
        }
        slot->names.clear();
        const auto [begin, end] = by_content.equal_range(slot->content);
        const auto held = std::find_if(
            begin, end, [&](const auto& candidate) { return candidate.second == slot; });
        if (held != end) {
            by_content.erase(held);
        }
    }
    // Locks, so that what a caller that has just left wrote is seen.
    static bool is_empty(Slot& slot) {
        const std::lock_guard lock(slot.packing);
        return slot.packed.expired();
    }
    // Where the calling thread packs.
    std::optional<scheduler::ThreadBinding> bind_to(int32_t domain) const {
        std::optional<scheduler::ThreadBinding> binding;
        if (domain >= 0 && domains->places()) {
            binding.emplace(domains->at(MemoryDomainId{domain}).cpus);
            (void)binding->bind();
        }
        return binding;
    }
};

namespace {

// Takes a slot out of the tables that was not filled.
class Unfilled {
  public:
    Unfilled(WeightStore::Impl& store, const std::shared_ptr<Slot>& slot)
        : store_(store), slot_(slot) {}
    ~Unfilled() {
        if (!is_filled) {
            store_.forget(slot_);
        }
    }
    Unfilled(const Unfilled&) = delete;
    Unfilled& operator=(const Unfilled&) = delete;

    bool is_filled = false;

  private:
    WeightStore::Impl& store_;
    const std::shared_ptr<Slot>& slot_;
};

}  // namespace

WeightStore::WeightStore() : impl_(std::make_shared<Impl>()) {
    impl_->make_pools();
}
WeightStore::WeightStore(std::shared_ptr<MemoryDomains> domains,
                         std::vector<MemoryDomainId> readers,
                         bool divides)
    : impl_(std::make_shared<Impl>()) {
    impl_->domains = std::move(domains);
    if (divides && !readers.empty()) {
        impl_->divided.emplace(impl_->domains, readers);
    }
    sort_unique(readers);
    impl_->readers = std::move(readers);
    impl_->make_pools();
}
WeightStore::~WeightStore() = default;
WeightStore::WeightStore(WeightStore&&) noexcept = default;
WeightStore& WeightStore::operator=(WeightStore&&) noexcept = default;

int64_t WeightStore::packed_bytes() const {
    return impl_->packed_bytes.load(std::memory_order_relaxed);
}

std::vector<std::shared_ptr<const Slab>> WeightStore::slabs() const {
    std::vector<std::shared_ptr<const Slab>> all;
    for (const auto& [domain, pool] : impl_->pools) {
        const std::vector<std::shared_ptr<const Slab>> some = pool.slabs();
        all.insert(all.end(), some.begin(), some.end());
    }
    if (impl_->divided) {
        const std::vector<std::shared_ptr<const Slab>> parts = impl_->divided->slabs();
        all.insert(all.end(), parts.begin(), parts.end());
    }
    return all;
}

WeightTarget WeightStore::default_target() const {
    WeightTarget target;
    if (impl_->readers.size() == 1) {
        target.domain = impl_->readers.front();
    }
    target.is_divided = impl_->divided && !target.domain;
    return target;
}

Result<std::shared_ptr<const std::byte>> WeightStore::get_or_pack(const Tensor& source,
                                                                  std::string_view layout_key,
                                                                  int64_t bytes,
                                                                  const Pack& pack) {
    return get_or_pack(source, layout_key, bytes, pack, default_target());
}

Result<std::shared_ptr<const std::byte>> WeightStore::get_or_pack(const Tensor& source,
                                                                  std::string_view layout_key,
                                                                  int64_t bytes,
                                                                  const Pack& pack,
                                                                  WeightTarget target,
                                                                  WeightReads reads) {
    return get_or_pack(source, layout_key, bytes, pack, target, reads, std::nullopt);
}

Result<std::shared_ptr<const std::byte>> WeightStore::get_or_pack(const Tensor& source,
                                                                  std::string_view layout_key,
                                                                  int64_t bytes,
                                                                  const Pack& pack,
                                                                  WeightTarget target,
                                                                  WeightReads reads,
                                                                  std::optional<uint64_t> hash) {
    LEAT_CHECK(bytes >= 0, "packed weights of {} bytes", bytes);
    const int32_t place = impl_->place_of(target, reads, bytes);
    const SourceKey key{Source(source),
                        Form{source.dtype(), bytes, place, std::string(layout_key)}};
    const std::shared_ptr<Slot> slot = impl_->find_or_add(source, key, hash);
    Unfilled unfilled(*impl_, slot);  // goes after the lock
    const std::lock_guard lock(slot->packing);
    if (std::shared_ptr<const std::byte> found = slot->packed.lock()) {
        unfilled.is_filled = true;
        return found;
    }
    const std::optional<scheduler::ThreadBinding> binding = impl_->bind_to(place);
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, impl_->allocate(place, bytes));
    std::byte* data = memory.get();
    pack(source, data);
    drop_source_pages(source);
    impl_->packed_bytes.fetch_add(bytes, std::memory_order_relaxed);
    // The last holder gives back the memory first, then its place in the table. The slot's weak
    // pointer keeps this function object, which must keep neither slot nor store after that.
    std::shared_ptr<const std::byte> entry(
        data,
        [own = slot, bytes, impl = impl_, memory = std::move(memory)](const std::byte*) mutable {
            memory.reset();
            const std::shared_ptr<Impl> store = std::move(impl);
            const std::shared_ptr<Slot> last = std::move(own);
            store->packed_bytes.fetch_sub(bytes, std::memory_order_relaxed);
            store->forget(last);
        });
    slot->packed = entry;
    unfilled.is_filled = true;
    return entry;
}

bool WeightStore::may_have(const WeightForm& form, WeightTarget target, uint64_t hash) const {
    const int32_t place = impl_->place_of(target, WeightReads::kWhole, form.bytes);
    const ContentKey key{hash, Form{form.source.dtype(), form.bytes, place, form.layout_key}};
    const std::lock_guard lock(impl_->mutex);
    return impl_->by_content.count(key) > 0;
}

std::shared_ptr<const void> WeightStore::reserve(MemoryDomainId domain, int64_t bytes) {
    const auto pool = impl_->pools.find(int32_t(domain));
    return pool == impl_->pools.end() ? nullptr : pool->second.reserve(bytes);
}

std::vector<WeightStore::PackedForm> WeightStore::forms_of(const Tensor& source) const {
    std::vector<PackedForm> forms;  // outlives the locks: it may be the last holder of an entry
    const Source wanted(source);
    const std::lock_guard lock(impl_->mutex);
    for (auto at = impl_->by_source.lower_bound({wanted, Form{}});
         at != impl_->by_source.end() && !(wanted < at->first.first); ++at) {
        Slot& slot = *at->second;
        const std::lock_guard packing(slot.packing);
        if (std::shared_ptr<const std::byte> memory = slot.packed.lock()) {
            const Form& form = at->first.second;
            forms.push_back({form.layout_key, form.packed_bytes, std::move(memory)});
        }
    }
    return forms;
}

bool WeightStore::places() const {
    return impl_->domains->places();
}

Result<std::shared_ptr<const std::byte>> PlacedWeights::get_or_pack(const Tensor& source,
                                                                    std::string_view layout_key,
                                                                    int64_t bytes,
                                                                    const WeightStore::Pack& pack,
                                                                    WeightReads reads) const {
    const WeightTarget target = target_of(source);
    std::shared_ptr<const std::byte> ready;
    if (mapped_ != nullptr) {
        ready = mapped_->find(source, layout_key, bytes);
    }
    if (ready == nullptr) {
        return store_->get_or_pack(source, layout_key, bytes, pack, target, reads);
    }
    if (!store_->places()) {
        return ready;
    }
    const auto copy = [&ready, bytes](const Tensor& /*source*/, std::byte* packed) {
        std::copy_n(ready.get(), bytes, packed);
    };
    return store_->get_or_pack(source, layout_key, bytes, copy, target, reads,
                               mapped_->hash_of(source));
}

std::shared_ptr<const void> PlacedWeights::reserve(std::span<const WeightForm> forms) const {
    if (!target_.domain || mapped_ == nullptr || !store_->places()) {
        return nullptr;
    }
    int64_t bytes = 0;
    for (const WeightForm& form : forms) {
        const std::optional<uint64_t> hash = mapped_->hash_of(form.source);
        if (hash && target_of(form.source) == target_ && !store_->may_have(form, target_, *hash)) {
            bytes += round_up(form.bytes, SlabPool::kAlignmentBytes);
        }
    }
    return store_->reserve(*target_.domain, bytes);
}

}  // namespace leat
