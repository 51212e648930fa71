#include "machine/device_costs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "custom/custom_op_def.h"
#include "machine/device_part.h"

namespace leat {
namespace {

// Where a backend does not report a link: about a thread's wake-up, and a memcpy.
constexpr LinkRates kDefaultLink{10'000, 5e9};
// Handing a part to the thread of a queue and seeing its end: about a wake-up.
constexpr double kDefaultSubmitNs = 10'000;

const LeatDeviceInfo& info_of(const ListedDevice& device) {
    return device.place.backend->device(device.place.number);
}

DeviceClass kind_of(const ListedDevice& device) {
    if (device.host != nullptr) {
        return device.host->name() == "reference" ? DeviceClass::kReference
                                                  : DeviceClass::kCpuThread;
    }
    switch (info_of(device).kind) {
        case kLeatDeviceCpu:
            return DeviceClass::kCpuThread;
        case kLeatDeviceIntegrated:
            return DeviceClass::kIntegrated;
        case kLeatDeviceDiscrete:
            return DeviceClass::kDiscrete;
        default:
            return DeviceClass::kOther;
    }
}

std::string name_of(DeviceClass kind, int threads) {
    switch (kind) {
        case DeviceClass::kReference:
            return "plain loops on one thread";
        case DeviceClass::kCpuThread:
            return threads == 1 ? "a CPU thread" : fmt::format("{} CPU threads", threads);
        case DeviceClass::kIntegrated:
            return "an integrated GPU";
        case DeviceClass::kDiscrete:
            return "a discrete GPU";
        default:
            return "a device of unknown kind";
    }
}

// A domain of a backend: the numbers of different backends mean different memories. Null and
// LEAT_HOST_DOMAIN: the host's.
struct DomainKey {
    const DeviceBackend* backend = nullptr;
    int32_t number = LEAT_HOST_DOMAIN;
    bool operator==(const DomainKey&) const = default;
};

class Assumptions {
  public:
    explicit Assumptions(int threads) : threads_(threads) {
        found_.domains.push_back({"host", 0});
        keys_.emplace_back();
        infos_.push_back(nullptr);
        measured_.push_back(nullptr);
    }

    void add(const ListedDevice& device) {
        AssumedDevice& assumed = found_.devices.emplace_back();
        assumed.label = device.label;
        assumed.is_host = device.host != nullptr;
        assumed.measured = device.measured;
        const DeviceClass kind = kind_of(device);
        assumed.rates = default_rates(kind);
        if (kind == DeviceClass::kCpuThread) {
            assumed.rates.flops_per_s *= threads_;
        }
        assumed.rates_source = "default for " + name_of(kind, threads_);
        if (!assumed.is_host) {
            const LeatDeviceInfo& info = info_of(device);
            const bool is_measured = device.measured != nullptr && device.measured->launch_ns > 0;
            assumed.submit_ns = is_measured ? device.measured->launch_ns : kDefaultSubmitNs;
            if (device.place.backend->virtual_clock() != nullptr) {
                assumed.submit_ns = 0;  // its time stands still meanwhile
            }
            assumed.domain = domain_of(device, info);
        }
    }

    AssumedDevices take() {
        const int count = int(found_.domains.size());
        found_.links.reserve(size_t(count) * size_t(count));
        for (int from = 0; from < count; ++from) {
            for (int to = 0; to < count; ++to) {
                found_.links.push_back(link_between(from, to));
            }
        }
        return std::move(found_);
    }

  private:
    // Devices keep what they work on in their first domain.
    int domain_of(const ListedDevice& device, const LeatDeviceInfo& info) {
        if (works_in_host_memory(device.place)) {
            return kHostMemory;
        }
        DomainKey key{device.place.backend.get(),
                      info.domain_count == 0 ? LEAT_HOST_DOMAIN : info.domains[0]->domain};
        const auto known = std::find(keys_.begin(), keys_.end(), key);
        if (known == keys_.end()) {
            keys_.push_back(key);
            infos_.push_back(&info);
            measured_.push_back(device.measured.get());
            found_.domains.push_back(
                info.domain_count == 0
                    ? AssumedDomain{device.label, 0}
                    : AssumedDomain{fmt::format("{}: {}", device.label, info.domains[0]->name),
                                    info.domains[0]->capacity_bytes});
            return int(keys_.size()) - 1;
        }
        return int(known - keys_.begin());
    }

    // As the device of either end reports it.
    const LeatLinkInfo* find_link(int from, int to) const {
        for (const int end : {from, to}) {
            const LeatDeviceInfo* device = infos_[size_t(end)];
            for (int32_t i = 0; device != nullptr && i < device->link_count; ++i) {
                const LeatLinkInfo& link = *device->links[i];
                if (link.from_domain == keys_[size_t(from)].number &&
                    link.to_domain == keys_[size_t(to)].number && link.bytes_per_s > 0) {
                    return &link;
                }
            }
        }
        return nullptr;
    }

    // Between the host's memory and another one, where that was measured.
    const LinkRates* find_measured(int from, int to) const {
        const MeasuredCosts* device = measured_[size_t(std::max(from, to))];
        if (device == nullptr || !device->links || (from != kHostMemory && to != kHostMemory)) {
            return nullptr;
        }
        return from == kHostMemory ? &device->links->to_device : &device->links->from_device;
    }

    AssumedLink link_between(int from, int to) const {
        if (const LinkRates* measured = find_measured(from, to); measured != nullptr) {
            return {*measured, "measured", false};
        }
        const bool is_one_backend =
            keys_[size_t(from)].backend == keys_[size_t(to)].backend || from == 0 || to == 0;
        if (const LeatLinkInfo* link = is_one_backend ? find_link(from, to) : nullptr;
            link != nullptr) {
            return {{link->latency_ns, link->bytes_per_s}, "reported by the backend", false};
        }
        if (from == kHostMemory || to == kHostMemory) {
            return {kDefaultLink, "default", false};
        }
        const LinkRates down = link_between(from, kHostMemory).rates;
        const LinkRates up = link_between(kHostMemory, to).rates;
        return {{down.latency_ns + up.latency_ns, 1 / (1 / down.bytes_per_s + 1 / up.bytes_per_s)},
                "by the host's memory",
                true};
    }

    int threads_;
    AssumedDevices found_;
    // By domain.
    std::vector<DomainKey> keys_;
    std::vector<const LeatDeviceInfo*> infos_;    // of the first device that works in it
    std::vector<const MeasuredCosts*> measured_;  // of that device; null: nothing was
};

TensorArg operand_of(const TypeInfo& type, int64_t assumed_extent, bool& has_open_extents) {
    if (!type.is_tensor() || !type.dims || type.dims->size() > kMaxRank) {
        return {};
    }
    Shape shape;
    for (const DimSpec& dim : *type.dims) {
        has_open_extents = has_open_extents || !dim.is_fixed();
        shape.append(dim.is_fixed() ? dim.extent() : assumed_extent);
    }
    return row_major_arg(type.dtype, shape, nullptr);
}

struct NodeArgs {
    std::vector<TensorArg> inputs;
    std::vector<TensorArg> outputs;
};

// nullopt: some operand is not present.
std::optional<NodeArgs> args_of_node(const NodeData& node, std::span<const TensorArg> values) {
    NodeArgs args;
    for (const bool is_input : {true, false}) {
        for (const ValueId id : is_input ? node.inputs : node.outputs) {
            if (id.valid() && !values[size_t(id.index)].present()) {
                return std::nullopt;
            }
            (is_input ? args.inputs : args.outputs)
                .push_back(id.valid() ? values[size_t(id.index)] : TensorArg());
        }
    }
    return args;
}

std::optional<Cost> work_of_node(const NodeData& node, std::span<const TensorArg> values) {
    const std::optional<NodeArgs> args = args_of_node(node, values);
    return args ? std::optional(work_of(node, args->inputs, args->outputs)) : std::nullopt;
}

}  // namespace

AssumedDevices assume_devices(std::span<const ListedDevice> devices, int threads) {
    Assumptions assumptions(threads);
    for (const ListedDevice& device : devices) {
        assumptions.add(device);
    }
    return assumptions.take();
}

GraphWork work_of_graph(const GraphData& graph,
                        std::span<const std::shared_ptr<const ValueFact>> facts,
                        int64_t assumed_extent) {
    GraphWork work;
    work.values.reserve(graph.values.size());
    for (size_t v = 0; v < graph.values.size(); ++v) {
        const TypeInfo& type = facts.empty() ? graph.values[v].type : facts[v]->type;
        work.values.push_back(operand_of(type, assumed_extent, work.has_open_extents));
    }
    work.nodes.reserve(graph.nodes.size());
    for (const NodeData& node : graph.nodes) {
        work.nodes.push_back(work_of_node(node, work.values));
        const std::optional<NodeOperands> operands = operands_of(graph, node, facts);
        work.signatures.push_back(operands ? std::optional(signature_of(node, *operands))
                                           : std::nullopt);
        work.op_types.emplace_back(node.op_type);
    }
    return work;
}

Status check_costs(const GraphData& graph, const GraphWork& work) {
    for (const NodeData& node : graph.nodes) {
        const bool is_custom = custom::find_custom(node.def) != nullptr;
        const std::optional<NodeArgs> args =
            is_custom ? args_of_node(node, work.values) : std::nullopt;
        Status status =
            args ? custom::checked_cost(node, args->inputs, args->outputs).error() : Status();
        if (!status.ok()) {
            return std::move(status).with_node(node.label()).with_file(graph.file);
        }
    }
    return {};
}

std::vector<NodeEstimate> node_estimates(const GraphWork& work,
                                         std::span<const AssumedDevice> devices) {
    std::vector<DeviceEstimates> of_device;
    of_device.reserve(devices.size());
    for (const AssumedDevice& device : devices) {
        of_device.emplace_back(device.rates, device.measured.get());
    }
    std::vector<NodeEstimate> estimates;
    estimates.reserve(work.nodes.size() * devices.size());
    for (size_t n = 0; n < work.nodes.size(); ++n) {
        const OperatorSignature* signature = work.signatures[n] ? &*work.signatures[n] : nullptr;
        for (size_t d = 0; d < devices.size(); ++d) {
            NodeEstimate& estimate = estimates.emplace_back(
                of_device[d].of(signature, work.op_types[n], work.nodes[n].value_or(Cost())));
            const std::vector<double>& reported_ns = devices[d].reported_ns;
            const double own_ns = n < reported_ns.size() ? reported_ns[n] : 0;
            if (own_ns > 0 && estimate.source == CostSource::kDefinition) {
                estimate = {own_ns, CostSource::kReported};
            }
            const std::vector<double>& derived_ns = devices[d].derived_ns;
            const double shard_ns = n < derived_ns.size() ? derived_ns[n] : -1;
            if (shard_ns >= 0 && estimate.source != CostSource::kMeasured) {
                estimate = {shard_ns, CostSource::kScaled};
            }
        }
    }
    return estimates;
}

NodeCosts node_costs(const GraphWork& work, std::span<const AssumedDevice> devices) {
    const std::vector<NodeEstimate> estimates = node_estimates(work, devices);
    std::vector<double> cost_ns;
    cost_ns.reserve(estimates.size());
    for (const NodeEstimate& estimate : estimates) {
        cost_ns.push_back(estimate.ns);
    }
    return {std::move(cost_ns), devices.size()};
}

}  // namespace leat
