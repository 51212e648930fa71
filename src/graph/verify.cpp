#include "graph/verify.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/error.h"
#include "base/hash_index.h"
#include "graph/bodies.h"
#include "graph/inference.h"

namespace leat {
namespace {

// A message beyond this many problems helps nobody.
constexpr size_t kMaxProblems = 20;

// Shapes and indices are known; weights computed in the graph are left to constant folding.
constexpr int64_t kMaxShapeElements = 1024;

// Bounds of Clip are attributes of an epilogue's step, as in this opset.
constexpr int32_t kLastClipWithBounds = 10;

using Problems = std::vector<Status>;

// One problem as it is; several in one message with the code of the first.
Status join(Problems problems, const GraphData& graph) {
    if (problems.empty()) {
        return {};
    }
    if (problems.size() == 1) {
        return std::move(problems[0]).with_file(graph.file);
    }
    std::string text = fmt::format("{} problems", problems.size());
    for (size_t i = 0; i < std::min(problems.size(), kMaxProblems); ++i) {
        text += fmt::format("; ({}) {}", i + 1, problems[i].message());
    }
    return Status(problems[0].code(), std::move(text)).with_file(graph.file);
}

bool in_range(const GraphData& graph, ValueId id) {
    return id.valid() && id.index < graph.value_count();
}

void check_node_ids(const GraphData& graph, const NodeData& node, Problems& problems) {
    for (const auto* list : {&node.inputs, &node.outputs}) {
        for (size_t i = 0; i < list->size(); ++i) {
            if ((*list)[i].valid() && !in_range(graph, (*list)[i])) {
                problems.push_back(
                    invalid_argument("{} {} is not a value of this graph",
                                     list == &node.inputs ? "input" : "output", i)
                        .with_node(node.label())
                        .with_found(fmt::format("value id {}", (*list)[i].index))
                        .with_needed(fmt::format("an id below {}", graph.value_count())));
            }
        }
    }
}

// Every body has an input for each value that the node captures.
void check_captures(const NodeData& node, Problems& problems) {
    for (const auto& [key, body] : node.bodies()) {
        if (body->inputs.size() < node.captured_count()) {
            problems.push_back(
                invalid_argument("attribute '{}' has too few inputs", key)
                    .with_node(node.label())
                    .with_found(std::to_string(body->inputs.size()))
                    .with_needed(fmt::format("{} or more: one for each captured value",
                                             node.captured_count())));
        }
    }
    if (node.captured_count() > 0 && !node.has_bodies()) {
        problems.push_back(invalid_argument("values are captured, and there is no body")
                               .with_node(node.label())
                               .with_found(std::to_string(node.captured_count())));
    }
    for (size_t i = node.own_inputs(); i < node.operand_count(); ++i) {
        if (!node.inputs[i].valid()) {
            problems.push_back(
                invalid_argument("a captured value is absent").with_node(node.label()));
        }
    }
}

void check_ids(const GraphData& graph, Problems& problems) {
    for (const NodeData& node : graph.nodes) {
        if (!node.dead) {
            check_node_ids(graph, node, problems);
            check_captures(node, problems);
        }
    }
    for (const auto* list : {&graph.inputs, &graph.outputs}) {
        for (ValueId id : *list) {
            if (!in_range(graph, id)) {
                problems.push_back(invalid_argument(
                    "a graph {} is not a value of this graph",
                    list == &graph.inputs ? std::string("input") : std::string("output")));
            }
        }
    }
    if (graph.output_names.size() != graph.outputs.size()) {
        problems.push_back(internal_error("{} outputs have {} names", graph.outputs.size(),
                                          graph.output_names.size()));
    }
}

void check_names(const GraphData& graph, Problems& problems) {
    NameTable<bool> seen;
    seen.reserve(graph.values.size());
    for (const ValueData& value : graph.values) {
        if (!value.name.empty() && !seen.insert(value.name)) {
            problems.push_back(
                invalid_argument("two values have the same name")
                    .with_node(value.producer.valid() ? graph.node(value.producer).label() : "")
                    .with_found(fmt::format("'{}' twice", value.name))
                    .with_needed("a name for each input, constant and node result"));
        }
    }
    NameTable<bool> outputs;
    for (const std::string& name : graph.output_names) {
        if (!outputs.insert(name)) {
            problems.push_back(invalid_argument("two graph outputs have the same name '{}'", name));
        }
    }
}

// None of a dead node.
std::span<const ValueId> ids_of(const NodeData& node, const std::vector<ValueId>& ids) {
    return node.dead ? std::span<const ValueId>() : std::span(ids);
}

// Every value that is read has exactly one source: an input, a constant or one node.
void check_sources(const GraphData& graph, Problems& problems) {
    std::vector<int> sources(graph.values.size(), 0);
    for (ValueId id : graph.inputs) {
        ++sources[size_t(id.index)];
    }
    for (const Capture& capture : graph.captures) {  // check_interface() reports them
        ++sources[size_t(capture.inside.index)];
    }
    for (size_t v = 0; v < graph.values.size(); ++v) {
        sources[v] += graph.values[v].constant ? 1 : 0;
    }
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        for (ValueId id : ids_of(graph.nodes[n], graph.nodes[n].outputs)) {
            if (id.valid() && graph.value(id).producer == NodeId{int32_t(n)}) {
                ++sources[size_t(id.index)];
            } else if (id.valid()) {
                problems.push_back(
                    invalid_argument("'{}' is the result of two nodes", graph.value(id).name)
                        .with_node(graph.nodes[n].label()));
            }
        }
    }
    for (size_t v = 0; v < graph.values.size(); ++v) {
        if (sources[v] > 1) {
            problems.push_back(
                invalid_argument("'{}' has {} sources", graph.values[v].name, sources[v])
                    .with_needed("one: an input, a constant or a node"));
        }
    }
    const auto check_read = [&](ValueId id, const auto& reader) {
        if (id.valid() && sources[size_t(id.index)] == 0) {
            problems.push_back(
                invalid_argument("'{}' is read but nothing produces it", graph.value(id).name)
                    .with_node(reader())
                    .with_needed("an input, a constant or a node of that name"));
        }
    };
    for (const NodeData& node : graph.nodes) {
        for (ValueId id : ids_of(node, node.inputs)) {
            check_read(id, [&] { return node.label(); });
        }
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
        check_read(graph.outputs[i],
                   [&] { return fmt::format("graph output '{}'", graph.output_names[i]); });
    }
}

void check_input(const std::string& name, const TypeInfo& type, Problems& problems) {
    if (name.empty()) {
        problems.push_back(invalid_argument("a graph input has no name"));
    }
    if (type.is_tensor() && type.dtype == DType::kUndefined) {
        problems.push_back(invalid_argument("input '{}' has no element type", name));
    }
    if (type.rank() > kMaxRank) {
        problems.push_back(unsupported("input '{}' has too many axes", name)
                               .with_found(type.to_string())
                               .with_needed(fmt::format("rank 0 to {}", kMaxRank)));
    }
}

// Of a graph that is no body: types of bodies' inputs come from the nodes that have them.
void check_interface(const GraphData& graph, Problems& problems) {
    std::unordered_set<std::string_view> names;
    for (ValueId id : graph.inputs) {
        const ValueData& value = graph.value(id);
        check_input(value.name, value.type, problems);
        names.insert(value.name);
    }
    for (const DefaultInput& input : graph.default_inputs) {
        check_input(input.name, input.type, problems);
        if (!names.insert(input.name).second) {
            problems.push_back(invalid_argument("two inputs have the same name '{}'", input.name));
        }
    }
    if (Status status = check_is_whole(graph); !status.ok()) {
        problems.push_back(std::move(status));
    }
    if (graph.outputs.empty()) {
        problems.push_back(invalid_argument("the graph has no outputs"));
    }
}

// An operator without a definition, and where it is used.
struct MissingOperator {
    std::string op;
    const NodeData* first = nullptr;
    std::string around;  // what the first node is in; empty: it is of the graph
    int count = 0;
};

// Those of bodies, too.
void find_missing_operators(const GraphData& graph,
                            const std::string& around,
                            std::vector<MissingOperator>& missing) {
    for (const NodeData& node : graph.nodes) {
        if (node.dead) {
            continue;
        }
        if (node.def == nullptr) {
            const std::string op =
                node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
            auto found = std::find_if(missing.begin(), missing.end(),
                                      [&](const MissingOperator& entry) { return entry.op == op; });
            if (found == missing.end()) {
                missing.push_back({op, &node, around, 0});
                found = missing.end() - 1;
            }
            ++found->count;
        }
        for (const auto& [key, body] : node.bodies()) {
            find_missing_operators(*body, body_path(node, key, around), missing);
        }
    }
}

// All of them in one status: each once, with its first node.
Status check_operators(const GraphData& graph) {
    std::vector<MissingOperator> missing;
    find_missing_operators(graph, "", missing);
    if (missing.empty()) {
        return {};
    }
    std::string list;
    for (const MissingOperator& entry : missing) {
        list += list.empty() ? "" : ", ";
        list += fmt::format("{} (node '{}'", entry.op, entry.first->name);
        list += entry.around.empty() ? "" : fmt::format(" in {}", entry.around);
        list += entry.first->opset > 0 ? fmt::format(", opset {}", entry.first->opset) : "";
        list += entry.count > 1 ? fmt::format(", {} nodes)", entry.count) : ")";
    }
    const bool may_be_custom =
        std::any_of(missing.begin(), missing.end(), [](const MissingOperator& entry) {
            return entry.first->def == nullptr && !entry.first->domain.empty();
        });
    return unsupported("{} operator{} not implemented: {}", missing.size(),
                       missing.size() == 1 ? " is" : "s are", list)
        .with_file(graph.file)
        .with_hint(may_be_custom ? "operators of other domains are registered by "
                                   "Runtime::register_operator, Runtime::load_operators or "
                                   "graphbench --operators FILE.so"
                                 : "");
}

Status check_node_attributes(const OpDef& def,
                             const Attributes& attributes,
                             int32_t opset = kCanonicalOpset) {
    if (!def.domain.empty() && def.attributes.empty()) {
        return {};
    }
    const std::string op =
        def.domain.empty() ? std::string(def.name) : fmt::format("{}.{}", def.domain, def.name);
    return check_attributes(op, def.attributes, opset, given_attributes(attributes));
}

// In the canonical form; the operators are known.
void check_attributes(const GraphData& graph, Problems& problems) {
    for (const NodeData& node : graph.nodes) {
        if (node.dead) {
            continue;
        }
        Status status = check_node_attributes(*node.def, node.attributes);
        for (size_t i = 0; status.ok() && i < node.epilogue.size(); ++i) {
            const EpilogueStep& step = node.epilogue[i];
            const bool has_bounds = step.op->name == "Clip";
            status = check_node_attributes(*step.op, step.attributes,
                                           has_bounds ? kLastClipWithBounds : kCanonicalOpset);
        }
        if (!status.ok()) {
            problems.push_back(std::move(status).with_node(node.label()));
        }
        for (const auto& [key, body] : node.bodies()) {
            check_attributes(*body, problems);
        }
    }
}

// Inference of the graph as it is declared; its nodes may be in any order.
Status check_types(const GraphData& graph, const std::vector<NodeId>& order) {
    const auto comes_first = [](NodeId a, NodeId b) { return a.index < b.index; };
    const bool is_simple = std::none_of(graph.nodes.begin(), graph.nodes.end(),
                                        [](const NodeData& node) { return node.has_bodies(); });
    const bool sorted = is_simple && std::is_sorted(order.begin(), order.end(), comes_first);
    GraphData copy;
    if (!sorted) {
        copy = graph;
        copy.compact();
    }
    const GraphData& ordered = sorted ? graph : copy;
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> facts,
                          infer_graph(ordered, {}, {kMaxShapeElements}));
    for (size_t i = 0; i < ordered.outputs.size(); ++i) {
        const TypeInfo& found = facts[size_t(ordered.outputs[i].index)].type;
        LEAT_RETURN_IF_ERROR(check_output_type(ordered, i, found));
    }
    return {};
}

