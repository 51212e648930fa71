// Estimated times of a graph's nodes on a list of devices, and of values between their memories.
//
// Whoever places nodes and whoever reports about placements takes the times from here. Pure but for
// assume_devices(), which reads the infos of devices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/inference.h"
#include "machine/device_list.h"
#include "partition/cost_model.h"
#include "partition/measured_costs.h"

namespace leat {

// The memory that graph inputs come from and outputs go to; index in AssumedDevices::domains.
constexpr int kHostMemory = 0;

// What the host copies itself into the arena of a plan, for parts that work there: one thread,
// about.
constexpr LinkRates kHostCopy{0, 1e10};

// How fast a device is taken to be, and who says so.
struct AssumedDevice {
    std::string label;
    DeviceRates rates;
    std::string rates_source;
    int domain = kHostMemory;  // that of parts too which work in the host's arena
    bool is_host = false;      // its nodes are steps of the host's plan
    std::shared_ptr<const MeasuredCosts> measured;  // null: nothing was
    double submit_ns = 0;                           // of each part that it is given
    // By node of the graph, as the backend estimates it; 0: it does not. Empty: nobody has asked.
    std::vector<double> reported_ns;
    // By node of a divided graph, from what is known of the undivided one; below 0: nothing
    // follows. Empty: the graph is not divided.
    std::vector<double> derived_ns;

    // Its parts work in the arena of the host's plan: nothing is copied to or from them but what is
    // not there, in memory of the caller.
    bool is_in_arena() const { return !is_host && domain == kHostMemory; }
};

struct AssumedDomain {
    std::string name;            // "host", or "DEVICE: DOMAIN"
    int64_t capacity_bytes = 0;  // 0: unknown
};

// From one memory to another.
struct AssumedLink {
    LinkRates rates;
    std::string source;
    bool is_by_host = false;  // two copies, one after the other: no link joins the memories
};

struct AssumedDevices {
    std::vector<AssumedDevice> devices;  // as in the list
    std::vector<AssumedDomain> domains;  // kHostMemory, then those that devices work in, each once
    std::vector<AssumedLink> links;      // [from domain][to domain]; the diagonal is not used

    const AssumedLink& link(int from_domain, int to_domain) const {
        return links[size_t(from_domain) * domains.size() + size_t(to_domain)];
    }
};
// threads: of the Runtime.
AssumedDevices assume_devices(std::span<const ListedDevice> devices, int threads);

// What the nodes of a graph do, whichever device runs them.
struct GraphWork {
    std::vector<TensorArg> values;           // without data; not present: unknown rank, no tensor
    std::vector<std::optional<Cost>> nodes;  // nullopt: some operand is not present above
    std::vector<std::optional<OperatorSignature>> signatures;  // by node; nullopt: open extents
    std::vector<std::string_view> op_types;                    // by node, of the graph
    bool has_open_extents = false;                             // some extent was assumed
};
// facts: by value; empty: none but the types of the graph are known. assumed_extent: of extents
// that are not fixed.
GraphWork work_of_graph(const GraphData& graph,
                        std::span<const std::shared_ptr<const ValueFact>> facts,
                        int64_t assumed_extent = 1);

// An error names the node of a custom operator whose cost callback throws, or gives no cost.
Status check_costs(const GraphData& graph, const GraphWork& work);

// Of every node on every device of the list, [node][device]: what was measured, what the backend
// reports, or made of rates. 0 where the work is not known.
std::vector<NodeEstimate> node_estimates(const GraphWork& work,
                                         std::span<const AssumedDevice> devices);
// The same without where they come from.
NodeCosts node_costs(const GraphWork& work, std::span<const AssumedDevice> devices);

}  // namespace leat
