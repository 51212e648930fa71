// TunedVariants: the fastest variant of each kernel for each class of problems on one device, as it
// was measured, kept on the disk for later processes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"
#include "base/files/disk_cache.h"

namespace leat::vulkan {

using ProblemExtents = std::array<uint32_t, 3>;

// Problems that share a choice: each extent rounded up to a power of two, at most 1,024, and one
// more where it is no multiple of four, because then texels of four floats begin anywhere in its
// rows.
ProblemExtents extent_class(const ProblemExtents& extents);

struct TunedKernel {
    std::string name;                   // as kernels ask for it; no spaces
    std::vector<std::string> variants;  // names, by number; the file has the name
};

// Thread-safe if `measure` is. One file holds all choices of a device. It is read when the first
// one is asked for; one that is corrupt, and a line that names no variant, is one line in the
// cache's log, and these are measured again, or shipped choices stand.
class TunedVariants final : public MeasuredVariants {
  public:
    // The fastest variant for a problem; nothing where it cannot be measured.
    using Measure =
        std::function<std::optional<uint32_t>(std::string_view kernel, const ProblemExtents&)>;

    // `device`: driver_cache_key(). `disk`: null, or outlives it. An empty `measure`: only what was
    // measured before counts.
    TunedVariants(std::string device,
                  std::vector<TunedKernel> kernels,
                  DiskCache* disk,
                  Measure measure);

    // The first problem of a class that is met is measured for all of it, with extents of 1,024 in
    // place of larger ones.
    std::optional<uint32_t> fastest(std::string_view kernel,
                                    const ProblemExtents& extents) const override;

  private:
    using Class = std::pair<size_t, ProblemExtents>;  // number of the kernel
    using Choices = std::map<Class, uint32_t>;

    std::optional<size_t> kernel_number(std::string_view name) const;
    // What the disk has.
    Choices load() const;
    std::optional<std::pair<Class, uint32_t>> parse(const std::string& line) const;
    // Adds the choices to those on the disk, which other processes may have extended.
    void store() const;

    std::string key_;
    std::vector<TunedKernel> kernels_;
    DiskCache* disk_;
    Measure measure_;
    mutable std::mutex mutex_;  // held while measuring, which other measurements would disturb
    mutable std::optional<Choices> known_;
    mutable std::set<Class> unmeasurable_;
};

}  // namespace leat::vulkan
