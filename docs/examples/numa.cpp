// The options of docs/numa.md, all at once; they say what they could do here.
#include <leat/leat.h>

#include <cstdio>

int main() {
    void* my_topology = nullptr;
    leat::RuntimeOptions options;
    options.numa.is_on = true;                                  // the default
    options.numa.unit = leat::NumaUnit::kPackage;               // kAuto: the node
    options.numa.requests = leat::RequestSpan::kAllNodes;       // kAuto: one node
    options.numa.weights = leat::WeightPlacement::kInterleave;  // kAuto: a copy, or a part, each
    options.numa.node_limit_bytes = int64_t{8} << 30;           // of leat's memory on each node
    options.numa.is_strict = true;  // what does not fit is an error, not memory elsewhere
    options.numa.hwloc_topology = my_topology;  // hwloc_topology_t of the host: leat loads none
    const leat::Runtime runtime(options);

    leat::Graph graph("double");
    const auto x = graph.input("x", leat::DType::kFloat32, {4});
    graph.output("y", graph.add("Add", {x, x}));
    const auto compiled = runtime.compile(graph);
    if (!compiled) {
        return std::fprintf(stderr, "%s\n", compiled.error().message().c_str()), 1;
    }
    for (const leat::MemoryNodeInfo& node : runtime.host().memory_nodes) {
        std::printf("node %d: %s, policy %s\n", node.numa_node, node.budget_reason.c_str(),
                    node.policy.c_str());
    }
    return 0;
}
