#include "backends/lowered/lowered_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/lowered/failure.h"
#include "base/transformed.h"
#include "graph/dim_symbol.h"

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

// What is known of all values, for one set of shapes.
class Inference {
  public:
    Inference(const ImportedGraph& source,
              const OwnOperators& operators,
              const LeatRunShape& shape,
              const std::vector<bool>& is_own)
        : source_(source),
          graph_(source.graph),
          operators_(operators),
          shape_(shape),
          is_own_(is_own),
          facts_(source.graph.values.size()),
          args_(source.graph.values.size()),
          is_known_(source.graph.values.size()) {}

    void run() {
        check_symbols();
        for (const ImportedConstant& constant : source_.constants) {
            const ValueId id{constant.own_value};
            const ValueData& value = graph_.value(id);
            set(id, ValueFact(value.type, value.constant));
        }
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            set_input(i);
        }
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            infer(n);
        }
    }

    const std::vector<bool>& known_values() const { return is_known_; }
    // Throws where the value has no fixed shape.
    const TensorArg& arg(ValueId id) const {
        static const TensorArg kAbsent;
        if (!id.valid()) {
            return kAbsent;
        }
        const TensorArg& own = args_[size_t(id.index)];
        if (!own.present()) {
            check_shape(id);
        }
        return own;
    }
    int64_t bytes_of_value(ValueId id) const { return arg(id).byte_count(); }
    std::vector<ValueFact> take_facts() { return std::move(facts_); }
    std::vector<bool> take_known_values() { return std::move(is_known_); }

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
            const DimSymbol* symbol = dim.symbol();
            if (symbol != nullptr && symbol->kind == DimSymbol::Kind::kName &&
                symbol->text == source_.symbols[i].name) {
                return {shape_.symbols[i]};
            }
        }
        return dim;
    }

    void set_input(size_t input) {
        const ValueId id = graph_.inputs[input];
        const bool is_given =
            int32_t(input) < shape_.input_count && shape_.host_inputs[input] != nullptr;
        if (is_given) {
            Tensor value = copy_of_host_input(*shape_.host_inputs[input]);
            const TypeInfo type = TypeInfo::tensor(value.dtype(), value.shape());
            is_known_[size_t(id.index)] = true;
            set(id, ValueFact(type, std::move(value)));
            return;
        }
        TypeInfo type = graph_.value(id).type;
        for (DimSpec& dim : *type.dims) {
            dim = fixed(dim);
        }
        set(id, ValueFact(std::move(type)));
    }

    void check_shape(ValueId id) const {
        const TypeInfo& type = facts_[size_t(id.index)].type;
        if (!type.fixed_shape()) {
            plugin::invalid_argument(fmt::format("value '{}' has no fixed shape: {}",
                                                 graph_.value(id).name, type.to_string()));
        }
    }

    void set(ValueId id, ValueFact fact) {
        if (const std::optional<Shape> shape = fact.type.fixed_shape()) {
            args_[size_t(id.index)] =
                row_major_arg(fact.type.dtype, *shape, fact.value ? fact.value->bytes() : nullptr);
        }
        facts_[size_t(id.index)] = std::move(fact);
    }

    void infer(size_t index) {
        const NodeData& node = graph_.nodes[index];
        results_.clear();
        results_.resize(node.outputs.size());
        if (is_own_[index]) {
            const auto arg_of = [this](ValueId id) { return arg(id); };
            operators_.infer(node, transformed(node.inputs, arg_of), results_);
        } else {
            operands_.clear();
            for (const ValueId id : node.inputs) {
                operands_.push_back(id.valid() ? &facts_[size_t(id.index)] : nullptr);
            }
            throw_if(infer_node(node, operands_, results_));
        }
        const bool is_known = !is_own_[index] && fold(node);
        for (size_t i = 0; i < results_.size(); ++i) {
            if (const ValueId id = node.outputs[i]; id.valid()) {
                is_known_[size_t(id.index)] = is_known;
                set(id, std::move(results_[i]));
            }
        }
    }

    // True if the results are known without a run.
    bool fold(const NodeData& node) {
        const auto is_open = [](const ValueFact* fact) { return fact != nullptr && !fact->value; };
        if (node.def->nondeterministic ||
            std::any_of(operands_.begin(), operands_.end(), is_open)) {
            return false;
        }
        const auto elements = transformed(operands_, [](const ValueFact* fact) {
            return fact == nullptr ? nullptr : &*fact->value;
        });
        Result<std::vector<Tensor>> results = evaluate_node(node, elements, results_);
        throw_if(results.error());
        for (size_t i = 0; i < results_.size(); ++i) {
            results_[i] = ValueFact(TypeInfo::tensor((*results)[i].dtype(), (*results)[i].shape()),
                                    (*results)[i]);
        }
        return true;
    }

    const ImportedGraph& source_;
    const GraphData& graph_;
    const OwnOperators& operators_;
    const LeatRunShape& shape_;
    const std::vector<bool>& is_own_;  // by node
    std::vector<ValueFact> facts_;     // by value
    std::vector<TensorArg> args_;      // by value
    std::vector<bool> is_known_;       // by value
    // Of one node; kept for their memory.
    std::vector<const ValueFact*> operands_;
    std::vector<ValueFact> results_;
};

