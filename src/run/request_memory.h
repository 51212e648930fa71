// RequestMemory: the slabs of one request. One in the request's home domain for activations and the
// scratch of workers there, and one for the scratch of workers of each other domain.
//
//   home:   | activations | spare | scratch of worker 0 | spare | scratch of worker 1 | spare |
//
// Slabs are made anew where a plan needs more than they have, with spare room then: plans that need
// a little more each make them only a few times. Nobody touches spare room until a plan needs it,
// so it takes addresses and no pages. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/grown_tensor.h"
#include "leat/runtime.h"
#include "machine/device_part.h"
#include "memory/domains/numa_maps.h"
#include "memory/domains/slab.h"
#include "plan/plan_cache.h"

namespace leat {

// Whether slabs that are made anew are larger than what is needed.
enum class SpareRoom : uint8_t { kNone, kQuarter };

class RequestMemory {
  public:
    // Worker 0 is the caller, at home in `home` whatever `workers` says.
    RequestMemory(std::shared_ptr<MemoryDomains> domains,
                  MemoryDomainId home,
                  std::vector<MemoryDomainId> workers,
                  SpareRoom spare);

    // Touched memory: `arena_bytes` for activations, `scratch_bytes` for each worker, and never
    // less than before. True: it is in new slabs. What was in the old ones is lost to the request,
    // but lives on with who holds arena(). The first slabs have no spare room; what is too small in
    // later ones grows by a quarter, or by less where a quarter does not fit its domain. On an
    // error the old slabs stay.
    Result<bool> reserve(const RequestRoom& room);

    const std::shared_ptr<const Slab>& arena() const { return arena_; }
    std::span<std::byte* const> scratch() const { return scratch_; }  // by worker
    // The arena as memory of the part's backend, imported once; null: there are no bytes.
    Result<std::shared_ptr<DeviceSlab>> arena_of(const DevicePart& part);

    // Of the results whose length only a run knows; plans share it, by index.
    GrownTensor& grown(size_t index) {
        grown_.resize(std::max(grown_.size(), index + 1));
        return grown_[index];
    }

    // Gives all pages back until touch_if_trimmed().
    void trim();
    void touch_if_trimmed();
    // The pages of each slab.
    void add_to(PlacementReport& report, NumaMaps& maps) const;

  private:
    using Slabs = std::vector<std::shared_ptr<Slab>>;

    std::vector<MemoryDomainId> domains_in_use() const;
    Result<Slabs> make_slabs(const RequestRoom& room, bool must_fit) const;
    Result<Slabs> make_larger_slabs(const RequestRoom& needed, RequestRoom& room) const;
    Status grow(const RequestRoom& needed);
    // Touches what has room for `needed` and not for `before`.
    void touch(const RequestRoom& before, const RequestRoom& needed);

    std::shared_ptr<MemoryDomains> domains_;
    MemoryDomainId home_;
    std::vector<MemoryDomainId> workers_;
    SpareRoom spare_;
    std::shared_ptr<const Slab> arena_;
    // Of the arena, by backend and domain.
    std::map<std::pair<const DeviceBackend*, int32_t>, std::shared_ptr<DeviceSlab>> imports_;
    Slabs slabs_;  // the arena's first; empty: none were made
    std::vector<std::byte*> scratch_;
    std::deque<GrownTensor> grown_;  // others have their addresses
    RequestRoom room_;               // of the slabs
    RequestRoom needed_;             // the most until now; touched, unless the slabs are trimmed
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
