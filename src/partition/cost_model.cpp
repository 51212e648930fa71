#include "partition/cost_model.h"

#include <algorithm>

#include "base/check.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr double kNsPerS = 1e9;

}  // namespace

// Orders of magnitude of the machines of these years, no measurements.
DeviceRates default_rates(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::kReference:
            return {0.5e9, 2e9};
        case DeviceKind::kCpuThread:
            return {30e9, 10e9};
        case DeviceKind::kIntegrated:
            return {500e9, 30e9};
        case DeviceKind::kDiscrete:
            return {5e12, 300e9};
        case DeviceKind::kOther:
            return {10e9, 10e9};
    }
    LEAT_CHECK(false, "device kind {}", int(kind));
    return {};
}

Cost work_of(const NodeData& node,
             std::span<const TensorArg> inputs,
             std::span<const TensorArg> outputs) {
    if (node.def == nullptr || node.def->is_view) {
        return {};
    }
    if (node.def->cost != nullptr) {
        return node.def->cost(node, inputs, outputs);
    }
    Cost cost{0, moved_bytes(inputs, outputs)};
    for (const TensorArg& output : outputs) {
        cost.flops += output.present() ? double(output.shape.element_count()) : 0;
    }
    return cost;
}

double estimated_ns(const Cost& work, const DeviceRates& device) {
    return kNsPerS *
           std::max(work.flops / device.flops_per_s, double(work.bytes) / device.bytes_per_s);
}

double transfer_ns(int64_t bytes, const LinkRates& link) {
    return link.latency_ns + kNsPerS * double(bytes) / link.bytes_per_s;
}

NodeCosts::NodeCosts(std::span<const Cost> work, std::span<const DeviceRates> devices)
    : device_count_(devices.size()) {
    cost_ns_.reserve(work.size() * devices.size());
    for (const Cost& node : work) {
        for (const DeviceRates& device : devices) {
            cost_ns_.push_back(estimated_ns(node, device));
        }
    }
}

}  // namespace leat
