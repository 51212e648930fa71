// PagedCopies: many copies as one, to be made by several threads, each of which fills huge pages
// of its own. Two threads that first touch the same huge page both clear it, and the kernel drops
// one (docs/measurements/aot.md).
//
// Immutable; different pages may be copied by different threads at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat {

struct Copy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    int64_t bytes = 0;
};

class PagedCopies {
  public:
    // No two overlap. What they copy from and to outlives this.
    explicit PagedCopies(std::vector<Copy> copies);

    // The huge pages (Slab::kHugePageBytes, at multiples of that) that something is copied to.
    int64_t page_count() const { return int64_t(pages_.size()); }
    // Makes the copies as far as they go to pages [begin, end), counted by address.
    void copy(int64_t begin, int64_t end) const;

  private:
    std::vector<Copy> copies_;      // by target
    std::vector<uintptr_t> pages_;  // where they begin
};

}  // namespace leat
