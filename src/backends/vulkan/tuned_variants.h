// TunedVariants: the fastest variant of a kernel for each class of problems on one device, as it
// was measured, kept on the disk for later processes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "disk_cache.h"
#include "kernel.h"

namespace leat::vulkan {

using ProblemExtents = std::array<uint32_t, 3>;

// Problems that share a choice: each extent rounded up to a power of two, at most 1,024, so that
// measuring takes no longer than seconds.
ProblemExtents extent_class(const ProblemExtents& extents);

struct TunedKernel {
    std::string name;                   // as kernels ask for it
    std::string device;                 // driver_cache_key()
    std::vector<std::string> variants;  // names, by number; a file has the name
};

// Thread-safe if `measure` is. A file that is corrupt, or that names no variant, is one line in the
// cache's log and is measured again, or the shipped choice stands.
class TunedVariants final : public MeasuredVariants {
  public:
    // The fastest variant for a class; nothing where it cannot be measured.
    using Measure = std::function<std::optional<uint32_t>(const ProblemExtents&)>;

    // `disk`: null, or outlives it. An empty `measure`: only what was measured before counts.
    TunedVariants(TunedKernel kernel, DiskCache* disk, Measure measure);

    std::optional<uint32_t> fastest(std::string_view kernel,
                                    const ProblemExtents& extents) const override;

  private:
    std::optional<uint32_t> load(const std::string& key) const;

    TunedKernel kernel_;
    DiskCache* disk_;
    Measure measure_;
    mutable std::mutex mutex_;  // held while measuring, which other measurements would disturb
    mutable std::map<ProblemExtents, std::optional<uint32_t>> known_;
};

}  // namespace leat::vulkan
