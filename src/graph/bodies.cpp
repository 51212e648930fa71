#include "graph/bodies.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "graph/inference.h"

namespace leat {
namespace {

// Elements of shapes and indices.
constexpr int64_t kMaxFoldedElements = 1024;

bool has_dim(const ValueFact& fact, const DimSpec& dim) {
    return fact.type.dims && std::any_of(fact.type.dims->begin(), fact.type.dims->end(),
                                         [&](const DimSpec& own) { return same_dim(own, dim); });
}

// Without extents whose names come from within the body.
ValueFact seen_from_around(const ValueFact& fact, std::span<const ValueFact> given) {
    ValueFact seen(fact.type, fact.value);
    for (size_t axis = 0; seen.type.dims && axis < seen.type.dims->size(); ++axis) {
        DimSpec& dim = (*seen.type.dims)[axis];
        const bool is_known =
            dim.is_fixed() || std::any_of(given.begin(), given.end(), [&](const ValueFact& input) {
                return has_dim(input, dim);
            });
        dim = is_known ? dim : DimSpec::unknown();
    }
    return seen;
}

// An extent that does not follow from the inputs is the one that the body declares: runs check it.
void add_declared(const TypeInfo& declared, TypeInfo& found) {
    if (!declared.dims || (found.dims && found.dims->size() != declared.dims->size())) {
        return;
    }
    if (!found.dims) {
        found.dims.emplace(declared.dims->size(), DimSpec::unknown());
    }
    for (size_t axis = 0; axis < declared.dims->size(); ++axis) {
        const DimSpec& dim = (*declared.dims)[axis];
        DimSpec& own = (*found.dims)[axis];
        own = !own.is_fixed() && own.name().empty() && dim.is_fixed() ? dim : own;
    }
}

Result<std::vector<ValueFact>> infer_outputs(const GraphData& body,
                                             std::span<const ValueFact> given) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> facts,
                          infer_graph(body, given, {kMaxFoldedElements}));
    std::vector<ValueFact> outputs;
    for (size_t i = 0; i < body.outputs.size(); ++i) {
        const ValueFact& found = facts[size_t(body.outputs[i].index)];
        LEAT_RETURN_IF_ERROR(check_output_type(body, i, found.type));
        outputs.push_back(seen_from_around(found, given));
        add_declared(body.value(body.outputs[i]).type, outputs.back().type);
    }
    return outputs;
}

Result<std::vector<Tensor>> evaluate_outputs(const GraphData& body,
                                             std::span<const ValueFact> given,
                                             RunStop stop) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> facts,
                          infer_graph(body, given, {.fold_everything = true, .stop = stop}));
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < body.outputs.size(); ++i) {
        const std::optional<Tensor>& value = facts[size_t(body.outputs[i].index)].value;
        if (!value) {
            return unsupported("output '{}' cannot be computed by reference kernels",
                               body.output_names[i]);
        }
        outputs.push_back(*value);
    }
    return outputs;
}

constexpr int64_t kMostFoldedIterations = 1000;

bool is_within(const NodeData& node, std::span<const ValueFact* const> inputs, int64_t most);

// Of a body nothing is known but its constants and what it declares.
bool are_within(const GraphData& body, int64_t most) {
    return std::all_of(body.nodes.begin(), body.nodes.end(), [&](const NodeData& node) {
        if (!node.has_bodies()) {
            return true;
        }
        std::vector<ValueFact> facts;
        for (const ValueId id : node.inputs) {
            facts.push_back(id.valid() ? ValueFact(body.value(id).type, body.value(id).constant)
                                       : ValueFact());
        }
        std::vector<const ValueFact*> inputs;
        for (size_t i = 0; i < facts.size(); ++i) {
            inputs.push_back(node.inputs[i].valid() ? &facts[i] : nullptr);
        }
        return is_within(node, inputs, most);
    });
}

bool is_within(const NodeData& node, std::span<const ValueFact* const> inputs, int64_t most) {
    if (!node.has_bodies()) {
        return true;
    }
    if (node.def == nullptr || node.def->iterations == nullptr) {
        return false;
    }
    const InferContext context(node, inputs.first(node.operand_count()), {});
    const std::optional<int64_t> iterations = node.def->iterations(context);
    if (!iterations || *iterations > most) {
        return false;
    }
    const auto bodies = node.bodies();
    return std::all_of(bodies.begin(), bodies.end(), [&](const auto& body) {
        return are_within(*body.graph, most / std::max<int64_t>(*iterations, 1));
    });
}

