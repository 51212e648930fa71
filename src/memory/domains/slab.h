// Slab: one block of anonymous memory in a memory domain, mapped once and given back as a whole.
//
// Lies between guard pages or slabs of other domains, so that the kernel's account of its pages is
// its own. Movable, not copyable. Distinct ranges may be used by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "leat/status.h"
#include "memory/domains/memory_domains.h"
#include "memory/domains/numa_policy.h"

namespace leat {

// Where the pages of a slab are to be.
struct SlabPlacement {
    MemoryPolicy policy = MemoryPolicy::kNone;  // kNone, kBind (one domain) or kInterleave
    std::vector<MemoryDomainId> domains = {};
};

// A part of adjacent slabs.
struct SlabPart {
    int64_t bytes = 0;
    MemoryDomainId domain{};
};

class Slab {
  public:
    static constexpr int64_t kHugePageBytes = int64_t{2} << 20;

    Slab() = default;
    // Zeroed memory, wherever it is touched. From kHugePageBytes on it starts at a multiple of that
    // and asks the kernel for huge pages; below it starts at a page. out_of_memory instead of an
    // abort; bytes == 0 maps nothing.
    static Result<Slab> make(int64_t bytes);
    // The same in `domains`, with the strongest policy that is possible; before any page is
    // touched. What does not fit the budget of its domain is preferred there instead of bound, or
    // an error if `domains` is strict.
    static Result<Slab> make(int64_t bytes,
                             std::shared_ptr<MemoryDomains> domains,
                             SlabPlacement placement);
    // The same or nothing: out_of_memory also where it would not be bound for want of room, and
    // nobody is told of that.
    static Result<Slab> make_if_it_fits(int64_t bytes,
                                        std::shared_ptr<MemoryDomains> domains,
                                        SlabPlacement placement);
    // One range of addresses as a slab for each part, in their order, each bound to its domain.
    // Parts are of whole pages, but for the last, and neighbours in different domains.
    static Result<std::vector<Slab>> make_adjacent(std::span<const SlabPart> parts,
                                                   const std::shared_ptr<MemoryDomains>& domains);
    ~Slab();
    Slab(Slab&& other) noexcept;
    Slab& operator=(Slab&& other) noexcept;

    std::byte* data() const { return data_; }
    int64_t size_bytes() const { return size_bytes_; }
    int64_t mapped_bytes() const { return mapped_bytes_; }  // whole pages
    // What was asked for, kNone where all pages are in one domain anyway.
    const SlabPlacement& placement() const { return placement_; }
    // What the kernel was told, or what is done instead.
    MemoryPolicy effective_policy() const { return effective_; }

    // Touches every page from the calling thread, which runs on CPUs of the domain for that long,
    // so that the kernel places pages now and not during a run. Only of a slab that is fresh or
    // trimmed, and that nobody uses meanwhile: writes zeros.
    void touch() { touch(0, size_bytes_); }
    // The same of the pages that [offset, offset + bytes) lies in. Writes only inside of the range,
    // so that others may use the rest.
    void touch(int64_t offset, int64_t bytes);
    // Gives all pages back: the memory is zero again, and comes back at the next touch.
    void trim();
    // Gives back the whole pages inside of [offset, offset + bytes) for good: they count no longer
    // as taken of the domains. One thread at a time; nobody uses them, and each goes once.
    void discard(int64_t offset, int64_t bytes);

  private:
    // What becomes of a slab that does not fit the budget of its domains.
    enum class Unfit : uint8_t { kIsPreferred, kIsRefused };

    static Result<Slab> make(int64_t bytes,
                             std::shared_ptr<MemoryDomains> domains,
                             SlabPlacement placement,
                             Unfit unfit);
    Slab cut(int64_t bytes);
    Status put(std::shared_ptr<MemoryDomains> domains, SlabPlacement placement, Unfit unfit);
    void place();
    Status check_budget(Unfit unfit);
    // How many of so many bytes each of its domains has, rounded up.
    int64_t share_of(int64_t bytes) const;
    void release() noexcept;

    std::byte* data_ = nullptr;
    int64_t size_bytes_ = 0;
    int64_t mapped_bytes_ = 0;
    int64_t taken_bytes_ = 0;        // of each of its domains
    std::byte* reserved_ = nullptr;  // with the guard pages
    int64_t reserved_bytes_ = 0;
    std::shared_ptr<MemoryDomains> domains_;
    SlabPlacement placement_;
    MemoryPolicy effective_ = MemoryPolicy::kNone;
};

}  // namespace leat
