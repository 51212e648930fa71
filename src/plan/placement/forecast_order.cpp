#include "plan/placement/forecast_order.h"

#include <algorithm>

#include "graph/part_node.h"
#include "plan/devices/transfer_step.h"

namespace leat {
namespace {

// By memory of the work.
std::vector<int32_t> domains_of(const PlanWork& work, const std::vector<int32_t>& domain_of_part) {
    std::vector<int32_t> domains(work.devices.memories.size(), -1);
    for (const PlanStep& step : work.steps) {
        if (step.device != nullptr && !step.is_transfer) {
            const auto part = size_t(cluster_of(*step.node));
            domains[size_t(work.use_of(step).memory)] =
                part < domain_of_part.size() ? domain_of_part[part] : -1;
        }
    }
    return domains;
}

// Of a node of the whole graph; that of a cut one is found by what it makes.
std::optional<size_t> node_of(const NodeData& node, const GraphData& whole) {
    const auto output = std::find_if(node.outputs.begin(), node.outputs.end(),
                                     [](ValueId id) { return id.valid(); });
    if (output == node.outputs.end() || !whole.value(*output).producer.valid()) {
        return std::nullopt;
    }
    return size_t(whole.value(*output).producer.index);
}

}  // namespace

std::vector<int32_t> ForecastOrder::ranks_of(const PlanWork& work, const GraphData& whole) const {
    const std::vector<int32_t> domains = domains_of(work, domain_of_part);
    std::vector<int32_t> ranks;
    ranks.reserve(work.steps.size());
    for (const PlanStep& step : work.steps) {
        if (step.is_transfer) {
            const auto& transfer = static_cast<const TransferStep&>(*step.device);
            const bool is_to_device = transfer.to() == TransferTo::kDevice;
            const ValueId value = (is_to_device ? step.node->inputs : step.node->outputs)[0];
            const int32_t memory = work.use_of(step).memory;
            const auto found =
                rank_of_move.find({value.index, domains[size_t(memory)], is_to_device});
            ranks.push_back(found == rank_of_move.end() ? -1 : found->second);
        } else {
            const std::optional<size_t> node = node_of(*step.node, whole);
            ranks.push_back(node && *node < rank_of_node.size() ? rank_of_node[*node] : -1);
        }
        if (ranks.back() < 0) {
            return {};
        }
    }
    return ranks;
}

std::optional<double> ForecastOrder::host_ns(const PlanStep& step, const GraphData& whole) const {
    const std::optional<size_t> node = node_of(*step.node, whole);
    return node && *node < host_ns_of_node.size() ? std::optional(host_ns_of_node[*node])
                                                  : std::nullopt;
}

}  // namespace leat
