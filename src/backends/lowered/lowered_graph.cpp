#include "backends/lowered/lowered_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/lowered/failure.h"

namespace leat::lowered {
namespace {

Tensor copy_of_host_input(const LeatTensorView& view) {
    const std::optional<Shape> shape = Shape::make({view.extents, size_t(view.rank)});
    if (!shape) {
        plugin::invalid_argument("a host input without a shape");
    }
    Result<Tensor> tensor = Tensor::allocate(DType(view.dtype), *shape);
    throw_if(tensor.error());
    std::memcpy(tensor->mutable_bytes(), view.data, size_t(tensor->byte_count()));
    return *std::move(tensor);
}

class Builder {
  public:
    Builder(const ImportedGraph& source,
            const OwnOperators& operators,
            const LeatRunShape& shape,
            LowerOptions options)
        : source_(source),
          graph_(source.graph),
          operators_(operators),
          shape_(shape),
          options_(options) {
        check_symbols();
        result_.facts.resize(graph_.values.size());
        result_.places.resize(graph_.values.size());
        result_.input_steps.resize(graph_.inputs.size());
        result_.output_steps.resize(graph_.outputs.size());
        for (size_t i = 0; i < source.constants.size(); ++i) {
            const ValueId id{source.constants[i].own_value};
            const ValueData& value = graph_.value(id);
            result_.facts[size_t(id.index)] = {value.type, value.constant, {}};
            place_of(id) = {Place::kConstant, int32_t(i)};
        }
    }

    LoweredGraph build() {
        place_inputs();
        place_outputs();
        for (size_t i = 0; i < graph_.nodes.size(); ++i) {
            add_node(NodeId{int32_t(i)});
        }
        for (size_t i = 0; i < result_.outputs.size(); ++i) {
            finish_output(result_.outputs[i], int32_t(i));
        }
        return std::move(result_);
    }

  private:
    void check_symbols() const {
        if (size_t(shape_.symbol_count) != source_.symbols.size()) {
            plugin::invalid_argument(fmt::format("{} extents for {} symbols", shape_.symbol_count,
                                                 source_.symbols.size()));
        }
        for (size_t i = 0; i < source_.symbols.size(); ++i) {
            const Symbol& symbol = source_.symbols[i];
            const int64_t extent = shape_.symbols[i];
            if (extent < symbol.min_extent ||
                (symbol.max_extent >= 0 && extent > symbol.max_extent)) {
                plugin::invalid_argument(fmt::format("symbol '{}' is {}; needed [{}, {}]",
                                                     symbol.name, extent, symbol.min_extent,
                                                     symbol.max_extent));
            }
        }
    }

    DimSpec fixed(const DimSpec& dim) const {
        for (size_t i = 0; i < source_.symbols.size(); ++i) {
            if (!dim.is_fixed() && dim.name() == source_.symbols[i].name) {
                return {shape_.symbols[i]};
            }
        }
        return dim;
    }

    void place_inputs() {
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            const auto value = size_t(graph_.inputs[i].index);
            ValueFact& fact = result_.facts[value];
            const bool is_given =
                int32_t(i) < shape_.input_count && shape_.host_inputs[i] != nullptr;
            if (is_given) {
                fact.value = copy_of_host_input(*shape_.host_inputs[i]);
                fact.type = TypeInfo::tensor(fact.value->dtype(), fact.value->shape());
                result_.places[value] = {Place::kKnown, -1};
                continue;
            }
            fact.type = graph_.values[value].type;
            for (DimSpec& dim : *fact.type.dims) {
                dim = fixed(dim);
            }
            result_.places[value] = {Place::kInput, int32_t(i)};
        }
    }

    // A result goes straight to the memory of the output that it is, unless the memory is that of
    // state which later steps may still read.
    void place_outputs() {
        for (size_t i = 0; i < graph_.outputs.size(); ++i) {
            const ValueId id = graph_.outputs[i];
            LoweredOutput& output = result_.outputs.emplace_back();
            output.value = id.index;
            const bool is_state =
                std::any_of(source_.states.begin(), source_.states.end(),
                            [&](LeatStatePair pair) { return size_t(pair.output) == i; });
            ValuePlace& place = result_.places[size_t(id.index)];
            output.is_copied = is_state || place.place != Place::kNone;
            if (!output.is_copied) {
                place = {Place::kOutput, int32_t(i)};
            }
        }
    }

    TensorArg arg_of_value(ValueId id) const {
        if (!id.valid()) {
            return {};
        }
        const ValueFact& fact = result_.facts[size_t(id.index)];
        const std::optional<Shape> shape = fact.type.fixed_shape();
        if (!shape) {
            plugin::invalid_argument(fmt::format("value '{}' has no fixed shape: {}",
                                                 graph_.value(id).name, fact.type.to_string()));
        }
        return row_major_arg(fact.type.dtype, *shape, fact.value ? fact.value->bytes() : nullptr);
    }

