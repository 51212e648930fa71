// Walks a graph in order and infers every node; runs at compile time and for every new plan.
#include "graph/inference.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <unordered_map>

#include "base/check.h"
#include "base/hash_index.h"
#include "base/split_mix.h"
#include "graph/bodies.h"
#include "graph/dim_symbol.h"

namespace leat {
namespace {

// Extents as a tensor of `type` (integer, rank 0 or 1) when every one is fixed.
std::optional<Tensor> tensor_of_extents(const TypeInfo& type, const std::vector<DimSpec>& extents) {
    const bool fixed = std::all_of(extents.begin(), extents.end(),
                                   [](const DimSpec& dim) { return dim.is_fixed(); });
    const std::optional<Shape> shape = type.fixed_shape();
    if (!fixed || !shape || shape->element_count() != int64_t(extents.size()) ||
        (type.dtype != DType::kInt64 && type.dtype != DType::kInt32)) {
        return std::nullopt;
    }
    Result<Tensor> tensor = Tensor::allocate(type.dtype, *shape);
    if (!tensor.ok()) {
        return std::nullopt;
    }
    for (size_t i = 0; i < extents.size(); ++i) {
        if (type.dtype == DType::kInt64) {
            tensor->mutable_data<int64_t>()[i] = extents[i].extent();
        } else if (extents[i].extent() <= INT32_MAX) {
            tensor->mutable_data<int32_t>()[i] = int32_t(extents[i].extent());
        } else {
            return std::nullopt;
        }
    }
    return *std::move(tensor);
}

// Larger values are not compared.
constexpr int64_t kMaxComparedBytes = 1024;

bool same_dims(const std::vector<DimSpec>& a, const std::vector<DimSpec>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_dim);
}

bool same_fact(const ValueFact& a, const ValueFact& b) {
    return same_but_extents(a, b) && a.extents.has_value() == b.extents.has_value() &&
           (!a.extents || same_dims(*a.extents, *b.extents));
}

class Inference {
  public:
    Inference(const GraphData& graph,
              const InferenceOptions& options,
              const FormerInference& former)
        : graph_(graph),
          options_(options),
          former_(former.facts),
          twins_(former.twins),
          facts_(graph.values.size()),
          first_twin_(twins_.size(), -1),
          alike_(twins_.size(), -1) {
        read_.reserve(twins_.size());
        for (size_t n = 0; n < twins_.size(); ++n) {
            first_twin_[n] = twins_[n] < 0 ? int32_t(n) : first_twin_[size_t(twins_[n])];
        }
    }

    Status run(std::span<const ValueFact> given_inputs);
    SharedFacts take() { return std::move(facts_); }
    NodeTwins take_alike() { return std::move(alike_); }

  private:
    Status set_constants();
    Status set_inputs(std::span<const ValueFact> given);
    void set_input(ValueId id, ValueFact fact);
    Status infer(size_t index);
    // True if the node's results are what they were: taken over.
    bool take_former(const NodeData& node);
    // True if the node's results are those of an earlier one of its kind, of the same operands: the
    // facts are shared.
    bool share_results(size_t index);
    bool infer_alike(const NodeData& node, const NodeData& twin) const;
    // True if the node's result has the type of one of its inputs: the fact is shared.
    bool share_type(const NodeData& node);
    bool gives_type_of(const NodeData& node, size_t input) const;
    // One object with the former fact, or with that of the twin's value, if it says the same.
    void set(ValueId id, ValueFact fact, ValueId twin = {});
    const Tensor* known_value(ValueId id) const;
    // True if the node's results can be computed now.
    bool may_evaluate(const NodeData& node) const;
    bool are_small(const NodeData& node) const;
    Status evaluate(const NodeData& node);

