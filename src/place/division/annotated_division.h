// Shards that annotations of a model demand (Pin::shards), as a division of the graph after the
// passes, which has types.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "machine/device_list.h"
#include "passes/node_history.h"
#include "place/division/operator_division.h"

namespace leat {

struct AnnotatedDivision {
    OperatorDivision division;       // successive shards on one device are one
    std::vector<std::string> notes;  // which nodes stay whole, and why
};

// may_change_bits: of the sums of summands. Errors: kInvalidArgument where an annotation is of an
// operand, an axis or an extent that the node does not have. Precondition: as split_axes(); the
// devices of the shards are in the list.
Result<AnnotatedDivision> annotated_division(const GraphData& graph,
                                             const NodeHistory& history,
                                             std::span<const ListedDevice> devices,
                                             bool may_change_bits);

// What a note says of a node that is not divided as `operand` is.
std::string stays_whole(const NodeData& node,
                        const ShardedOperand& operand,
                        const std::string& reason);

}  // namespace leat