// What a graph has to be in itself, as a body or not. Returns its nodes in topological order.
Result<std::vector<NodeId>> check_structure(const GraphData& graph, bool is_body) {
    Problems problems = graph.build_errors;
    check_ids(graph, problems);
    if (!problems.empty()) {
        return join(std::move(problems), graph);
    }
    check_names(graph, problems);
    check_sources(graph, problems);
    if (!is_body) {
        check_interface(graph, problems);
    }
    if (!problems.empty()) {
        return join(std::move(problems), graph);
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<NodeId> order, graph.topological_order());
    for (const NodeData& node : graph.nodes) {
        for (const auto& [key, body] : node.bodies()) {
            if (Status status = check_structure(*body, true).error(); !status.ok()) {
                return std::move(status).within(body_path(node, key));
            }
        }
    }
    return order;
}

}  // namespace

Status check_is_whole(const GraphData& graph) {
    if (graph.captures.empty()) {
        return {};
    }
    return invalid_argument("'{}' is captured from a graph around, and there is none",
                            graph.value(graph.captures[0].inside).name)
        .with_needed("a node that has this graph as a body");
}

Status verify_graph(const GraphData& graph) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<NodeId> order, check_structure(graph, false));
    LEAT_RETURN_IF_ERROR(check_operators(graph));
    Problems problems;
    check_attributes(graph, problems);
    if (!problems.empty()) {
        return join(std::move(problems), graph);
    }
    return check_types(graph, order);
}

}  // namespace leat
