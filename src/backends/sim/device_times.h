// How long work takes on the simulated devices: the roofline of an operator's flops and bytes, the
// rates of the settings, and one scale for all times.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/sim/sim_settings.h"
#include "ops/roofline.h"

namespace leat::sim {

class DeviceTimes {
  public:
    explicit DeviceTimes(const SimSettings& settings);

    // Chooses the scale so that the median of the nodes that take time takes median_op_us or longer
    // on the fastest device. Times never become shorter.
    void choose_scale(std::span<const Cost> nodes);

    int64_t run_ns(int32_t device, const Cost& work) const;
    int64_t transfer_ns(int32_t device, int64_t bytes) const;
    // Reading or writing the device's own memory.
    int64_t memory_ns(int32_t device, int64_t bytes) const;
    // With the scale, as a partitioner needs them.
    std::vector<LinkRates> links() const;

  private:
    int64_t scaled(double ns) const;

    const std::vector<DeviceRates> rates_;
    const std::vector<LinkRates> links_;
    const double median_op_ns_;
    std::atomic<double> scale_;
};

}  // namespace leat::sim
