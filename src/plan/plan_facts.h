// PlanFacts: what shapes say before any step is prepared.
#pragma once

#include <memory>
#include <span>

#include "base/id_vector.h"
#include "graph/inference.h"
#include "plan/plan_context.h"

namespace leat {

struct PlanFacts {
    IdVector<ValueId, std::shared_ptr<const ValueFact>> values;
    std::shared_ptr<const NodeTwins> twins;  // null: there was no earlier plan to find them by
    NodeTwins alike;  // by node: an earlier one of the same operands; -1: none was looked for
    IdVector<ValueId, bool> known;  // no step computes it
    IdVector<NodeId, bool> needed;  // some output needs it

    const ValueFact& of(ValueId id) const { return *values[id]; }
    // Equal facts of several plans are one object.
    bool is_as_in(const PlanFacts& other, ValueId id) const {
        return !other.values.empty() && values[id] == other.values[id];
    }
    // Precondition: it is known.
    const Tensor& known_value(const GraphData& graph, ValueId id) const {
        const ValueData& data = graph.value(id);
        return data.constant ? *data.constant : *of(id).value;
    }
    // An earlier node that may be like this one: of the same operands in this plan, or what was so
    // when twins were looked for; invalid: there is none.
    NodeId twin_of(const PlanContext& context, NodeId node) const {
        const auto at = size_t(node.index);
        if (twins == nullptr || context.placed.cut != nullptr) {
            return {};
        }
        return {alike[at] >= 0 ? alike[at] : (*twins)[at]};
    }
};

// Facts that are those of the seed are its objects. kParse: a graph from a file needs values that
// nobody computes.
Result<PlanFacts> find_facts(const PlanContext& context, std::span<const ValueFact> input_facts);

}  // namespace leat