void add_constants(const GraphData& graph,
                   std::set<const std::byte*>& seen,
                   const std::function<void(const Tensor&)>& on_constant) {
    for (const ValueData& value : graph.values) {
        if (value.constant && seen.insert(value.constant->bytes()).second) {
            on_constant(*value.constant);
        }
    }
    for (const NodeData& node : graph.nodes) {
        for (const auto& [key, body] : node.bodies()) {
            add_constants(*body, seen, on_constant);
        }
    }
}

}  // namespace

Status check_output_type(const GraphData& graph, size_t output, const TypeInfo& found) {
    const TypeInfo& declared = graph.value(graph.outputs[output]).type;
    if (declared.dtype == DType::kUndefined ||
        (declared.kind == found.kind && declared.dtype == found.dtype)) {
        return {};
    }
    return invalid_argument("output '{}' has another type than declared",
                            graph.output_names[output])
        .with_file(graph.file)
        .with_found(found.to_string())
        .with_needed(declared.to_string());
}

void for_each_constant(const GraphData& graph,
                       const std::function<void(const Tensor&)>& on_constant) {
    std::set<const std::byte*> seen;
    add_constants(graph, seen, on_constant);
}

std::string body_path(const NodeData& node, std::string_view key, std::string_view around) {
    return fmt::format("{}{}{}, {}", around, around.empty() ? "" : ", ", node.label(), key);
}

bool is_short(const NodeData& node, std::span<const ValueFact* const> inputs) {
    return is_within(node, inputs, kMostFoldedIterations);
}

bool has_host_meaning(const NodeData& node) {
    return node.def != nullptr && (node.def->reference != nullptr || node.def->is_view);
}

bool may_be_evaluated(const NodeData& node) {
    if (!has_host_meaning(node) || node.def->nondeterministic) {
        return false;
    }
    const auto bodies = node.bodies();
    return std::all_of(bodies.begin(), bodies.end(), [](const auto& body) {
        return std::all_of(body.graph->nodes.begin(), body.graph->nodes.end(), may_be_evaluated);
    });
}

Result<std::vector<ValueFact>> infer_body(const InferContext& context,
                                          std::string_view key,
                                          std::span<const ValueFact> given) {
    const GraphData& body = *context.node().body(key);
    const std::span<const ValueFact* const> captured = context.captured();
    const size_t own_inputs = body.inputs.size() - captured.size();
    if (own_inputs != given.size()) {
        return invalid_argument("the body '{}' has a wrong number of inputs", key)
            .with_found(std::to_string(own_inputs))
            .with_needed(std::to_string(given.size()));
    }
    std::vector<ValueFact> facts(given.begin(), given.end());
    for (const ValueFact* fact : captured) {
        facts.push_back(*fact);
    }
    Result<std::vector<ValueFact>> outputs = infer_outputs(body, facts);
    if (!outputs.ok()) {
        return std::move(outputs).error().within(body_path(context.node(), key));
    }
    context.keep_body_inputs(key, std::move(facts));
    return outputs;
}

Result<BodyInputs> infer_body_inputs(const NodeData& node,
                                     std::span<const ValueFact* const> inputs) {
    BodyInputs kept;
    std::vector<ValueFact> outputs(node.outputs.size());
    LEAT_RETURN_IF_ERROR(infer_node(node, inputs, outputs, &kept));
    return kept;
}

Result<std::vector<Tensor>> evaluate_body(const NodeData& node,
                                          std::string_view key,
                                          std::span<const Tensor> inputs,
                                          RunStop stop,
                                          int64_t iteration) {
    std::vector<ValueFact> given;
    for (const Tensor& input : inputs) {
        given.emplace_back(TypeInfo::tensor(input.dtype(), input.shape()), input);
    }
    Result<std::vector<Tensor>> outputs = evaluate_outputs(*node.body(key), given, stop);
    if (!outputs.ok()) {
        const std::string number =
            iteration < 0 ? std::string() : fmt::format(", iteration {}", iteration);
        return std::move(outputs).error().within(body_path(node, key) + number);
    }
    return outputs;
}

}  // namespace leat
