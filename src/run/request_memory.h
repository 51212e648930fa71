// RequestMemory: the slabs of one request. One in the request's home domain for activations and the
// scratch of workers there, and one for the scratch of workers of each other domain.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "leat/runtime.h"
#include "machine/device_part.h"
#include "memory/domains/numa_maps.h"
#include "memory/domains/slab.h"

namespace leat {

class RequestMemory {
  public:
    // Worker 0 is the caller, at home in `home` whatever `workers` says.
    RequestMemory(std::shared_ptr<MemoryDomains> domains,
                  MemoryDomainId home,
                  std::vector<MemoryDomainId> workers);

    bool has_room(int64_t arena_bytes, int64_t scratch_bytes) const;
    // New slabs, touched: `arena_bytes` for activations, `scratch_bytes` for each worker, and never
    // less than before. On an error the old ones stay. What was in them is lost to the request, but
    // lives on with who holds arena().
    Status grow(int64_t arena_bytes, int64_t scratch_bytes);

    const std::shared_ptr<const Slab>& arena() const { return arena_; }
    std::span<std::byte* const> scratch() const { return scratch_; }  // by worker
    // The arena as memory of the part's backend, imported once; null: there are no bytes.
    Result<std::shared_ptr<DeviceSlab>> arena_of(const DevicePart& part);

    // Gives all pages back until touch_if_trimmed().
    void trim();
    void touch_if_trimmed();
    // The pages of each slab.
    void add_to(PlacementReport& report, NumaMaps& maps) const;

  private:
    std::vector<MemoryDomainId> domains_in_use() const;

    std::shared_ptr<MemoryDomains> domains_;
    MemoryDomainId home_;
    std::vector<MemoryDomainId> workers_;
    std::shared_ptr<const Slab> arena_;
    // Of the arena, by backend and domain.
    std::map<std::pair<const DeviceBackend*, int32_t>, std::shared_ptr<DeviceSlab>> imports_;
    std::vector<std::shared_ptr<Slab>> slabs_;  // the arena's first
    std::vector<std::byte*> scratch_;
    int64_t arena_bytes_ = 0;
    int64_t scratch_bytes_ = 0;  // per worker
    bool has_memory_ = false;
    bool is_trimmed_ = false;
};

// How much of `slab` is where, added to the part of the report that is about memory of this name
// with the same placement.
void add_placement(const Slab& slab,
                   const MemoryDomains& domains,
                   const char* memory,
                   PlacementReport& report,
                   NumaMaps& maps);

}  // namespace leat