    const GraphData& graph_;
    const InferenceOptions& options_;
    const SharedFacts& former_;
    const NodeTwins& twins_;
    SharedFacts facts_;
    std::unordered_map<std::string, std::shared_ptr<const ValueFact>> inputs_by_type_;
    // By node; empty where there are no twins.
    std::vector<int32_t> first_twin_;
    NodeTwins alike_;
    HashIndex read_;  // of nodes, by what they read
    // Reused from node to node.
    std::vector<const ValueFact*> inputs_;
    std::vector<ValueFact> outputs_;
    std::vector<const Tensor*> input_values_;
};

void Inference::set(ValueId id, ValueFact fact, ValueId twin) {
    const auto at = size_t(id.index);
    if (!former_.empty() && former_[at] != nullptr && same_fact(fact, *former_[at])) {
        facts_[at] = former_[at];
    } else if (twin.valid() && same_fact(fact, *facts_[size_t(twin.index)])) {
        facts_[at] = facts_[size_t(twin.index)];
    } else {
        facts_[at] = std::make_shared<const ValueFact>(std::move(fact));
    }
}

Status Inference::set_constants() {
    // Values that nothing defines (of an outer scope, of dead nodes) are not known.
    static const auto kUnknown = std::make_shared<const ValueFact>();
    for (size_t i = 0; i < facts_.size(); ++i) {
        const ValueData& value = graph_.values[i];
        if (!value.constant) {
            // The walk sets the others before anybody asks, as it did the last time.
            const bool is_set =
                !former_.empty() && value.producer.valid() && !graph_.node(value.producer).dead;
            if (!is_set) {
                facts_[i] = kUnknown;
            }
            continue;
        }
        if (!former_.empty()) {
            facts_[i] = former_[i];
            continue;
        }
        ValueFact fact;
        fact.type = value.type;
        const Tensor& tensor = *value.constant;
        if (tensor.is_aligned() || tensor.element_count() <= options_.max_folded_elements) {
            LEAT_ASSIGN_OR_RETURN(fact.value, aligned(tensor));
        }
        facts_[i] = std::make_shared<const ValueFact>(std::move(fact));
    }
    return {};
}

// Whether a given type fits what the graph declares for the input.
bool fits(const TypeInfo& given, const TypeInfo& declared, bool checks_extents) {
    if (declared.is_tensor() && declared.dtype == DType::kUndefined) {
        return true;  // the input of a body, which need not say more
    }
    // A value is an optional that has it: a loop may begin with one, and go on with none.
    if (declared.kind == TypeInfo::Kind::kOptional && given.kind != declared.kind &&
        declared.element != nullptr) {
        return fits(given, *declared.element, checks_extents);
    }
    if (given.kind != declared.kind || given.dtype != declared.dtype) {
        return false;
    }
    if (!given.dims || !declared.dims || !checks_extents) {
        return true;
    }
    return std::equal(given.dims->begin(), given.dims->end(), declared.dims->begin(),
                      declared.dims->end(), [](const DimSpec& a, const DimSpec& b) {
                          return !a.is_fixed() || !b.is_fixed() || a.extent() == b.extent();
                      });
}

// Open extents get names of their own, so that what is computed from them is known to be equal
// where it is.
void name_open_extents(TypeInfo& type, const std::string& value_name) {
    for (size_t axis = 0; type.dims && axis < type.dims->size(); ++axis) {
        DimSpec& dim = (*type.dims)[axis];
        if (!dim.is_fixed() && dim.name().empty()) {
            dim = axis_dim(value_name, axis);
        }
    }
}

Status Inference::set_inputs(std::span<const ValueFact> given) {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const ValueData& declared = graph_.value(graph_.inputs[i]);
        const bool is_given = i < given.size() && (!given[i].type.is_tensor() ||
                                                   given[i].type.dtype != DType::kUndefined);
        if (!is_given) {
            ValueFact fact;
            fact.type = declared.type;
            name_open_extents(fact.type, declared.name);
            set(graph_.inputs[i], std::move(fact));
            continue;
        }
        if (!fits(given[i].type, declared.type, options_.checks_extents)) {
            return invalid_argument("input '{}' does not match the graph's declaration",
                                    declared.name)
                .with_file(graph_.file)
                .with_found(given[i].type.to_string())
                .with_needed(declared.type.to_string());
        }
        ValueFact fact = given[i];
        if (fact.value && fact.value->dtype() != DType::kString) {
            // Facts outlive the caller's memory, and what is in it now.
            LEAT_ASSIGN_OR_RETURN(fact.value, copy_of(*fact.value));
        }
        set_input(graph_.inputs[i], std::move(fact));
    }
    return {};
}

// Inputs of one type have one fact, so that what is computed of them may be shared.
void Inference::set_input(ValueId id, ValueFact fact) {
    const std::optional<Shape> shape = fact.type.fixed_shape();
    set(id, std::move(fact));
    std::shared_ptr<const ValueFact>& own = facts_[size_t(id.index)];
    if (own->value || own->extents || !shape) {
        return;
    }
    const auto extents = std::as_bytes(shape->extents());
    const std::string key =
        std::string(1, char(own->type.dtype)) +
        std::string(reinterpret_cast<const char*>(extents.data()), extents.size());
    const bool is_former = !former_.empty() && own == former_[size_t(id.index)];
    const auto first = inputs_by_type_.try_emplace(key, own).first;
    own = is_former ? own : first->second;
}

