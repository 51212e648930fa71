#include "backend_difference.h"

#include <fmt/core.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "conformance/values.h"
#include "graph/graph_data.h"

namespace leat::bench {
namespace {

// The request's memory holds the outputs.
struct FinishedRun {
    CompiledGraph compiled;
    Request request;
};

Result<FinishedRun> run_graph(const Runtime& runtime,
                              const Graph& graph,
                              const CompileOptions& compile,
                              std::span<const NamedValue> inputs) {
    LEAT_ASSIGN_OR_RETURN(CompiledGraph compiled, runtime.compile(graph, compile));
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    for (const NamedValue& input : inputs) {
        LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
    }
    LEAT_RETURN_IF_ERROR(request.run());
    return FinishedRun{std::move(compiled), std::move(request)};
}

// The graph's nodes up to `last`, in their order; its outputs are what the others, or the caller,
// read of them.
Graph cut_behind(const Graph& graph, std::span<const NodeId> order, size_t last) {
    Graph part = graph;
    GraphData& data = part.data();
    const GraphData::Uses uses = data.uses();
    std::vector<bool> is_kept(data.nodes.size(), false);
    for (size_t i = 0; i <= last; ++i) {
        is_kept[size_t(order[i].index)] = true;
    }
    data.outputs.clear();
    data.output_names.clear();
    for (size_t i = 0; i <= last; ++i) {
        for (const ValueId id : data.node(order[i]).outputs) {
            if (!id.valid()) {
                continue;
            }
            bool is_read = uses.output_uses[size_t(id.index)] > 0;
            for (const NodeId reader : uses.readers[size_t(id.index)]) {
                is_read = is_read || !is_kept[size_t(reader.index)];
            }
            if (is_read) {
                data.outputs.push_back(id);
                data.output_names.push_back(fmt::format("cut{}", data.outputs.size()));
            }
        }
    }
    data.compact();
    return part;
}

class Bisection {
  public:
    Bisection(const BackendPair& pair, const Graph& graph, std::span<const NamedValue> inputs)
        : pair_(pair), graph_(graph), inputs_(inputs) {}

    Result<std::optional<BackendDifference>> outputs() const { return difference_of(graph_); }

    // Precondition: the outputs differ.
    Result<std::string> node() const {
        LEAT_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.data().topological_order());
        if (order.empty()) {
            return std::string();
        }
        // The cut behind `bad` gives a difference, the one before `good` none.
        size_t good = 0;
        size_t bad = order.size() - 1;
        LEAT_ASSIGN_OR_RETURN(const auto whole, difference_of(cut_behind(graph_, order, bad)));
        if (!whole) {
            return std::string();
        }
        while (good < bad) {
            const size_t middle = (good + bad) / 2;
            LEAT_ASSIGN_OR_RETURN(const auto found,
                                  difference_of(cut_behind(graph_, order, middle)));
            (found ? bad : good) = found ? middle : middle + 1;
        }
        return graph_.data().node(order[bad]).label();
    }

  private:
    Result<std::optional<BackendDifference>> difference_of(const Graph& graph) const {
        LEAT_ASSIGN_OR_RETURN(const FinishedRun ours,
                              run_graph(pair_.runtime, graph, pair_.ours, inputs_));
        LEAT_ASSIGN_OR_RETURN(const FinishedRun theirs,
                              run_graph(pair_.runtime, graph, pair_.theirs, inputs_));
        for (const ValueInfo& output : graph.outputs()) {
            LEAT_ASSIGN_OR_RETURN(const Value got, ours.request.output(output.name));
            LEAT_ASSIGN_OR_RETURN(const Value want, theirs.request.output(output.name));
            const Tolerance tolerance{
                pair_.relative_tolerance.value_or(1e-3),
                pair_.absolute_tolerance.value_or(1e-5 * largest_magnitude(want))};
            Difference difference = compare_values(got, want, tolerance);
            if (!difference.matches) {
                return std::optional(
                    BackendDifference{output.name, std::move(difference.reason), {}});
            }
        }
        return std::optional<BackendDifference>();
    }

    const BackendPair& pair_;
    const Graph& graph_;
    std::span<const NamedValue> inputs_;
};

}  // namespace

Result<std::optional<BackendDifference>> backend_difference(const BackendPair& pair,
                                                            const Graph& graph,
                                                            std::span<const NamedValue> inputs) {
    const Bisection bisection(pair, graph, inputs);
    LEAT_ASSIGN_OR_RETURN(std::optional<BackendDifference> found, bisection.outputs());
    if (found) {
        // A cut that a backend refuses hides the node, not the difference.
        Result<std::string> node = bisection.node();
        found->node = node.ok() ? *std::move(node) : std::string();
    }
    return found;
}

}  // namespace leat::bench
