#include "runtime/placement_record.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

// Where a backend does not report a link: about a thread's wake-up, and a memcpy.
constexpr LinkRates kDefaultLink{10'000, 5e9};

DeviceKind kind_of(const ListedDevice& device) {
    if (device.host != nullptr) {
        return device.host->name() == "reference" ? DeviceKind::kReference : DeviceKind::kCpuThread;
    }
    switch (device.place.backend->device(device.place.number).kind) {
        case kLeatDeviceCpu:
            return DeviceKind::kCpuThread;
        case kLeatDeviceIntegrated:
            return DeviceKind::kIntegrated;
        case kLeatDeviceDiscrete:
            return DeviceKind::kDiscrete;
        default:
            return DeviceKind::kOther;
    }
}

std::string name_of(DeviceKind kind, int threads) {
    switch (kind) {
        case DeviceKind::kReference:
            return "plain loops on one thread";
        case DeviceKind::kCpuThread:
            return threads == 1 ? "a CPU thread" : fmt::format("{} CPU threads", threads);
        case DeviceKind::kIntegrated:
            return "an integrated GPU";
        case DeviceKind::kDiscrete:
            return "a discrete GPU";
        default:
            return "a device of unknown kind";
    }
}

// The link between the host and the device's first domain, in one direction.
const LeatLinkInfo* find_link(const LeatDeviceInfo& device, bool is_to_device) {
    if (device.domain_count == 0) {
        return nullptr;
    }
    const int32_t own = device.domains[0]->domain;
    const int32_t from = is_to_device ? LEAT_HOST_DOMAIN : own;
    const int32_t to = is_to_device ? own : LEAT_HOST_DOMAIN;
    for (int32_t i = 0; i < device.link_count; ++i) {
        const LeatLinkInfo& link = *device.links[i];
        if (link.from_domain == from && link.to_domain == to && link.bytes_per_s > 0) {
            return &link;
        }
    }
    return nullptr;
}

LinkRates rates_of(const LeatLinkInfo* link) {
    return link == nullptr ? kDefaultLink : LinkRates{link->latency_ns, link->bytes_per_s};
}

// A value as the cost model sees it; not present where its rank is unknown or it is no tensor.
TensorArg operand_of(const TypeInfo& type, bool& has_open_extents) {
    if (!type.is_tensor() || !type.dims || type.dims->size() > kMaxRank) {
        return {};
    }
    Shape shape;
    for (const DimSpec& dim : *type.dims) {
        has_open_extents = has_open_extents || !dim.is_fixed();
        shape.append(dim.is_fixed() ? dim.extent() : 1);
    }
    return row_major_arg(type.dtype, shape, nullptr);
}

int64_t bytes_of(const TensorArg& value) {
    return value.present() ? storage_bytes(value.dtype, value.shape.element_count()).value_or(0)
                           : 0;
}

class Reporter {
  public:
    Reporter(const PlacementRecord& record,
             const GraphData& graph,
             std::span<const std::shared_ptr<const ValueFact>> facts)
        : record_(record), graph_(graph) {
        values_.reserve(graph.values.size());
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const TypeInfo& type = facts.empty() ? graph.values[v].type : facts[v]->type;
            values_.push_back(operand_of(type, report_.has_open_extents));
        }
    }

    GraphPlacement run(const GraphData& cut,
                       std::span<const std::shared_ptr<const DevicePart>> parts) {
        add_devices();
        estimate();
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            add_node(n);
        }
        add_edges();
        for (const NodeData& node : cut.nodes) {
            if (const int64_t part = cluster_of(node); part >= 0) {
                add_moved(node, int(part), *parts[size_t(part)]);
            }
        }
        add_shares();
        report_.nodes.insert(report_.nodes.end(), record_.gone.begin(), record_.gone.end());
        return std::move(report_);
    }

  private:
    const TensorArg& operand(ValueId id) const { return values_[size_t(id.index)]; }

    void add_devices() {
        for (const AssumedDevice& device : record_.devices) {
            DeviceShare& share = report_.devices.emplace_back();
            share.device = device.label;
            share.flops_per_s = device.rates.flops_per_s;
            share.bytes_per_s = device.rates.bytes_per_s;
            share.rates_source = device.rates_source;
            if (device.has_link) {
                share.link_latency_ns = device.to_device.latency_ns;
                share.link_bytes_per_s = device.to_device.bytes_per_s;
                share.link_source = device.link_source;
            }
        }
    }

    void add_node(size_t n) {
        const NodeData& node = graph_.nodes[n];
        PlacedNode& placed = report_.nodes[n];
        placed.name = node.name;
        placed.op_type = node.op_type;
        const int device = record_.device_of_node[n];
        if (device < 0) {
            placed.reason = PlacementReason::kKnownAtPlanning;
            return;
        }
        placed.reason =
            record_.is_pinned[n] ? PlacementReason::kPinned : PlacementReason::kFirstOfList;
        placed.device = record_.devices[size_t(device)].label;
        placed.part = record_.part_of_node[n];
        placed.refusals = record_.refusals[n];
        DeviceShare& share = report_.devices[size_t(device)];
        ++share.node_count;
        share.estimated_ns += placed.estimated_ns;
    }

    // By node; nullopt where the rank of some operand is not known.
    std::optional<Cost> work_of_node(const NodeData& node) const {
        std::vector<TensorArg> inputs;
        std::vector<TensorArg> outputs;
        for (const bool is_input : {true, false}) {
            for (const ValueId id : is_input ? node.inputs : node.outputs) {
                if (id.valid() && !operand(id).present()) {
                    return std::nullopt;
                }
                (is_input ? inputs : outputs).push_back(id.valid() ? operand(id) : TensorArg());
            }
        }
        return work_of(node, inputs, outputs);
    }

    void estimate() {
        std::vector<Cost> work;
        for (const NodeData& node : graph_.nodes) {
            const std::optional<Cost> cost = work_of_node(node);
            PlacedNode& placed = report_.nodes.emplace_back();
            placed.is_estimated = cost.has_value();
            placed.flops = cost ? cost->flops : 0;
            placed.bytes = cost ? cost->bytes : 0;
            work.push_back(cost.value_or(Cost()));
        }
        std::vector<DeviceRates> rates;
        for (const AssumedDevice& device : record_.devices) {
            rates.push_back(device.rates);
        }
        const NodeCosts costs(work, rates);
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const int device = record_.device_of_node[n];
            if (device >= 0) {
                report_.nodes[n].estimated_ns = costs.at(n, size_t(device));
            } else {
                report_.nodes[n] = {};
            }
        }
    }

    // The node that makes the value in the run; -1: none does.
    int runner_of(ValueId id) const {
        const NodeId producer = graph_.value(id).producer;
        const bool runs = producer.valid() && record_.device_of_node[size_t(producer.index)] >= 0;
        return runs ? producer.index : -1;
    }
    int part_of(int node) const { return node < 0 ? -1 : record_.part_of_node[size_t(node)]; }

    void add_edge(ValueId id, int to_node, const std::string& name) {
        const int from_node = runner_of(id);
        const std::vector<ValueId>& inputs = graph_.inputs;
        const bool is_input = std::find(inputs.begin(), inputs.end(), id) != inputs.end();
        if (from_node >= 0 || is_input) {
            report_.edges.push_back({name, bytes_of(operand(id)), from_node, to_node,
                                     part_of(from_node) != part_of(to_node)});
        }
    }

    void add_edges() {
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            std::set<int32_t> seen;
            for (const ValueId id : graph_.nodes[n].inputs) {
                if (id.valid() && record_.device_of_node[n] >= 0 && seen.insert(id.index).second) {
                    add_edge(id, int(n), graph_.value(id).name);
                }
            }
        }
        for (size_t i = 0; i < graph_.outputs.size(); ++i) {
            add_edge(graph_.outputs[i], -1, graph_.output_names[i]);
        }
    }

    // What a part's step copies; operands that are read on the host stay there.
    void add_moved(const NodeData& node, int part, const DevicePart& compiled) {
        const auto device = std::find_if(
            record_.devices.begin(), record_.devices.end(),
            [&](const AssumedDevice& each) { return each.label == compiled.place().label; });
        DeviceShare& share = report_.devices[size_t(device - record_.devices.begin())];
        ++share.part_count;
        const auto add = [&](ValueId id, bool is_to_device) {
            const int64_t bytes = bytes_of(operand(id));
            const LinkRates& link = is_to_device ? device->to_device : device->from_device;
            report_.moved.push_back({graph_.value(id).name, bytes, device->label, part,
                                     is_to_device, transfer_ns(bytes, link)});
            (is_to_device ? share.bytes_in : share.bytes_out) += bytes;
            share.moving_ns += report_.moved.back().estimated_ns;
        };
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const bool is_read_on_host = i < 64 && (compiled.info().host_inputs_low >> i & 1U) != 0;
            if (!is_read_on_host) {
                add(node.inputs[i], true);
            }
        }
        for (const ValueId id : node.outputs) {
            add(id, false);
        }
    }

    void add_shares() {
        double moving_ns = 0;
        double whole_ns = 0;
        for (const DeviceShare& device : report_.devices) {
            moving_ns += device.moving_ns;
            whole_ns += device.estimated_ns + device.moving_ns;
        }
        for (DeviceShare& device : report_.devices) {
            device.share = whole_ns == 0 ? 0 : device.estimated_ns / whole_ns;
        }
        report_.moving_share = whole_ns == 0 ? 0 : moving_ns / whole_ns;
    }

    const PlacementRecord& record_;
    const GraphData& graph_;
    std::vector<TensorArg> values_;  // by value
    GraphPlacement report_;
};

