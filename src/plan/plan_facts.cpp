#include "plan/plan_facts.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/node_twins.h"
#include "plan/replan_seed.h"

namespace leat {
namespace {

// The second plan looks for them, as the first one has no use for them.
std::shared_ptr<const NodeTwins> twins_for(const PlanContext& context) {
    const PlanFacts& before = context.seed->facts;
    return before.twins != nullptr || before.values.empty()
               ? before.twins
               : std::make_shared<const NodeTwins>(
                     find_node_twins(context.whole, before.values.list()));
}

Result<SharedFacts> infer_values(const PlanContext& context,
                                 std::span<const ValueFact> input_facts,
                                 const NodeTwins* twins,
                                 NodeTwins& alike) {
    static const NodeTwins kNoTwins;
    // Shapes were checked already; those of a shard may be other than the declared ones.
    InferenceOptions options;
    options.checks_extents = false;
    return infer_graph_again(
        context.whole, input_facts, options,
        {context.seed->facts.values.list(), twins == nullptr ? kNoTwins : *twins}, &alike);
}

IdVector<ValueId, bool> find_known_values(const PlanContext& context, const PlanFacts& facts) {
    const PlanFacts& before = context.seed->facts;
    IdVector<ValueId, bool> known(context.graph().values.size(), false);
    for (ValueId id{0}; size_t(id.index) < known.size(); ++id.index) {
        known[id] = facts.is_as_in(before, id) ? before.known[id]
                                               : context.graph().value(id).constant.has_value() ||
                                                     facts.of(id).value.has_value();
    }
    return known;
}

// A graph that was read from a file may lack what it was saved with: values that were known.
Status check_computable(const GraphData& graph, const PlanFacts& facts) {
    IdVector<ValueId, bool> has_source(graph.values.size(), false);
    for (const ValueId id : graph.inputs) {
        has_source[id] = true;
    }
    const auto is_there = [&](ValueId id) {
        return !id.valid() || facts.known[id] || has_source[id] || graph.value(id).producer.valid();
    };
    for (NodeId id{0}; size_t(id.index) < graph.nodes.size(); ++id.index) {
        const std::vector<ValueId>& inputs = graph.node(id).inputs;
        if (facts.needed[id] && !std::all_of(inputs.begin(), inputs.end(), is_there)) {
            return parse_error("{} reads what nobody computes", graph.node(id).label());
        }
    }
    return std::all_of(graph.outputs.begin(), graph.outputs.end(), is_there)
               ? Status()
               : parse_error("nobody computes some output");
}

}  // namespace

Result<PlanFacts> find_facts(const PlanContext& context, std::span<const ValueFact> input_facts) {
    PlanFacts facts;
    facts.twins = twins_for(context);
    LEAT_ASSIGN_OR_RETURN(SharedFacts values,
                          infer_values(context, input_facts, facts.twins.get(), facts.alike));
    facts.values = IdVector<ValueId, std::shared_ptr<const ValueFact>>(std::move(values));
    facts.known = find_known_values(context, facts);
    const PlanFacts& before = context.seed->facts;
    facts.needed = !before.known.empty() && before.known == facts.known
                       ? before.needed
                       : IdVector<NodeId, bool>(needed_nodes(context.graph(), facts.known.list()));
    if (context.seed->solved) {
        LEAT_RETURN_IF_ERROR(check_computable(context.graph(), facts));
    }
    return facts;
}

}  // namespace leat