const Tensor* Inference::known_value(ValueId id) const {
    const std::optional<Tensor>& value = facts_[size_t(id.index)]->value;
    if (value) {
        return &*value;
    }
    // A large unaligned constant: copied by evaluate_node if it is worth it.
    const std::optional<Tensor>& constant = graph_.value(id).constant;
    return constant && options_.fold_everything ? &*constant : nullptr;
}

bool Inference::may_evaluate(const NodeData& node) const {
    // Known values are row-major; a Layout node is there to have another order.
    const bool reorders = node.domain == "leat" && !options_.fold_everything;
    if (reorders) {
        return false;
    }
    for (ValueId id : node.inputs) {
        if (id.valid() && known_value(id) == nullptr) {
            return false;
        }
    }
    // A run is no folding: what draws random numbers in a body draws them now.
    const bool may_run = options_.fold_everything ? has_host_meaning(node) : may_be_evaluated(node);
    if (!may_run || !(options_.fold_everything || is_short(node, inputs_))) {
        return false;
    }
    return are_small(node);
}

// What only an evaluation tells has at most as many elements as what it is computed from, or is
// small in other ways.
bool Inference::are_small(const NodeData& node) const {
    const auto is_small = [this](const TypeInfo& type, const std::optional<Shape>& shape) {
        return shape && type.dtype != DType::kUndefined &&
               (options_.fold_everything || shape->element_count() <= options_.max_folded_elements);
    };
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const TypeInfo& type = outputs_[i].type;
        const bool is_open = is_open_output(node, int32_t(i));
        if (!is_small(type, is_open ? type.least_shape() : type.fixed_shape())) {
            return false;
        }
    }
    return open_outputs_of(node) == 0 ||
           std::all_of(inputs_.begin(), inputs_.end(), [&](const ValueFact* input) {
               return input == nullptr || is_small(input->type, input->type.fixed_shape());
           });
}

Status Inference::evaluate(const NodeData& node) {
    input_values_.clear();
    for (ValueId id : node.inputs) {
        input_values_.push_back(id.valid() ? known_value(id) : nullptr);
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                          evaluate_node(node, input_values_, outputs_, options_.stop));
    for (size_t i = 0; i < results.size(); ++i) {
        outputs_[i].type = TypeInfo::tensor(results[i].dtype(), results[i].shape());
        outputs_[i].extents.reset();  // which know no negative numbers
        outputs_[i].value = std::move(results[i]);
    }
    return {};
}

bool Inference::take_former(const NodeData& node) {
    const auto is_same = [this](ValueId id) {
        return !id.valid() || facts_[size_t(id.index)] == former_[size_t(id.index)];
    };
    if (former_.empty() || !std::all_of(node.inputs.begin(), node.inputs.end(), is_same)) {
        return false;
    }
    for (const ValueId id : node.outputs) {
        if (id.valid()) {
            facts_[size_t(id.index)] = former_[size_t(id.index)];
        }
    }
    return true;
}

// By what the node reads. What no earlier node of the kind has read is kept for later ones.
bool Inference::share_results(size_t index) {
    if (twins_.empty()) {
        return false;
    }
    const NodeData& node = graph_.nodes[index];
    uint64_t hash = mixed(uint64_t(first_twin_[index]));
    for (const ValueId id : node.inputs) {
        const bool is_variable = id.valid() && !graph_.value(id).constant;
        const auto at = is_variable ? uintptr_t(facts_[size_t(id.index)].get()) : uintptr_t{0};
        hash = mixed(hash + at);
    }
    const uint32_t found = read_.find(size_t(hash), [&](uint32_t other) {
        return first_twin_[other] == first_twin_[index] && infer_alike(node, graph_.nodes[other]);
    });
    if (found == HashIndex::kNone) {
        read_.insert(size_t(hash), uint32_t(index));
        return false;
    }
    alike_[index] = int32_t(found);
    const NodeData& twin = graph_.nodes[found];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid()) {
            facts_[size_t(node.outputs[i].index)] = facts_[size_t(twin.outputs[i].index)];
        }
    }
    return true;
}

