// Estimated times of nodes on devices and of values between them, for placement and for reports.
//
// Pure functions of numbers: the work of a node comes from its operator's definition, and no time
// is measured. Each device is a roofline of two constants, each link a latency and a rate.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ops/roofline.h"

namespace leat {

// What a device is assumed to do where nobody says more.
enum class DeviceClass : uint8_t {
    kReference,  // plain loops on one thread
    kCpuThread,  // SIMD kernels on one thread; several share its bytes_per_s
    kIntegrated,
    kDiscrete,
    kOther,
};
DeviceRates default_rates(DeviceClass kind);

// Times of every node on every device.
class NodeCosts {
  public:
    // [node][device], row-major.
    NodeCosts(std::vector<double> cost_ns, size_t device_count)
        : device_count_(device_count), cost_ns_(std::move(cost_ns)) {}

    double at(size_t node, size_t device) const { return cost_ns_[node * device_count_ + device]; }

  private:
    size_t device_count_;
    std::vector<double> cost_ns_;
};

}  // namespace leat