class FormBuilder {
  public:
    FormBuilder(const ImportedGraph& source,
                const OwnOperators& operators,
                LowerOptions options,
                std::vector<bool> is_own,
                std::vector<bool> is_known)
        : source_(source), graph_(source.graph), operators_(operators), options_(options) {
        form_.is_own = std::move(is_own);
        form_.is_known = std::move(is_known);
        form_.places.resize(graph_.values.size());
        form_.input_steps.resize(graph_.inputs.size());
        form_.output_steps.resize(graph_.outputs.size());
    }

    LoweredForm build() {
        for (size_t i = 0; i < source_.constants.size(); ++i) {
            place_of({source_.constants[i].own_value}) = {Place::kConstant, int32_t(i)};
        }
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            const ValueId id = graph_.inputs[i];
            place_of(id) = is_known(id) ? LoweredPlace{Place::kKnown, -1}
                                        : LoweredPlace{Place::kInput, int32_t(i)};
        }
        place_outputs();
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            add_node(NodeId{int32_t(n)});
        }
        for (size_t i = 0; i < form_.outputs.size(); ++i) {
            finish_output(form_.outputs[i], int32_t(i));
        }
        return std::move(form_);
    }

  private:
    bool is_known(ValueId id) const { return form_.is_known[size_t(id.index)]; }
    LoweredPlace& place_of(ValueId id) { return form_.places[size_t(id.index)]; }

    // A result goes straight to the memory of the output that it is, unless the memory is that of
    // state which later steps may still read.
    void place_outputs() {
        for (size_t i = 0; i < graph_.outputs.size(); ++i) {
            const ValueId id = graph_.outputs[i];
            LoweredOutput& output = form_.outputs.emplace_back();
            output.value = id.index;
            const bool is_state =
                std::any_of(source_.states.begin(), source_.states.end(),
                            [&](LeatStatePair pair) { return size_t(pair.output) == i; });
            LoweredPlace& place = place_of(id);
            output.is_copied = is_state || place.place != Place::kNone;
            if (!output.is_copied) {
                place = {Place::kOutput, int32_t(i)};
            }
        }
    }

    // An output of the graph has memory of its own.
    bool is_alias_of_input(NodeId id) {
        const NodeData& node = graph_.node(id);
        return options_.aliases_views && !form_.is_own[size_t(id.index)] && node.def->is_view &&
               node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0].valid() &&
               place_of(node.outputs[0]).place == Place::kNone;
    }

    void add_node(NodeId id) {
        const NodeData& node = graph_.node(id);
        const auto is_folded = [this](ValueId value) { return value.valid() && is_known(value); };
        const bool has_step = std::none_of(node.outputs.begin(), node.outputs.end(), is_folded);
        if (has_step && is_alias_of_input(id)) {
            place_of(node.outputs[0]) = place_of(node.inputs[0]);
            return;
        }
        for (const ValueId value : node.outputs) {
            if (value.valid()) {
                place_result(value);
            }
        }
        if (!has_step) {
            return;
        }
        const auto index = int32_t(form_.nodes.size());
        for (const std::vector<ValueId>* side : {&node.inputs, &node.outputs}) {
            for (const ValueId value : *side) {
                note_use(value, index);
            }
        }
        form_.arg_count += node.inputs.size() + node.outputs.size();
        form_.nodes.push_back(id);
    }

    void place_result(ValueId id) {
        LoweredPlace& place = place_of(id);
        if (is_known(id)) {
            if (place.place == Place::kOutput) {
                form_.outputs[size_t(place.index)].is_copied = true;
            }
            place = {Place::kKnown, -1};
        } else if (place.place == Place::kNone) {
            place = {Place::kTransient, int32_t(form_.transients.size())};
            form_.transients.push_back(id);
            form_.transient_steps.emplace_back();
        }
    }

    void note_use(ValueId id, int32_t step) {
        if (id.valid()) {
            note_use(place_of(id), step);
        }
    }
    void note_use(LoweredPlace place, int32_t step) {
        std::vector<int32_t>* steps = nullptr;
        if (place.place == Place::kTransient) {
            steps = &form_.transient_steps[size_t(place.index)];
        } else if (place.place == Place::kInput) {
            steps = &form_.input_steps[size_t(place.index)];
        } else if (place.place == Place::kOutput) {
            steps = &form_.output_steps[size_t(place.index)];
        }
        if (steps != nullptr && (steps->empty() || steps->back() != step)) {
            steps->push_back(step);
        }
    }

    void finish_output(LoweredOutput& output, int32_t index) {
        const ValueId id{output.value};
        const NodeId producer = graph_.value(id).producer;
        output.is_bounded = producer.valid() && operators_.is_bounded(graph_.node(producer));
        const LoweredPlace place = place_of(id);
        output.is_copied = place.place != Place::kOutput || place.index != index;
        if (output.is_copied && !form_.nodes.empty()) {
            const auto last = int32_t(form_.nodes.size()) - 1;
            note_use(id, last);
            note_use({Place::kOutput, index}, last);
        }
    }

    const ImportedGraph& source_;
    const GraphData& graph_;
    const OwnOperators& operators_;
    LowerOptions options_;
    LoweredForm form_;
};