PlacementReason reason_of(NodeFate fate) {
    switch (fate) {
        case NodeFate::kComputed:
            return PlacementReason::kComputed;
        case NodeFate::kIdentity:
            return PlacementReason::kIdentity;
        default:
            return PlacementReason::kJoined;
    }
}

}  // namespace

AssumedDevice assume_device(const ListedDevice& device, int threads) {
    AssumedDevice assumed;
    assumed.label = device.label;
    const DeviceKind kind = kind_of(device);
    assumed.rates = default_rates(kind);
    if (kind == DeviceKind::kCpuThread) {
        assumed.rates.flops_per_s *= threads;
    }
    assumed.rates_source = "default for " + name_of(kind, threads);
    if (device.host == nullptr) {
        const LeatDeviceInfo& info = device.place.backend->device(device.place.number);
        const LeatLinkInfo* to_device = find_link(info, true);
        const LeatLinkInfo* from_device = find_link(info, false);
        assumed.has_link = true;
        assumed.to_device = rates_of(to_device);
        assumed.from_device = rates_of(from_device);
        assumed.link_source =
            to_device != nullptr && from_device != nullptr ? "reported by the backend" : "default";
    }
    return assumed;
}

std::vector<PlacedNode> gone_nodes(const GraphData& before,
                                   const GraphData& after,
                                   const NodeHistory& history) {
    std::set<std::string_view> left;
    for (const NodeData& node : after.nodes) {
        left.insert(node.name);
    }
    std::map<std::string_view, const RemovedNode*> removed;
    for (const RemovedNode& node : history.removed()) {
        removed.try_emplace(node.name, &node);
    }
    std::vector<PlacedNode> gone;
    for (const NodeData& node : before.nodes) {
        if (left.count(node.name) != 0) {
            continue;
        }
        PlacedNode& entry = gone.emplace_back();
        entry.name = node.name;
        entry.op_type = node.op_type;
        const auto found = removed.find(node.name);
        entry.reason =
            found == removed.end() ? PlacementReason::kUnused : reason_of(found->second->fate);
        entry.joined_into = found == removed.end() ? std::string() : found->second->joined_into;
    }
    return gone;
}

GraphPlacement report_placement(const PlacementRecord& record,
                                const GraphData& graph,
                                const GraphData& cut,
                                std::span<const std::shared_ptr<const DevicePart>> parts,
                                std::span<const std::shared_ptr<const ValueFact>> facts) {
    return Reporter(record, graph, facts).run(cut, parts);
}

}  // namespace leat
