#include "plan/placement/placement_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/devices/moved_values.h"

namespace leat {
namespace {

class Reporter {
  public:
    Reporter(const Placement& placement,
             const GraphData& graph,
             std::span<const std::shared_ptr<const ValueFact>> facts)
        : placement_(placement),
          graph_(graph),
          uses_(graph.uses()),
          work_(work_of_graph(graph, facts)),
          estimates_(node_estimates(work_, placement.assumed.devices)) {
        find_known(facts);
        report_.has_open_extents = work_.has_open_extents;
        report_.forecast = placement.forecast;
    }

    GraphPlacement run(const GraphData& cut,
                       std::span<const std::shared_ptr<const DevicePart>> parts) {
        are_callers_ = values_of_callers(cut, work_.values);
        add_devices();
        estimate();
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            add_node(n);
        }
        add_edges();
        find_devices_of_parts(parts);
        add_moved(cut, parts);
        set_shares(report_);
        report_.nodes.insert(report_.nodes.end(), placement_.gone.begin(), placement_.gone.end());
        return std::move(report_);
    }

  private:
    int64_t bytes(ValueId id) const { return bytes_of(work_.values[size_t(id.index)]); }
    const std::vector<AssumedDevice>& devices() const { return placement_.assumed.devices; }
    const NodeEstimate& estimate_of(size_t node, int device) const {
        return estimates_[node * devices().size() + size_t(device)];
    }

    // As plans do, or before there is one those that follow from any shapes.
    void find_known(std::span<const std::shared_ptr<const ValueFact>> facts) {
        is_known_.resize(graph_.values.size());
        for (size_t i = 0; i < graph_.values.size(); ++i) {
            const NodeId producer = graph_.values[i].producer;
            is_known_[i] =
                graph_.values[i].constant || (!facts.empty() && facts[i]->value) ||
                (producer.valid() && placement_.device_of_node[size_t(producer.index)] < 0);
        }
    }

    void add_devices() {
        for (const AssumedDevice& device : devices()) {
            DeviceShare& share = report_.devices.emplace_back();
            share.device = device.label;
            share.flops_per_s = device.rates.flops_per_s;
            share.bytes_per_s = device.rates.bytes_per_s;
            share.rates_source = device.rates_source;
            if (device.is_in_arena()) {
                share.link_bytes_per_s = kHostCopy.bytes_per_s;
                share.link_source = "the host's memory: only what callers have is copied";
            } else if (!device.is_host) {
                const AssumedLink& link = placement_.assumed.link(kHostMemory, device.domain);
                share.link_latency_ns = link.rates.latency_ns;
                share.link_bytes_per_s = link.rates.bytes_per_s;
                share.link_source = link.source;
            }
        }
    }

    void add_node(size_t n) {
        const NodeData& node = graph_.nodes[n];
        PlacedNode& placed = report_.nodes[n];
        placed.name = node.name;
        placed.op_type = node.op_type;
        const int device = placement_.device_of_node[n];
        if (device < 0) {
            placed.reason = PlacementReason::kKnownAtPlanning;
            return;
        }
        placed.reason = placement_.is_pinned[n]          ? PlacementReason::kPinned
                        : placement_.forecast.is_by_cost ? PlacementReason::kByCost
                                                         : PlacementReason::kFirstOfList;
        placed.device = devices()[size_t(device)].label;
        placed.part = placement_.part_of_node[n];
        placed.refusals = placement_.refusals[n];
        if (placement_.forecast.is_by_cost) {
            add_alternatives(n);
        }
        DeviceShare& share = report_.devices[size_t(device)];
        ++share.node_count;
        share.estimated_ns += placed.estimated_ns;
        share.measured_count += placed.source == CostSource::kMeasured ? 1 : 0;
        share.scaled_count += placed.source == CostSource::kScaled ? 1 : 0;
    }

    void add_alternatives(size_t n) {
        PlacedNode& placed = report_.nodes[n];
        placed.moving_ns = moving_ns(n, placement_.device_of_node[n]);
        placed.listed_device = devices()[size_t(placement_.listed_device_of_node[n])].label;
        for (const int device : placement_.other_devices[n]) {
            placed.alternatives.push_back(
                {devices()[size_t(device)].label, estimate_of(n, device).ns, moving_ns(n, device)});
        }
    }

    // kHostMemory where the value is not made in the run, or is an output.
    int domain_of(NodeId node) const {
        const int device = node.valid() ? placement_.device_of_node[size_t(node.index)] : -1;
        return device < 0 ? kHostMemory : devices()[size_t(device)].domain;
    }
    double between_ns(ValueId id, int from, int to) const {
        return from == to ? 0 : transfer_ns(bytes(id), placement_.assumed.link(from, to).rates);
    }
    // To a part of the device.
    double between_ns(ValueId id, int from, const AssumedDevice& to) const {
        const bool is_copied = to.is_in_arena() && are_callers_[size_t(id.index)];
        return is_copied ? transfer_ns(bytes(id), kHostCopy) : between_ns(id, from, to.domain);
    }

    // Of the node's operands to the device's memory and of its results from there, each once for
    // every memory.
    double moving_ns(size_t n, int device) const {
        const int domain = devices()[size_t(device)].domain;
        double sum_ns = 0;
        std::set<int32_t> seen;
        for (const ValueId id : graph_.nodes[n].inputs) {
            if (id.valid() && !graph_.value(id).constant && seen.insert(id.index).second) {
                sum_ns +=
                    between_ns(id, domain_of(graph_.value(id).producer), devices()[size_t(device)]);
            }
        }
        for (const ValueId id : graph_.nodes[n].outputs) {
            std::set<int> targets;
            if (!id.valid()) {
                continue;
            }
            for (const NodeId reader : uses_.readers[size_t(id.index)]) {
                targets.insert(domain_of(reader));
            }
            if (uses_.output_uses[size_t(id.index)] > 0) {
                targets.insert(kHostMemory);
            }
            for (const int target : targets) {
                sum_ns += between_ns(id, domain, target);
            }
        }
        return sum_ns;
    }

