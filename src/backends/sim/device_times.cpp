#include "backends/sim/device_times.h"

#include <algorithm>
#include <limits>

#include "base/whole_ns.h"

namespace leat::sim {

DeviceTimes::DeviceTimes(const SimSettings& settings)
    : rates_(settings.rates),
      links_(settings.links),
      median_op_ns_(settings.median_op_ns),
      scale_(settings.time_scale) {}

void DeviceTimes::choose_scale(std::span<const Cost> nodes) {
    double least_ns = std::numeric_limits<double>::infinity();
    for (const DeviceRates& rates : rates_) {
        std::vector<double> times;
        for (const Cost& node : nodes) {
            if (const double ns = estimated_ns(node, rates); ns > 0) {
                times.push_back(ns);
            }
        }
        if (times.empty()) {
            return;
        }
        // The lower median: whichever one is meant, it is not shorter.
        const auto median = times.begin() + std::ptrdiff_t((times.size() - 1) / 2);
        std::nth_element(times.begin(), median, times.end());
        least_ns = std::min(least_ns, *median);
    }
    scale_ = std::max(1.0, median_op_ns_ / least_ns);
}

int64_t DeviceTimes::scaled(double ns) const {
    return int64_t(whole_ns(ns * scale_));
}

int64_t DeviceTimes::run_ns(int32_t device, const Cost& work) const {
    return scaled(estimated_ns(work, rates_[size_t(device)]));
}

int64_t DeviceTimes::transfer_ns(int32_t device, int64_t bytes) const {
    return scaled(leat::transfer_ns(bytes, links_[size_t(device)]));
}

int64_t DeviceTimes::memory_ns(int32_t device, int64_t bytes) const {
    return run_ns(device, Cost{0, bytes});
}

std::vector<LinkRates> DeviceTimes::links() const {
    std::vector<LinkRates> links = links_;
    for (LinkRates& link : links) {
        link.latency_ns *= scale_;
        link.bytes_per_s /= scale_;
    }
    return links;
}

}  // namespace leat::sim
