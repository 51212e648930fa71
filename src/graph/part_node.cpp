#include "graph/part_node.h"

#include <fmt/format.h>

#include "graph/op_def.h"

namespace leat {
namespace {

constexpr OpDef kDeviceSubgraph = {.name = "DeviceSubgraph",
                                   .domain = "leat",
                                   .min_inputs = 0,
                                   .max_inputs = -1,
                                   .max_outputs = -1};
constexpr const char* kCluster = "cluster";

}  // namespace

NodeData part_node(int64_t cluster) {
    NodeData node;
    node.name = fmt::format("part {}", cluster);
    node.domain = kDeviceSubgraph.domain;
    node.op_type = kDeviceSubgraph.name;
    node.def = &kDeviceSubgraph;
    node.attributes.emplace(kCluster, cluster);
    return node;
}

int64_t cluster_of(const NodeData& node) {
    return node.def == &kDeviceSubgraph ? node.attr(kCluster, int64_t{-1}) : -1;
}

}  // namespace leat
