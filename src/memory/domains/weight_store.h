// WeightStore: packed copies of constants, shared by every plan and graph of a Runtime, each in the
// memory domain where it is read.
//
// Thread-safe. An entry lives as long as somebody holds its pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/mapped_file.h"  // drop_source_pages: the counterpart of get_or_pack
#include "leat/status.h"
#include "leat/tensor.h"
#include "memory/domains/mapped_weights.h"
#include "memory/domains/paged_copies.h"
#include "memory/domains/slab.h"

namespace leat {

// Where a copy of a constant is to be: in one domain (at home, or a replica), or on all the
// readers' domains.
struct WeightTarget {
    std::optional<MemoryDomainId> domain;  // none: on all readers' domains
    // On all readers' domains: for each reader the part that it reads, of constants that are read
    // in parts; else, and of all others, pages take turns.
    bool is_divided = false;
    friend bool operator==(const WeightTarget&, const WeightTarget&) = default;
};

// What tiles of the kernel that packs a constant read of it.
enum class WeightReads : uint8_t {
    kWhole,        // any may read all of it
    kInTileOrder,  // where tiles have different columns, [a, b) of n read about [a, b) / n of it
};

// A constant as a kernel reads it.
struct WeightForm {
    Tensor source;
    std::string layout_key;
    int64_t bytes = 0;  // packed
};

class WeightStore {
  public:
    // Fills `packed` from `source`; runs on CPUs of the domain, so that packing is the first touch.
    using Pack = std::function<void(const Tensor& source, std::byte* packed)>;

    // Everywhere.
    WeightStore();
    // For readers in these domains: threads, in the order of the tiles that they begin with.
    // Targets that the caller does not name: the domain of the readers if it is one, else all of
    // them.
    WeightStore(std::shared_ptr<MemoryDomains> domains,
                std::vector<MemoryDomainId> readers,
                bool divides = false);
    ~WeightStore();
    WeightStore(WeightStore&&) noexcept;
    WeightStore& operator=(WeightStore&&) noexcept;

    // What get_or_pack takes where the caller does not say.
    WeightTarget default_target() const;

    // Memory of `bytes` (64-byte aligned, zeroed) that `pack` fills from `source`; the same pointer
    // for equal elements of the same type, layout key, size and target while it lives. Callers of
    // one entry wait until it is packed; `pack` must not call the store. After packing, the pages
    // of a source that is a view of a mapped file are given back to the kernel.
    Result<std::shared_ptr<const std::byte>> get_or_pack(const Tensor& source,
                                                         std::string_view layout_key,
                                                         int64_t bytes,
                                                         const Pack& pack);
    // `hash`: content_hash of the elements where it is known, so that they are not read for it.
    Result<std::shared_ptr<const std::byte>> get_or_pack(const Tensor& source,
                                                         std::string_view layout_key,
                                                         int64_t bytes,
                                                         const Pack& pack,
                                                         WeightTarget target,
                                                         WeightReads reads = WeightReads::kWhole,
                                                         std::optional<uint64_t> hash = {});

    // A form whose packed bytes are in memory, and the content_hash of its source's elements.
    struct Ready {
        const WeightForm* form = nullptr;
        uint64_t hash = 0;
        const std::byte* packed = nullptr;
    };
    using MakeCopies = std::function<Status(std::vector<Copy>)>;
    // get_or_pack for many at once, in one domain: what nobody has made yet gets memory together
    // (SlabPool::allocate_together), which one call of `make_copies` fills; it must not call the
    // store. In the order of `ready`; null where another caller is about to make the entry:
    // get_or_pack waits for it.
    Result<std::vector<std::shared_ptr<const std::byte>>> copy_together(
        std::span<const Ready> ready, MemoryDomainId domain, const MakeCopies& make_copies);

    // What was packed of the tensor and lives; the same layout once for each domain.
    struct PackedForm {
        std::string layout_key;
        int64_t bytes = 0;
        std::shared_ptr<const std::byte> memory;
    };
    std::vector<PackedForm> forms_of(const Tensor& source) const;
    // Memory is placed on nodes: what is packed has to be where it is read.
    bool places() const;

    // Bytes of all living entries.
    int64_t packed_bytes() const;
    // What holds them.
    std::vector<std::shared_ptr<const Slab>> slabs() const;

    struct Impl;

  private:
    std::shared_ptr<Impl> impl_;  // shared with the entries, which may outlive the store
};

// Where constants go that do not go where others do; by address of their elements.
using WeightTargets = std::map<const std::byte*, WeightTarget>;

// The store as one plan uses it: constants go where the plan's threads read them. Thread-safe.
class PlacedWeights {
  public:
    explicit PlacedWeights(WeightStore& store) : PlacedWeights(store, store.default_target()) {}
    // `others` and `mapped`, if any, outlive it.
    PlacedWeights(WeightStore& store,
                  WeightTarget target,
                  const WeightTargets* others = nullptr,
                  const MappedWeights* mapped = nullptr)
        : store_(&store), target_(target), others_(others), mapped_(mapped) {}

    // What is mapped is read where it is, or copied to where it is read.
    Result<std::shared_ptr<const std::byte>> get_or_pack(
        const Tensor& source,
        std::string_view layout_key,
        int64_t bytes,
        const WeightStore::Pack& pack,
        WeightReads reads = WeightReads::kWhole) const;
    // WeightStore::copy_together for those of the forms that are mapped and go where most do; null
    // for the others, and for all where they go to no domain. `forms` outlive the call.
    Result<std::vector<std::shared_ptr<const std::byte>>> copy_together(
        std::span<const WeightForm> forms, const WeightStore::MakeCopies& make_copies) const;
    // Of all entries, whoever reads them, and of what is mapped.
    int64_t packed_bytes() const {
        return store_->packed_bytes() + (mapped_ == nullptr ? 0 : mapped_->packed_bytes());
    }

  private:
    WeightTarget target_of(const Tensor& source) const {
        if (others_ == nullptr) {
            return target_;
        }
        const auto other = others_->find(source.bytes());
        return other == others_->end() ? target_ : other->second;
    }

    WeightStore* store_;
    WeightTarget target_;
    const WeightTargets* others_;
    const MappedWeights* mapped_;
};

}  // namespace leat