// Operands have one fact, or are constants of which the operator looks at the types alone, as it
// computes no elements. Open extents are named after the node's own values.
bool Inference::infer_alike(const NodeData& node, const NodeData& twin) const {
    bool has_elements = false;  // of an operand
    bool has_other_constant = false;
    bool has_variable = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].valid()) {
            continue;
        }
        const auto own = size_t(node.inputs[i].index);
        const auto other = size_t(twin.inputs[i].index);
        const bool is_constant = graph_.values[own].constant.has_value();
        has_variable |= !is_constant;
        has_elements |= !is_constant && (facts_[own]->value || facts_[own]->extents);
        if (facts_[own] != facts_[other]) {
            // Of the same type, as they are twins'.
            const bool is_shape_input = i >= 32 || ((node.def->shape_inputs >> i) & 1U) != 0;
            if (is_shape_input || !is_constant || !graph_.values[other].constant) {
                return false;
            }
            has_other_constant = true;
        }
    }
    if (has_other_constant && (has_elements || !has_variable)) {
        return false;
    }
    return std::all_of(twin.outputs.begin(), twin.outputs.end(), [&](ValueId id) {
        return !id.valid() || facts_[size_t(id.index)]->type.fixed_shape();
    });
}

bool Inference::share_type(const NodeData& node) {
    if (former_.empty() || node.def->type_rule == TypeRule::kOwn || !node.epilogue.empty() ||
        node.outputs.size() != 1 || !node.outputs[0].valid()) {
        return false;
    }
    const size_t candidates = node.def->type_rule == TypeRule::kFirst ? 1 : node.inputs.size();
    for (size_t i = 0; i < candidates; ++i) {
        if (gives_type_of(node, i)) {
            facts_[size_t(node.outputs[0].index)] = facts_[size_t(node.inputs[i].index)];
            return true;
        }
    }
    return false;
}

// Element types and attributes were right the last time, and only extents may differ from it.
bool Inference::gives_type_of(const NodeData& node, size_t input) const {
    const ValueFact& before = *former_[size_t(node.outputs[0].index)];
    if (!node.inputs[input].valid() || before.value || before.extents ||
        former_[size_t(node.inputs[input].index)]->type.rank() != before.type.rank()) {
        return false;
    }
    // What a node gave has passed its checks.
    const auto at = size_t(node.inputs[input].index);
    const ValueFact& fact = *facts_[at];
    if (!graph_.values[at].producer.valid() || fact.value || fact.extents ||
        fact.type.dtype != before.type.dtype || !fact.type.fixed_shape()) {
        return false;
    }
    const bool others_stay = node.def->type_rule == TypeRule::kFirst;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
        if (!id.valid() || id == node.inputs[input]) {
            return true;
        }
        if (others_stay && facts_[size_t(id.index)] != former_[size_t(id.index)]) {
            return false;
        }
        const TypeInfo& own = facts_[size_t(id.index)]->type;
        const TypeInfo& former = former_[size_t(id.index)]->type;
        return own.dtype == former.dtype && own.rank() == former.rank() && own.dims &&
               broadcasts_into(*own.dims, *fact.type.dims);
    });
}

Status Inference::infer(size_t index) {
    const NodeData& node = graph_.nodes[index];
    if (take_former(node)) {
        return {};
    }
    if (share_results(index) || share_type(node)) {
        return {};
    }
    const NodeData* twin =
        twins_.empty() || twins_[index] < 0 ? nullptr : &graph_.nodes[size_t(twins_[index])];
    inputs_.clear();
    for (ValueId id : node.inputs) {
        inputs_.push_back(id.valid() ? facts_[size_t(id.index)].get() : nullptr);
    }
    outputs_.assign(node.outputs.size(), ValueFact());
    LEAT_RETURN_IF_ERROR(infer_node(node, inputs_, outputs_));
    bool known = true;
    for (ValueFact& output : outputs_) {
        if (!output.value && output.extents) {
            output.value = tensor_of_extents(output.type, *output.extents);
        }
        known = known && output.value.has_value();
    }
    if (!known && may_evaluate(node)) {
        Status status = evaluate(node);
        // Bodies may have what only a run can do: loops of values that change their shapes.
        const bool is_for_runs = node.has_bodies() && status.code() == StatusCode::kUnsupported;
        if (!status.ok() && !is_for_runs) {
            return status;
        }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid()) {
            name_open_extents(outputs_[i].type, graph_.value(node.outputs[i]).name);
            set(node.outputs[i], std::move(outputs_[i]),
                twin == nullptr ? ValueId{} : twin->outputs[i]);
        }
    }
    return {};
}

Status Inference::run(std::span<const ValueFact> given_inputs) {
    LEAT_RETURN_IF_ERROR(set_constants());
    LEAT_RETURN_IF_ERROR(set_inputs(given_inputs));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (graph_.nodes[n].dead) {
            continue;
        }
        if (Status status = infer(n); !status.ok()) {
            return std::move(status).with_file(graph_.file);
        }
    }
    return {};
}

}  // namespace

