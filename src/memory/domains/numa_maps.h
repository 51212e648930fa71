// The kernel's own account of where pages are: /proc/self/numa_maps and smaps.
//
// For mappings of our own that no other one has been merged with: a Slab lies between guard pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace leat {

struct NumaMapsCount {
    bool is_known = false;         // false: the file is not there, or has no such mapping
    std::map<int, int64_t> pages;  // by OS node
    std::string policy;            // as the kernel writes it: "bind:1"
    int64_t huge_bytes = 0;        // in huge pages, of smaps
};

// Both files as they were at one moment. Used by one thread at a time.
class NumaMaps {
  public:
    // This process's, each read when it is first needed: the kernel walks all pages for them.
    NumaMaps() = default;
    // Recorded ones.
    NumaMaps(std::string numa_maps, std::string smaps)
        : numa_maps_(std::move(numa_maps)), smaps_(std::move(smaps)) {}

    // Pages of all mappings that begin in [begin, begin + bytes).
    NumaMapsCount count(const std::byte* begin, int64_t bytes);

  private:
    std::optional<std::string> numa_maps_;
    std::optional<std::string> smaps_;
};

}  // namespace leat
