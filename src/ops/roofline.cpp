#include "ops/roofline.h"

#include <algorithm>

#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr double kNsPerS = 1e9;

}  // namespace

int64_t bytes_of(const TensorArg& operand) {
    return moved_bytes({&operand, 1}, {});
}

Cost plain_work(std::span<const TensorArg> inputs, std::span<const TensorArg> outputs) {
    Cost cost{0, moved_bytes(inputs, outputs)};
    for (const TensorArg& output : outputs) {
        cost.flops += output.present() ? double(output.shape.element_count()) : 0;
    }
    return cost;
}

Cost work_of(const NodeData& node,
             std::span<const TensorArg> inputs,
             std::span<const TensorArg> outputs) {
    if (node.def == nullptr || node.def->is_view) {
        return {};
    }
    return node.def->cost != nullptr ? node.def->cost(node, inputs, outputs)
                                     : plain_work(inputs, outputs);
}

double estimated_ns(const Cost& work, const DeviceRates& device) {
    return kNsPerS *
           std::max(work.flops / device.flops_per_s, double(work.bytes) / device.bytes_per_s);
}

double transfer_ns(int64_t bytes, const LinkRates& link) {
    return link.latency_ns + kNsPerS * double(bytes) / link.bytes_per_s;
}

}  // namespace leat
