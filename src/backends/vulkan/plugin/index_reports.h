// IndexReports: what an instance's kernels tell of indices that are out of range, in memory that
// the host reads after each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backends/vulkan/kernel/kernel.h"
#include "backends/vulkan/memory/arena.h"

namespace leat::vulkan {

// Used by one thread at a time, and not while a run is in flight.
class IndexReports {
  public:
    // Throws where the device has no memory left.
    IndexReports(const std::shared_ptr<const Device>& device, size_t count);

    const Arena& arena() const { return arena_; }
    static int64_t offset_of(size_t report) { return int64_t(report) * kArenaAlignmentBytes; }

    // Of the last run, which has ended: throws the first index that was told, in the order of
    // `reports`. All are zeros again then.
    void check_and_clear(std::span<const IndexReport> reports);

  private:
    Arena arena_;
};

}  // namespace leat::vulkan
