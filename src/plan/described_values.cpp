#include "plan/described_values.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/control_flow/control_flow.h"

namespace leat {
namespace {

int64_t planned_bytes(const TensorArg& arg) {
    const int64_t most = arg.dtype == DType::kString ? 0 : std::numeric_limits<int64_t>::max();
    return storage_bytes(arg.dtype, arg.shape.element_count()).value_or(most);
}

}  // namespace

DescribedValues::DescribedValues(const PlanContext& context, const PlanFacts& facts)
    : context_(context), graph_(context.graph()), facts_(facts), at_(graph_.values.size(), -1) {
    described_.reserve(graph_.nodes.size() + graph_.inputs.size());
}

Result<DescribedValues> DescribedValues::make(const PlanContext& context, const PlanFacts& facts) {
    DescribedValues values(context, facts);
    const GraphData& graph = context.graph();
    SizeSum bytes;
    for (const ValueId id : graph.inputs) {
        const TypeInfo& type = facts.of(id).type;
        LEAT_RETURN_IF_ERROR(bytes.add(type, type.fixed_shape(), graph.value(id).name));
    }
    for (NodeId node{0}; size_t(node.index) < graph.nodes.size(); ++node.index) {
        if (facts.needed[node]) {
            Status status = values.add_results(node, bytes);
            if (!status.ok()) {
                return std::move(status).with_node(graph.node(node).label());
            }
        }
    }
    for (const ValueId id : graph.inputs) {
        if (!facts.known[id]) {
            values.add(id, facts.of(id).type.fixed_shape().value_or(Shape()));
        }
    }
    return values;
}

// Every value that a step touches must be a tensor of fixed shape.
Status DescribedValues::add_results(NodeId node, SizeSum& bytes) {
    for (const ValueId id : graph_.node(node).outputs) {
        if (!id.valid()) {
            continue;
        }
        const TypeInfo& type = facts_.of(id).type;
        const std::optional<Shape> shape = type.fixed_shape();
        LEAT_RETURN_IF_ERROR(bytes.add(type, shape, graph_.value(id).name));
        if (describe_as_twin(node, id)) {
            continue;
        }
        if (!shape) {
            const std::optional<Shape> grown = grown_shape(id);
            if (!grown) {
                return has_no_shape(id);
            }
            add(id, *grown);
            described_.back().grows = true;
            continue;
        }
        if (!facts_.known[id]) {
            add(id, *shape);
            largest_result_bytes_ =
                std::max(largest_result_bytes_, planned_bytes(described_.back()));
        }
    }
    return {};
}

Status DescribedValues::has_no_shape(ValueId id) const {
    const ValueData& value = graph_.value(id);
    const NodeData& node = graph_.node(value.producer);
    Status status = unsupported("the shape of result '{}' depends on computed data", value.name)
                        .with_found(facts_.of(id).type.to_string())
                        .with_needed("a shape that follows from the inputs' shapes and values");
    if (!node.has_bodies() || node.op_type != "Loop") {
        return status;
    }
    return std::move(status).with_hint(
        is_stack_of_loop(node, value.output_index)
            ? "let it be a result of the graph that no node reads, or give the loop a trip count "
              "that is an input or a constant, and no condition"
            : "let the body give the value the shape that it has before");
}

// What a run makes larger: 0 for each extent that only the run knows. Nothing: it may not grow. Its
// memory is outside of the arena, so it can be a result of the graph and nothing else.
std::optional<Shape> DescribedValues::grown_shape(ValueId id) const {
    const ValueData& value = graph_.value(id);
    const NodeData& node = graph_.node(value.producer);
    const TypeInfo& type = facts_.of(id).type;
    if (context_.is_body || is_read(id)) {
        return std::nullopt;
    }
    if (is_open_output(node, value.output_index)) {
        return type.least_shape();
    }
    if (!may_grow(node, value.output_index, type)) {
        return std::nullopt;
    }
    std::vector<DimSpec> dims = *type.dims;
    dims[0] = DimSpec(0);
    return TypeInfo::tensor(type.dtype, std::move(dims)).fixed_shape();
}

bool DescribedValues::is_read(ValueId id) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [id](const NodeData& node) {
        return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
    });
}

// True if the result is described already, as it is to steps what its twin's is.
bool DescribedValues::describe_as_twin(NodeId node, ValueId id) {
    const NodeId twin = facts_.twin_of(context_, node);
    if (!twin.valid() || facts_.known[id]) {
        return false;
    }
    const ValueId other = graph_.node(twin).outputs[size_t(graph_.value(id).output_index)];
    if (at_[other] < 0 || facts_.values[id] != facts_.values[other] ||
        graph_.value(id).layout != graph_.value(other).layout) {
        return false;
    }
    at_[id] = at_[other];
    return true;
}

void DescribedValues::add(ValueId id, const Shape& shape) {
    at_[id] = int32_t(described_.size());
    described_.push_back(describe(id, shape));
}

TensorArg DescribedValues::describe(ValueId id, const Shape& shape) const {
    TensorArg arg;
    arg.dtype = facts_.of(id).type.dtype;
    arg.shape = shape;
    arg.strides = strides_of(graph_.value(id).layout, shape);
    return arg;
}

TensorArg DescribedValues::argument(ValueId id) const {
    if (!id.valid()) {
        return {};
    }
    if (facts_.known[id]) {
        const Tensor& value = facts_.known_value(graph_, id);
        return row_major_arg(value.dtype(), value.shape(), nullptr);
    }
    const TensorArg* described = find(id);
    return described != nullptr ? *described
                                : describe(id, facts_.of(id).type.fixed_shape().value_or(Shape()));
}

}  // namespace leat
