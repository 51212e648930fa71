// Default inputs: constants of the graph that a request may bind another value to. They are folded
// like all constants, so a graph in which some are open is another one after the passes, and is
// compiled as such when a request first asks for it.
#include <algorithm>

#include "base/error.h"
#include "runtime/compile_input.h"
#include "runtime/compiled_graph_impl.h"

namespace leat {
namespace {

// Of its value; their number: the graph has no such constant.
size_t index_of_default(const GraphData& graph, const DefaultInput& input) {
    const auto found = std::find_if(
        graph.values.begin(), graph.values.end(),
        [&](const ValueData& value) { return value.constant && value.name == input.name; });
    return size_t(found - graph.values.begin());
}

// The graph with inputs in place of these constants, behind its other inputs.
Graph with_open_inputs(const Graph& given, const std::vector<std::string>& names) {
    Graph graph = given;
    GraphData& data = graph.data();
    std::vector<DefaultInput> others;
    for (DefaultInput& input : data.default_inputs) {
        if (!std::binary_search(names.begin(), names.end(), input.name)) {
            others.push_back(std::move(input));
            continue;
        }
        const size_t index = index_of_default(data, input);
        if (index < data.values.size()) {
            ValueData& value = data.values[index];
            value.constant.reset();
            value.type = std::move(input.type);
            data.inputs.push_back({int32_t(index)});
        }
    }
    data.default_inputs = std::move(others);
    return graph;
}

}  // namespace

Status check_default_inputs(const GraphData& graph) {
    for (const DefaultInput& input : graph.default_inputs) {
        if (index_of_default(graph, input) == graph.values.size()) {
            return invalid_argument("the default of input '{}' is missing", input.name)
                .with_file(graph.file)
                .with_needed("a constant of its name");
        }
    }
    return {};
}

Result<std::shared_ptr<CompiledGraph::Impl>> CompiledGraph::Impl::open_defaults(
    const std::vector<std::string>& names) {
    const std::lock_guard lock(opened_mutex_);
    std::shared_ptr<Impl>& opened = opened_[names];
    if (opened == nullptr) {
        LEAT_ASSIGN_OR_RETURN(opened,
                              compile_graph(runtime, with_open_inputs(*given, names), options));
    }
    return opened;
}

}  // namespace leat
