#include "memory/domains/weight_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/sort_unique.h"
#include "leat/scheduler/thread_binding.h"
#include "memory/divided_memory.h"
#include "memory/domains/slab_pool.h"
#include "memory/domains/weight_slots.h"

namespace leat {
namespace {

// Where a domain's number stands: all readers', in turn or by what each of them reads.
constexpr int32_t kAllReaders = -1;
constexpr int32_t kDivided = -2;

}  // namespace

struct WeightStore::Impl {
    std::shared_ptr<MemoryDomains> domains = std::make_shared<MemoryDomains>();
    std::vector<MemoryDomainId> readers;  // each once
    std::map<int32_t, SlabPool> pools;    // by domain, or kAllReaders; fixed from the beginning
    std::optional<DividedMemory> divided;
    std::atomic<int64_t> packed_bytes{0};
    WeightSlots slots;

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

// A caller's turn to fill a slot. Where it does not, another one may, or the slot leaves the
// tables.
class Filling {
  public:
    Filling(WeightStore::Impl& store, std::shared_ptr<WeightSlot> slot)
        : store_(&store), slot_(std::move(slot)) {}
    ~Filling() {
        if (slot_ != nullptr) {
            slot_->end_filling(nullptr);
            store_->slots.forget(slot_);
        }
    }
    Filling(Filling&&) noexcept = default;
    Filling(const Filling&) = delete;
    Filling& operator=(const Filling&) = delete;
    Filling& operator=(Filling&&) = delete;

    // Makes the memory, which is filled, the slot's entry. Its last holder gives back the memory
    // first, then the slot's place in the tables. The slot's weak pointer keeps the function object
    // here, which must keep neither slot nor store after that.
    std::shared_ptr<const std::byte> end(const std::shared_ptr<WeightStore::Impl>& store,
                                         std::shared_ptr<std::byte> memory,
                                         int64_t bytes) {
        store->packed_bytes.fetch_add(bytes, std::memory_order_relaxed);
        const std::byte* data = memory.get();
        std::shared_ptr<const std::byte> entry(
            data, [own = slot_, bytes, impl = store,
                   memory = std::move(memory)](const std::byte*) mutable {
                memory.reset();
                const std::shared_ptr<WeightStore::Impl> held = std::move(impl);
                const std::shared_ptr<WeightSlot> last = std::move(own);
                held->packed_bytes.fetch_sub(bytes, std::memory_order_relaxed);
                held->slots.forget(last);
            });
        slot_->end_filling(entry);
        slot_.reset();
        return entry;
    }

  private:
    WeightStore::Impl* store_;
    std::shared_ptr<WeightSlot> slot_;  // null: filled
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
                                                                  WeightReads reads,
                                                                  std::optional<uint64_t> hash) {
    LEAT_CHECK(bytes >= 0, "packed weights of {} bytes", bytes);
    const int32_t place = impl_->place_of(target, reads, bytes);
    const WeightKey key{WeightSource(source),
                        PlacedForm{source.dtype(), bytes, place, std::string(layout_key)}};
    std::shared_ptr<WeightSlot> slot = impl_->slots.find_or_add(source, key, hash);
    const WeightSlot::Turn turn = slot->wait_to_fill();
    if (!turn.is_callers) {
        return turn.entry;
    }
    Filling filling(*impl_, std::move(slot));
    const std::optional<scheduler::ThreadBinding> binding = impl_->bind_to(place);
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, impl_->allocate(place, bytes));
    pack(source, memory.get());
    drop_source_pages(source);
    return filling.end(impl_, std::move(memory), bytes);
}

Result<std::vector<std::shared_ptr<const std::byte>>> WeightStore::copy_together(
    std::span<const Ready> ready, MemoryDomainId domain, const MakeCopies& make_copies) {
    const auto pool = impl_->pools.find(int32_t(domain));
    LEAT_CHECK(pool != impl_->pools.end(), "no memory domain {}", int32_t(domain));
    std::vector<std::shared_ptr<const std::byte>> entries(ready.size());
    std::vector<Filling> fillings;  // goes before the entries: these are forgotten then
    std::vector<size_t> filled;     // by filling, its place among the entries
    std::vector<int64_t> sizes_bytes;
    fillings.reserve(ready.size());
    for (size_t i = 0; i < ready.size(); ++i) {
        const WeightForm& form = *ready[i].form;
        const WeightKey key{
            WeightSource(form.source),
            PlacedForm{form.source.dtype(), form.bytes, int32_t(domain), form.layout_key}};
        std::shared_ptr<WeightSlot> slot =
            impl_->slots.find_or_add(form.source, key, ready[i].hash);
        WeightSlot::Turn turn = slot->begin_filling();
        if (turn.entry != nullptr) {
            entries[i] = std::move(turn.entry);
        } else if (!turn.is_callers) {
            impl_->slots.forget(slot);  // where the other caller has failed meanwhile
        } else {
            fillings.emplace_back(*impl_, std::move(slot));
            filled.push_back(i);
            sizes_bytes.push_back(form.bytes);
        }
    }
    if (fillings.empty()) {
        return entries;
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<std::byte>> memory,
                          pool->second.allocate_together(sizes_bytes));
    std::vector<Copy> copies(memory.size());
    for (size_t f = 0; f < memory.size(); ++f) {
        copies[f] = {ready[filled[f]].packed, memory[f].get(), sizes_bytes[f]};
    }
    LEAT_RETURN_IF_ERROR(make_copies(std::move(copies)));
    for (size_t f = 0; f < memory.size(); ++f) {
        entries[filled[f]] = fillings[f].end(impl_, std::move(memory[f]), sizes_bytes[f]);
    }
    return entries;
}

std::vector<WeightStore::PackedForm> WeightStore::forms_of(const Tensor& source) const {
    std::vector<PackedForm> forms;
    for (WeightSlots::Entry& entry : impl_->slots.entries_of(source)) {
        forms.push_back(
            {std::move(entry.form.layout_key), entry.form.packed_bytes, std::move(entry.memory)});
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

Result<std::vector<std::shared_ptr<const std::byte>>> PlacedWeights::copy_together(
    std::span<const WeightForm> forms, const WeightStore::MakeCopies& make_copies) const {
    std::vector<std::shared_ptr<const std::byte>> entries(forms.size());
    if (!target_.domain || mapped_ == nullptr || !store_->places()) {
        return entries;
    }
    std::vector<WeightStore::Ready> ready;
    std::vector<size_t> places;
    for (size_t i = 0; i < forms.size(); ++i) {
        const WeightForm& form = forms[i];
        const std::optional<uint64_t> hash = mapped_->hash_of(form.source);
        const auto packed = mapped_->find(form.source, form.layout_key, form.bytes);
        if (hash && packed != nullptr && target_of(form.source) == target_) {
            ready.push_back({&form, *hash, packed.get()});
            places.push_back(i);
        }
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<const std::byte>> copied,
                          store_->copy_together(ready, *target_.domain, make_copies));
    for (size_t i = 0; i < copied.size(); ++i) {
        entries[places[i]] = std::move(copied[i]);
    }
    return entries;
}

}  // namespace leat
