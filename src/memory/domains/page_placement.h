// Where the pages of a range really are, counted: by asking the kernel for each page, and again by
// its own account of the mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "memory/domains/numa_maps.h"
#include "memory/domains/slab.h"

namespace leat {

enum class PageSource : uint8_t { kNone, kNumaMaps, kMovePages };
std::string_view name_of(PageSource source);

// In pages of page_bytes().
struct PageCounts {
    int64_t wanted = 0;     // pages of the range
    int64_t there = 0;      // resident in one of the wanted nodes
    int64_t elsewhere = 0;  // resident in another one
    int64_t absent = 0;     // not resident, or not known
    int64_t huge = 0;       // resident in huge pages
    PageSource source = PageSource::kNone;
    // False: the two sources disagree, because pages came or went in between.
    bool is_confirmed = true;
};

// Of a slab that nobody maps or trims meanwhile. Looks only at pages, and changes nothing; the time
// grows with the range and, the first time with `maps`, with all pages of the process.
PageCounts count_pages(const Slab& slab, const MemoryDomains& domains, NumaMaps& maps);
// Of [begin, begin + bytes), whole pages, wanted on `os_nodes`; none: wherever they are is right.
PageCounts count_pages(const std::byte* begin,
                       int64_t bytes,
                       std::span<const int> os_nodes,
                       NumaMaps& maps);

// What the kernel does with pages of its own accord.
struct PageSettings {
    bool is_balancing = false;  // it moves pages that no policy binds (numa_balancing)
    std::string huge_pages;     // "always", "madvise", "never"; empty: unknown
};
PageSettings read_page_settings(const std::string& root);

}  // namespace leat