// Gives the form its sizes.
LoweredGraph with_sizes(std::shared_ptr<const LoweredForm> form,
                        const GraphData& graph,
                        Inference& inference) {
    LoweredGraph result;
    result.args.reserve(form->arg_count);
    result.steps.reserve(form->nodes.size());
    for (const NodeId id : form->nodes) {
        const NodeData& node = graph.node(id);
        const TensorArg* first = result.args.data() + result.args.size();
        for (const std::vector<ValueId>* side : {&node.inputs, &node.outputs}) {
            for (const ValueId value : *side) {
                result.args.push_back(inference.arg(value));
            }
        }
        result.steps.push_back(
            {id, {first, node.inputs.size()}, {first + node.inputs.size(), node.outputs.size()}});
    }
    result.transients.reserve(form->transients.size());
    for (size_t t = 0; t < form->transients.size(); ++t) {
        result.transients.push_back(
            {inference.bytes_of_value(form->transients[t]), form->transient_steps[t]});
    }
    result.outputs = form->outputs;
    for (LoweredOutput& output : result.outputs) {
        output.bytes = inference.bytes_of_value({output.value});
    }
    result.facts = inference.take_facts();
    result.form = std::move(form);
    return result;
}

}  // namespace

LoweredGraph lower(const ImportedGraph& graph,
                   const OwnOperators& operators,
                   const LeatRunShape& shape,
                   LowerOptions options,
                   std::shared_ptr<const LoweredForm> former) {
    std::vector<bool> fresh;
    if (former == nullptr) {
        fresh = transformed(graph.graph.nodes,
                            [&](const NodeData& node) { return operators.has(node); });
    }
    const std::vector<bool>& is_own = former == nullptr ? fresh : former->is_own;
    Inference inference(graph, operators, shape, is_own);
    inference.run();
    if (former == nullptr || former->is_known != inference.known_values()) {
        former = std::make_shared<const LoweredForm>(
            FormBuilder(graph, operators, options, is_own, inference.take_known_values()).build());
    }
    return with_sizes(std::move(former), graph.graph, inference);
}

}  // namespace leat::lowered