    void infer(const NodeData& node, const LoweredStep& step, std::vector<ValueFact>& outputs) {
        if (operators_.has(node)) {
            operators_.infer(node, step.inputs, outputs);
            return;
        }
        std::vector<const ValueFact*> inputs;
        inputs.reserve(node.inputs.size());
        for (const ValueId id : node.inputs) {
            inputs.push_back(id.valid() ? &result_.facts[size_t(id.index)] : nullptr);
        }
        throw_if(infer_node(node, inputs, outputs));
    }

    // True if the results are known without a run.
    bool fold(const NodeData& node, std::vector<ValueFact>& outputs) const {
        std::vector<const Tensor*> inputs;
        inputs.reserve(node.inputs.size());
        for (const ValueId id : node.inputs) {
            const ValueFact* fact = id.valid() ? &result_.facts[size_t(id.index)] : nullptr;
            if (fact != nullptr && !fact->value) {
                return false;
            }
            inputs.push_back(fact == nullptr ? nullptr : &*fact->value);
        }
        if (operators_.has(node) || node.def->nondeterministic) {
            return false;
        }
        Result<std::vector<Tensor>> results = evaluate_node(node, inputs, outputs);
        throw_if(results.error());
        for (size_t i = 0; i < outputs.size(); ++i) {
            outputs[i].value = (*results)[i];
        }
        return true;
    }

    ValuePlace& place_of(ValueId id) { return result_.places[size_t(id.index)]; }

    // An output of the graph has memory of its own.
    bool is_alias_of_input(const NodeData& node) {
        return options_.aliases_views && !operators_.has(node) && node.def->is_view &&
               node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0].valid() &&
               place_of(node.outputs[0]).place == Place::kNone;
    }

    void add_node(NodeId id) {
        const NodeData& node = graph_.node(id);
        LoweredStep step;
        step.node = id;
        for (const ValueId input : node.inputs) {
            step.inputs.push_back(arg_of_value(input));
        }
        std::vector<ValueFact> outputs(node.outputs.size());
        infer(node, step, outputs);
        const bool is_known = fold(node, outputs);
        const bool is_alias = !is_known && is_alias_of_input(node);
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                result_.facts[size_t(node.outputs[i].index)] = std::move(outputs[i]);
                if (is_alias) {
                    place_of(node.outputs[i]) = place_of(node.inputs[0]);
                } else {
                    place_result(node.outputs[i], is_known);
                }
            }
            step.outputs.push_back(arg_of_value(node.outputs[i]));
        }
        if (is_known || is_alias) {
            return;
        }
        const auto index = int32_t(result_.steps.size());
        for (const ValueId value : node.inputs) {
            note_use(value, index);
        }
        for (const ValueId value : node.outputs) {
            note_use(value, index);
        }
        result_.steps.push_back(std::move(step));
    }

    void place_result(ValueId id, bool is_known) {
        ValuePlace& place = result_.places[size_t(id.index)];
        if (is_known) {
            if (place.place == Place::kOutput) {
                result_.outputs[size_t(place.index)].is_copied = true;
            }
            place = {Place::kKnown, -1};
        } else if (place.place == Place::kNone) {
            place = {Place::kTransient, int32_t(result_.transients.size())};
            const TensorArg arg = arg_of_value(id);
            result_.transients.emplace_back().bytes =
                storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0);
        }
    }

    void note_use(ValueId id, int32_t step) {
        if (id.valid()) {
            note_use(result_.places[size_t(id.index)], step);
        }
    }
    void note_use(ValuePlace place, int32_t step) {
        std::vector<int32_t>* steps = nullptr;
        if (place.place == Place::kTransient) {
            steps = &result_.transients[size_t(place.index)].steps;
        } else if (place.place == Place::kInput) {
            steps = &result_.input_steps[size_t(place.index)];
        } else if (place.place == Place::kOutput) {
            steps = &result_.output_steps[size_t(place.index)];
        }
        if (steps != nullptr && (steps->empty() || steps->back() != step)) {
            steps->push_back(step);
        }
    }

    void finish_output(LoweredOutput& output, int32_t index) {
        const ValueId id{output.value};
        const TensorArg arg = arg_of_value(id);
        output.bytes = storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0);
        const NodeId producer = graph_.value(id).producer;
        output.is_bounded = producer.valid() && operators_.is_bounded(graph_.node(producer));
        const ValuePlace place = result_.places[size_t(output.value)];
        output.is_copied = place.place != Place::kOutput || place.index != index;
        if (output.is_copied && !result_.steps.empty()) {
            const auto last = int32_t(result_.steps.size()) - 1;
            note_use(id, last);
            note_use({Place::kOutput, index}, last);
        }
    }

    const ImportedGraph& source_;
    const GraphData& graph_;
    const OwnOperators& operators_;
    const LeatRunShape& shape_;
    LowerOptions options_;
    LoweredGraph result_;
};

}  // namespace

LoweredGraph lower(const ImportedGraph& graph,
                   const OwnOperators& operators,
                   const LeatRunShape& shape,
                   LowerOptions options) {
    return Builder(graph, operators, shape, options).build();
}

}  // namespace leat::lowered
