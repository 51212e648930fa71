// The kernel's own account of where pages are: /proc/self/numa_maps and smaps.
//
// For mappings of our own that no other one has been merged with: a Slab lies between guard pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace leat {

struct NumaMapsCount {
    bool is_known = false;         // false: the file is not there, or has no such mapping
    std::map<int, int64_t> pages;  // by OS node
    std::string policy;            // as the kernel writes it: "bind:1"
    int64_t huge_bytes = 0;        // in huge pages, of smaps
};

// Pages of all mappings that begin in [begin, begin + bytes).
NumaMapsCount count_numa_maps(const std::byte* begin, int64_t bytes);
// The same of given texts, for recorded files.
NumaMapsCount count_numa_maps(std::string_view numa_maps,
                              std::string_view smaps,
                              uint64_t begin,
                              int64_t bytes);

}  // namespace leat
