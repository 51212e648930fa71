// Default inputs: constants of the graph that a request may bind another value to. They are folded
// like all constants, so a graph in which some are open is another one after the passes, and is
// compiled as such when a request first asks for it.
#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "compile/compile_input.h"
#include "graph/default_input.h"
#include "run/compiled_graph_impl.h"

namespace leat {
namespace {

// The graph with inputs in place of these constants, behind its other inputs. check_default_inputs
// found no fault in it.
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
        ValueData& value = data.values[index];
        value.constant.reset();
        value.type = std::move(input.type);
        data.inputs.push_back({int32_t(index)});
    }
    data.default_inputs = std::move(others);
    return graph;
}

}  // namespace

Status check_default_inputs(const GraphData& graph) {
    for (const DefaultInput& input : graph.default_inputs) {
        const size_t index = index_of_default(graph, input);
        if (index == graph.values.size()) {
            return invalid_argument("the default of input '{}' is missing", input.name)
                .with_file(graph.file)
                .with_needed("a constant of its name");
        }
        if (Status status = check_default(input, *graph.values[index].constant); !status.ok()) {
            return std::move(status).with_file(graph.file);
        }
    }
    return {};
}

std::vector<std::string> CompiledGraph::Impl::defaults_among(const InputShapes& shapes) const {
    std::vector<std::string> names;
    for (const auto& [name, shape] : shapes) {
        if (find_default_input(graph, name) != nullptr) {
            names.push_back(name);
        }
    }
    return names;
}

Tensor CompiledGraph::Impl::default_value(std::string_view name) const {
    const DefaultInput* const input = find_default_input(graph, name);
    LEAT_CHECK(input != nullptr && given != nullptr, "no default of '{}'", name);
    const GraphData& data = given->data();
    return *data.values[index_of_default(data, *input)].constant;
}

Result<std::shared_ptr<CompiledGraph::Impl>> CompiledGraph::Impl::open_defaults(
    const std::vector<std::string>& names) {
    return openings_.get(
        names, {},
        [&] {
            const auto at = opened_.find(names);
            return at == opened_.end() ? nullptr : at->second;
        },
        [&] { return compile_graph(runtime, with_open_inputs(*given, names), options); },
        [&](const std::shared_ptr<Impl>& opened) {
            return opened_.emplace(names, opened).first->second;
        });
}

Result<CompiledGraph::Impl*> CompiledGraph::Impl::opened_for(const InputShapes& shapes) {
    const std::vector<std::string> names = defaults_among(shapes);
    if (names.empty()) {
        return this;
    }
    LEAT_ASSIGN_OR_RETURN(const std::shared_ptr<Impl> opened, open_defaults(names));
    return opened.get();
}

CompiledGraph::Impl::OpenedGraphs CompiledGraph::Impl::opened_graphs() const {
    const std::lock_guard lock(openings_.mutex());
    return opened_;
}

}  // namespace leat