bool same_but_extents(const ValueFact& a, const ValueFact& b) {
    if (!a.type.is_tensor() || !b.type.is_tensor() || a.type.dtype != b.type.dtype ||
        !a.type.dims || !b.type.dims || !same_dims(*a.type.dims, *b.type.dims) ||
        a.value.has_value() != b.value.has_value()) {
        return false;
    }
    if (!a.value) {
        return true;
    }
    if (a.value->dtype() != b.value->dtype() || a.value->shape() != b.value->shape()) {
        return false;
    }
    const int64_t bytes = a.value->byte_count();
    return a.value->bytes() == b.value->bytes() || bytes == 0 ||
           (a.value->dtype() != DType::kString && bytes <= kMaxComparedBytes &&
            std::memcmp(a.value->bytes(), b.value->bytes(), size_t(bytes)) == 0);
}

Result<std::vector<ValueFact>> infer_graph(const GraphData& graph,
                                           std::span<const ValueFact> given_inputs,
                                           const InferenceOptions& options) {
    static const SharedFacts kNoFacts;
    static const NodeTwins kNoTwins;
    LEAT_ASSIGN_OR_RETURN(const SharedFacts shared,
                          infer_graph_again(graph, given_inputs, options, {kNoFacts, kNoTwins}));
    std::vector<ValueFact> facts;
    facts.reserve(shared.size());
    for (const std::shared_ptr<const ValueFact>& fact : shared) {
        facts.push_back(*fact);
    }
    return facts;
}

Result<SharedFacts> infer_graph_again(const GraphData& graph,
                                      std::span<const ValueFact> given_inputs,
                                      const InferenceOptions& options,
                                      const FormerInference& former,
                                      NodeTwins* alike) {
    Inference inference(graph, options, former);
    LEAT_RETURN_IF_ERROR(inference.run(given_inputs));
    if (alike != nullptr) {
        *alike = inference.take_alike();
    }
    return inference.take();
}

std::vector<bool> needed_nodes(const GraphData& graph, const std::vector<bool>& is_known) {
    std::vector<bool> is_needed(graph.nodes.size(), false);
    std::vector<ValueId> stack(graph.outputs.begin(), graph.outputs.end());
    while (!stack.empty()) {
        const ValueId id = stack.back();
        stack.pop_back();
        const NodeId producer = graph.value(id).producer;
        if (!producer.valid() || is_known[size_t(id.index)] || is_needed[size_t(producer.index)]) {
            continue;
        }
        is_needed[size_t(producer.index)] = true;
        const std::vector<ValueId>& inputs = graph.node(producer).inputs;
        std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(stack),
                     [](ValueId input) { return input.valid(); });
    }
    return is_needed;
}

std::vector<ValueId> shape_deciding_operands(const NodeData& node) {
    std::vector<ValueId> operands;
    const uint32_t own = shape_inputs_of(node);
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
        if ((own >> i & 1U) != 0) {
            operands.push_back(node.inputs[i]);
        }
    }
    for (const auto& [key, body] : node.bodies()) {
        const size_t first = body->inputs.size() - node.captured_count();
        for (const int input : shape_deciding_inputs(*body)) {
            if (size_t(input) >= first) {
                operands.push_back(node.inputs[node.own_inputs() + size_t(input) - first]);
            }
        }
    }
    return operands;
}

std::vector<bool> shape_deciding_values(const GraphData& graph) {
    // Backwards: a value decides shapes if it is a shape operand or feeds one.
    std::vector<bool> decides(graph.values.size(), false);
    auto mark = [&](ValueId id) {
        if (id.valid()) {
            decides[size_t(id.index)] = true;
        }
    };
    for (size_t n = graph.nodes.size(); n-- > 0;) {
        const NodeData& node = graph.nodes[n];
        if (node.dead || node.def == nullptr) {
            continue;
        }
        const std::vector<ValueId> operands = shape_deciding_operands(node);
        std::for_each(operands.begin(), operands.end(), mark);
        const bool only_shape_of_input =
            node.domain.empty() && (node.op_type == "Shape" || node.op_type == "Size");
        const bool feeds = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
            return id.valid() && decides[size_t(id.index)];
        });
        if (feeds && !only_shape_of_input) {
            std::for_each(node.inputs.begin(), node.inputs.end(), mark);
        }
    }
    return decides;
}

std::vector<int> shape_deciding_inputs(const GraphData& graph) {
    const std::vector<bool> decides = shape_deciding_values(graph);
    std::vector<int> result;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        if (decides[size_t(graph.inputs[i].index)]) {
            result.push_back(int(i));
        }
    }
    return result;
}

}  // namespace leat