    void estimate() {
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            PlacedNode& placed = report_.nodes.emplace_back();
            const int device = placement_.device_of_node[n];
            if (device >= 0) {
                placed.is_estimated = work_.nodes[n].has_value();
                const Cost work = work_.nodes[n].value_or(Cost());
                placed.flops = work.flops;
                placed.bytes = work.bytes;
                const NodeEstimate& estimate = estimate_of(n, device);
                placed.estimated_ns = estimate.ns;
                placed.source = estimate.source;
            }
        }
    }

    // The node that makes the value in the run; -1: none does.
    int runner_of(ValueId id) const {
        const NodeId producer = graph_.value(id).producer;
        const bool runs =
            producer.valid() && placement_.device_of_node[size_t(producer.index)] >= 0;
        return runs ? producer.index : -1;
    }
    int part_of(int node) const { return node < 0 ? -1 : placement_.part_of_node[size_t(node)]; }

    int memory_of(int node) const {
        return node < 0 ? kHostMemory : domain_of(NodeId{int32_t(node)});
    }
    bool is_moved(ValueId id, int from_memory, int to_node) const {
        const bool is_copied = to_node >= 0 && part_of(to_node) >= 0 &&
                               memory_of(to_node) == kHostMemory && are_callers_[size_t(id.index)];
        return is_copied || from_memory != memory_of(to_node);
    }

    void add_edge(ValueId id, int to_node, const std::string& name) {
        const int from_node = runner_of(id);
        const std::vector<ValueId>& inputs = graph_.inputs;
        const bool is_input = std::find(inputs.begin(), inputs.end(), id) != inputs.end();
        if (from_node >= 0 || is_input) {
            report_.edges.push_back(
                {name, bytes(id), from_node, to_node, is_moved(id, memory_of(from_node), to_node)});
        }
    }

    void add_edges() {
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            std::set<int32_t> seen;
            for (const ValueId id : graph_.nodes[n].inputs) {
                if (id.valid() && placement_.device_of_node[n] >= 0 &&
                    seen.insert(id.index).second) {
                    add_edge(id, int(n), graph_.value(id).name);
                }
            }
        }
        for (size_t i = 0; i < graph_.outputs.size(); ++i) {
            add_edge(graph_.outputs[i], -1, graph_.output_names[i]);
        }
    }

    // As the assumed devices have them, by part.
    void find_devices_of_parts(std::span<const std::shared_ptr<const DevicePart>> parts) {
        for (const std::shared_ptr<const DevicePart>& part : parts) {
            const auto device = std::find_if(
                devices().begin(), devices().end(),
                [&](const AssumedDevice& each) { return each.label == part->place().label; });
            device_of_part_.push_back(device - devices().begin());
            domain_of_part_.push_back(device->domain);
            DeviceShare& share = report_.devices[size_t(device_of_part_.back())];
            ++share.part_count;
            share.constant_bytes += part->packed_bytes();
        }
    }

    void add_moved(const GraphData& cut, std::span<const std::shared_ptr<const DevicePart>> parts) {
        for (const ValueMove& move :
             moved_values(cut, parts, domain_of_part_, are_callers_, is_known_)) {
            const auto index = size_t(device_of_part_[size_t(move.part)]);
            const AssumedDevice& device = devices()[index];
            const double move_ns = move.is_to_device
                                       ? between_ns(move.value, kHostMemory, device)
                                       : between_ns(move.value, device.domain, kHostMemory);
            DeviceShare& share = report_.devices[index];
            const int64_t moved_bytes = bytes(move.value);
            const bool is_constant = graph_.value(move.value).constant.has_value();
            report_.moved.push_back({graph_.value(move.value).name, moved_bytes, device.label,
                                     move.part, move.is_to_device, move_ns, is_constant});
            share.streamed_bytes += is_constant ? moved_bytes : 0;
            (move.is_to_device ? share.bytes_in : share.bytes_out) += moved_bytes;
            share.moving_ns += move_ns;
        }
    }

    const Placement& placement_;
    const GraphData& graph_;
    const GraphData::Uses uses_;
    const GraphWork work_;
    const std::vector<NodeEstimate> estimates_;  // [node][device]
    std::vector<bool> is_known_;                 // by value
    std::vector<bool> are_callers_;              // by value: as values_of_callers() says
    std::vector<int64_t> device_of_part_;        // among the assumed ones
    std::vector<int> domain_of_part_;
    GraphPlacement report_;
};

}  // namespace

void set_shares(GraphPlacement& report) {
    double moving_ns = 0;
    double whole_ns = 0;
    for (const DeviceShare& device : report.devices) {
        moving_ns += device.moving_ns;
        whole_ns += device.estimated_ns + device.moving_ns;
    }
    for (DeviceShare& device : report.devices) {
        device.share = whole_ns == 0 ? 0 : device.estimated_ns / whole_ns;
    }
    report.moving_share = whole_ns == 0 ? 0 : moving_ns / whole_ns;
}

GraphPlacement report_placement(const PlacedGraph& placed,
                                const GraphData& graph,
                                std::span<const std::shared_ptr<const ValueFact>> facts) {
    return Reporter(placed.placement, graph, facts)
        .run(placed.cut == nullptr ? graph : *placed.cut, placed.parts);
}

}  // namespace leat
