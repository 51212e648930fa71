#include "compile/segments/find_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/bodies.h"
#include "graph/dim_symbol.h"
#include "graph/inference.h"
#include "ops/control_flow/control_flow.h"

namespace leat {
namespace {

// Elements of a value that may be part of a plan's key, where its rank is above 1.
constexpr int64_t kMostKeyElements = 1024;
// What an extent that has a name stands for, where bodies are tried with numbers: one after the
// other, so that different names are different extents.
constexpr int64_t kFirstTriedExtent = 24;
constexpr int64_t kTriedStep = 8;
constexpr int64_t kTriedTripCount = 3;

bool is_small(const TypeInfo& type) {
    if (!type.is_tensor() || !type.dims) {
        return false;
    }
    const std::optional<Shape> shape = type.fixed_shape();
    return type.rank() <= 1 || (shape && shape->element_count() <= kMostKeyElements);
}

// Numbers in the place of names and of unknown extents.
class TriedExtents {
  public:
    TypeInfo of(TypeInfo type) {
        for (size_t axis = 0; type.dims && axis < type.dims->size(); ++axis) {
            DimSpec& dim = (*type.dims)[axis];
            if (dim.is_fixed()) {
                continue;
            }
            const auto [it, is_new] = extents_.try_emplace(dim.name(), next_);
            const bool is_nameless = dim.name().empty();
            dim = DimSpec(is_nameless ? next_ : it->second);
            next_ += is_new || is_nameless ? kTriedStep : 0;
        }
        return type;
    }

  private:
    std::map<std::string, int64_t> extents_;
    int64_t next_ = kFirstTriedExtent;
};

// Nothing: it is neither a condition nor a trip count.
Result<std::optional<Tensor>> one_element(const TypeInfo& type, int64_t value) {
    const std::optional<Shape> shape = type.fixed_shape();
    const bool is_number = type.dtype == DType::kBool || type.dtype == DType::kInt64;
    if (!shape || shape->element_count() != 1 || !is_number) {
        return std::optional<Tensor>();
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(type.dtype, *shape));
    if (type.dtype == DType::kBool) {
        tensor.mutable_data<bool>()[0] = value != 0;
    } else {
        tensor.mutable_data<int64_t>()[0] = value;
    }
    return std::optional<Tensor>(std::move(tensor));
}

class SegmentFinder {
  public:
    explicit SegmentFinder(const GraphData& graph)
        : graph_(graph), decides_(shape_deciding_values(graph)), types_(graph.values.size()) {}

    // Types of the values, where the inputs have these.
    Status use_facts(const std::vector<GivenInput>& given) {
        std::vector<ValueFact> facts;
        facts.reserve(given.size());
        for (const GivenInput& input : given) {
            facts.push_back(input.fact);
        }
        LEAT_ASSIGN_OR_RETURN(facts_, infer_graph(graph_, facts, {}));
        for (size_t i = 0; i < facts_.size(); ++i) {
            types_[ValueId{int32_t(i)}] = &facts_[i].type;
        }
        return {};
    }

    // out_of_memory is the only error. What a segment knows is assumed at first, and then what its
    // own nodes make part of its key: so often that nothing is assumed that is not so.
    Result<GraphSegments> find(const std::vector<GivenInput>& given) {
        do {
            place_all(given);
            LEAT_RETURN_IF_ERROR(std::move(problem_));
        } while (drop_wrong_keys());
        segments_.facts = std::move(facts_);
        return std::move(segments_);
    }

  private:
    // What a plan of the segment in which the value is computed knows of it.
    struct Knowledge {
        int32_t segment = -1;  // -1: it is there before the first one
        bool is_step = false;  // computed by a step of its own
        bool is_open = false;  // not even its shape
        bool is_known = false;
        // The same in each plan of a segment that has the value: no elements of inputs are needed.
        bool is_of_shapes = false;
    };
    // A value of which elements are part of the key of a segment's plans.
    using Key = std::pair<int32_t, int32_t>;  // index of the value, segment

    void place_all(const std::vector<GivenInput>& given) {
        segments_ = {};
        values_ = IdVector<ValueId, Knowledge>(graph_.values.size());
        used_keys_.clear();
        segments_.segment_of_node = IdVector<NodeId, int32_t>(graph_.nodes.size(), 0);
        segments_.is_own_step = IdVector<NodeId, bool>(graph_.nodes.size(), false);
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            const ValueId id = graph_.inputs[i];
            values_[id].is_known = i < given.size() && given[i].is_known;
        }
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            place(NodeId{int32_t(n)});
        }
        segments_.has_open_outputs = std::any_of(
            graph_.outputs.begin(), graph_.outputs.end(),
            [this](ValueId id) { return values_[id].is_open || !types_[id]->is_tensor(); });
    }

    // True if the elements are part of the key of the segment's plans, for which the value is an
    // input.
    bool is_of_key(ValueId id, int32_t segment) const {
        const Key key{id.index, segment};
        const bool is_key =
            decides_[size_t(id.index)] && is_small(*types_[id]) && wrong_keys_.count(key) == 0;
        if (is_key) {
            used_keys_.insert(key);
        }
        return is_key;
    }

    // True if a plan of the segment knows the elements of a value that its nodes read.
    bool is_known_in(ValueId id, int32_t segment) const {
        const Knowledge& value = values_[id];
        const bool is_input = value.is_step || value.segment < segment;
        return is_constant(id) || (value.is_known && (!is_input || value.segment < 0)) ||
               (is_input && is_of_key(id, segment));
    }

    // Keys that the nodes of the segments have, as shape_deciding_inputs() finds them for each.
    std::set<Key> keys_of_segments() const {
        std::set<Key> keys;
        std::vector<bool> decides(graph_.values.size(), false);  // in the segment that computes it
        for (NodeId n{int32_t(graph_.nodes.size()) - 1}; n.index >= 0; --n.index) {
            const NodeData& node = graph_.node(n);
            if (node.dead || node.def == nullptr || segments_.is_own_step[n]) {
                continue;
            }
            const int32_t segment = segments_.segment_of_node[n];
            const bool feeds =
                !reads_shape(node) &&
                std::any_of(node.outputs.begin(), node.outputs.end(),
                            [&](ValueId id) { return id.valid() && decides[size_t(id.index)]; });
            for (const ValueId id : feeds ? node.inputs : shape_deciding_operands(node)) {
                if (id.valid() && !values_[id].is_step && values_[id].segment == segment) {
                    decides[size_t(id.index)] = true;
                } else if (id.valid()) {
                    keys.insert({id.index, segment});
                }
            }
        }
        return keys;
    }

    // True if there are any.
    bool drop_wrong_keys() {
        if (used_keys_.empty()) {
            return false;
        }
        const std::set<Key> keys = keys_of_segments();
        const size_t before = wrong_keys_.size();
        std::set_difference(used_keys_.begin(), used_keys_.end(), keys.begin(), keys.end(),
                            std::inserter(wrong_keys_, wrong_keys_.end()));
        return wrong_keys_.size() > before;
    }

    bool is_constant(ValueId id) const { return graph_.value(id).constant.has_value(); }

    // True if the node's inference found each extent, where its operands' are found. What it leaves
    // open is named after the value itself.
    bool is_determined(ValueId id) const {
        const TypeInfo& type = *types_[id];
        if (!type.is_tensor() || !type.dims) {
            return false;
        }
        for (size_t axis = 0; axis < type.dims->size(); ++axis) {
            const DimSpec& dim = (*type.dims)[axis];
            const bool is_found = dim.is_fixed() || !dim.name().empty();
            if (!is_found || same_dim(dim, axis_dim(graph_.value(id).name, axis))) {
                return false;
            }
        }
        return true;
    }

    // The first segment whose plan may know the value's shape, and its elements if `elements`.
    int32_t first_segment_for(ValueId id, bool elements) const {
        const Knowledge& value = values_[id];
        const bool must_be_there =
            value.is_step || value.is_open || (elements && !value.is_known && !is_constant(id));
        return std::max(value.segment + (must_be_there ? 1 : 0), 0);
    }

    void place(NodeId id) {
        const NodeData& node = graph_.node(id);
        if (node.dead || node.def == nullptr) {
            return;
        }
        if (has_other_values(node)) {
            place_step(id);
            return;
        }
        int32_t segment = 0;
        ValueId because;
        const uint32_t deciding = needs_shape_inputs(node) ? shape_inputs_of(node) : 0;
        const std::vector<bool> in_bodies = deciding_captures(node);
        const size_t own = node.own_inputs();
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId input = node.inputs[i];
            if (!input.valid()) {
                continue;
            }
            const bool is_captured = node.has_bodies() && i >= own;
            const bool decides =
                is_captured ? in_bodies[i - own] : i < 32 && (deciding >> i & 1U) != 0;
            const int32_t first = first_segment_for(input, decides);
            if (first > segment) {
                segment = first;
                because = input;
            }
        }
        if (has_planned_bodies(node) && has_open_bodies(node, segment)) {
            place_step(id);
            return;
        }
        segments_.segment_of_node[id] = segment;
        if (segment > int32_t(segments_.cuts.size())) {
            segments_.cuts.push_back({id, because, reason_of(node, because)});
        }
        const bool is_known = may_be_known(node, segment);
        const bool is_of_shapes = is_known && follows_from_shapes(node, segment);
        for (const ValueId output : node.outputs) {
            if (output.valid()) {
                values_[output] = {segment, false, !is_known && is_open(node, output, segment),
                                   is_known, is_of_shapes};
            }
        }
    }

    void place_step(NodeId id) {
        int32_t segment = -1;
        for (const ValueId input : graph_.node(id).inputs) {
            segment = input.valid() ? std::max(segment, values_[input].segment) : segment;
        }
        segments_.segment_of_node[id] = segment;
        segments_.is_own_step[id] = true;
        for (const ValueId output : graph_.node(id).outputs) {
            if (output.valid()) {
                values_[output] = {segment, true, true, false};
            }
        }
    }

    std::string reason_of(const NodeData& node, ValueId because) const {
        const ValueData& value = graph_.value(because);
        const std::string producer =
            value.producer.valid() ? graph_.node(value.producer).label() : std::string("the input");
        return fmt::format("{} needs the {} of '{}', which {} tells", node.label(),
                           values_[because].is_open ? "shape" : "elements", value.name, producer);
    }

    // In its bodies, too, also in a branch that never runs: no plan has a kernel for such a node.
    static bool has_steps_on_values(const NodeData& node) {
        if (node.def != nullptr && node.def->run_values != nullptr) {
            return true;
        }
        const auto bodies = node.bodies();
        return std::any_of(bodies.begin(), bodies.end(), [](const auto& body) {
            return std::any_of(body.graph->nodes.begin(), body.graph->nodes.end(),
                               has_steps_on_values);
        });
    }

    bool has_other_values(const NodeData& node) const {
        const auto is_other = [this](ValueId id) { return id.valid() && !types_[id]->is_tensor(); };
        return has_steps_on_values(node) ||
               std::any_of(node.inputs.begin(), node.inputs.end(), is_other) ||
               std::any_of(node.outputs.begin(), node.outputs.end(), is_other);
    }

    // Where types say the shapes of all results, no elements are needed for that.
    bool needs_shape_inputs(const NodeData& node) const {
        return std::any_of(node.outputs.begin(), node.outputs.end(),
                           [&](ValueId id) { return id.valid() && !is_determined(id); });
    }

    // By captured value: a body reads its elements to find shapes.
    static std::vector<bool> deciding_captures(const NodeData& node) {
        std::vector<bool> decides(node.captured_count(), false);
        for (const auto& [key, body] : node.bodies()) {
            const size_t own = body->inputs.size() - node.captured_count();
            for (const int input : shape_deciding_inputs(*body)) {
                if (size_t(input) >= own) {
                    decides[size_t(input) - own] = true;
                }
            }
        }
        return decides;
    }

    static bool reads_shape(const NodeData& node) {
        return node.domain.empty() && (node.op_type == "Shape" || node.op_type == "Size");
    }

    bool follows_from_shapes(const NodeData& node, int32_t segment) const {
        return reads_shape(node) ||
               std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
                   return !id.valid() || is_constant(id) ||
                          (values_[id].is_of_shapes && values_[id].segment == segment);
               });
    }

    bool may_be_known(const NodeData& node, int32_t segment) const {
        if (reads_shape(node)) {
            return true;
        }
        const bool has_small_results =
            std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
                return !id.valid() || (is_small(*types_[id]) && !is_open_stack(node, id, segment));
            });
        return has_small_results && may_be_evaluated(node) && is_surely_short(node) &&
               std::all_of(node.inputs.begin(), node.inputs.end(),
                           [&](ValueId id) { return !id.valid() || is_known_in(id, segment); });
    }

    // A plan does not run bodies that may run often, whatever it knows: those of a loop whose end
    // is not known now.
    bool is_surely_short(const NodeData& node) const {
        return is_short(node, operand_facts(node, [this](ValueId id) -> const ValueFact& {
                            return facts_[size_t(id.index)];
                        }));
    }

    bool is_open(const NodeData& node, ValueId output, int32_t segment) const {
        const int32_t index = graph_.value(output).output_index;
        return is_open_output(node, index) || is_open_stack(node, output, segment);
    }

    // True if only a run tells how many iterations there are. No plan evaluates the node then.
    bool is_open_stack(const NodeData& node, ValueId output, int32_t segment) const {
        const int32_t index = graph_.value(output).output_index;
        return is_stack_of_loop(node, index) && !is_determined(output) &&
               !is_found_with_numbers(node, index, segment);
    }

    // ---- nodes with bodies ----

    // What does not fit the numbers is no error: the node is a step of its own, then.
    bool is_fine(Status status) const {
        const bool is_fine = status.ok();
        if (status.code() == StatusCode::kOutOfMemory) {
            problem_ = std::move(status);
        }
        return is_fine;
    }
    template <class T>
    std::optional<T> found(Result<T> result) const {
        return is_fine(result.error()) ? std::optional<T>(*std::move(result)) : std::nullopt;
    }

    // True if the node has to be a step of its own: a plan could not have its bodies.
    bool has_open_bodies(const NodeData& node, int32_t segment) const {
        for (const bool condition : {true, false}) {
            if (has_open_bodies(node, segment, condition)) {
                return true;
            }
        }
        return false;
    }

    // True if each plan of the segment knows the condition or trip count. Elements of inputs are
    // part of its key only if an operator of that segment says that they decide shapes.
    bool is_known_in_plans(const NodeData& node, size_t operand, int32_t segment) const {
        const ValueId id = node.inputs[operand];
        const bool is_of_shapes = values_[id].is_of_shapes && values_[id].segment == segment;
        const bool is_declared = (shape_inputs_of(node) >> operand & 1U) != 0;
        return is_of_shapes || (is_declared && is_known_in(id, segment));
    }

    // What is known of the operands, with numbers for extents. A condition that plans know is tried
    // as this.
    std::vector<ValueFact> tried_operands(const NodeData& node,
                                          int32_t segment,
                                          bool condition) const {
        TriedExtents extents;
        std::vector<ValueFact> facts(node.inputs.size());
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            if (!id.valid()) {
                continue;
            }
            facts[i].type = extents.of(*types_[id]);
            if (is_constant(id)) {
                facts[i].value = found(aligned(*graph_.value(id).constant));
            } else if (i < 2 && node.domain.empty() && node.op_type != "Scan" &&
                       is_known_in_plans(node, i, segment)) {
                const bool is_count = facts[i].type.dtype == DType::kInt64;
                facts[i].value = found(one_element(facts[i].type,
                                                   is_count ? kTriedTripCount : int64_t(condition)))
                                     .value_or(std::nullopt);
            }
        }
        return facts;
    }

    std::optional<std::vector<ValueFact>> tried_results(const NodeData& node,
                                                        std::span<const ValueFact> facts,
                                                        BodyInputs& bodies) const {
        std::vector<const ValueFact*> operands;
        for (size_t i = 0; i < facts.size(); ++i) {
            operands.push_back(node.inputs[i].valid() ? &facts[i] : nullptr);
        }
        std::vector<ValueFact> results(node.outputs.size());
        return is_fine(infer_node(node, operands, results, &bodies))
                   ? std::optional(std::move(results))
                   : std::nullopt;
    }

    bool is_found_with_numbers(const NodeData& node, int32_t output, int32_t segment) const {
        BodyInputs bodies;
        const std::vector<ValueFact> facts = tried_operands(node, segment, /*condition=*/true);
        const auto results = tried_results(node, facts, bodies);
        return results && (*results)[size_t(output)].type.fixed_shape();
    }

    bool has_open_bodies(const NodeData& node, int32_t segment, bool condition) const {
        BodyInputs bodies;
        const std::vector<ValueFact> facts = tried_operands(node, segment, condition);
        const auto results = tried_results(node, facts, bodies);
        if (!results) {
            return true;
        }
        for (size_t i = 0; i < results->size(); ++i) {
            const TypeInfo& type = (*results)[i].type;
            if (!type.fixed_shape() && node.outputs[i].valid() &&
                !(may_grow(node, int32_t(i), type) && has_fixed_parts(type))) {
                return true;
            }
        }
        return std::any_of(bodies.begin(), bodies.end(), [&](const auto& body) {
            return is_open_body(node, segment, body.first, body.second);
        });
    }

    static bool has_fixed_parts(const TypeInfo& type) {
        return std::all_of(type.dims->begin() + 1, type.dims->end(),
                           [](const DimSpec& dim) { return dim.is_fixed(); });
    }

    bool is_open_body(const NodeData& node,
                      int32_t segment,
                      const std::string& key,
                      const std::vector<ValueFact>& facts) const {
        const GraphData& body = *node.body(key);
        std::vector<GivenInput> given;
        const size_t own = own_input_count(node, body);
        const std::vector<bool> decides = deciding_captures(node);
        for (size_t i = 0; i < facts.size(); ++i) {
            const ValueId captured = i < own ? ValueId{} : node.inputs[node.own_inputs() + i - own];
            const bool is_known =
                captured.valid() && (is_known_in(captured, segment) || decides[i - own]);
            given.push_back({facts[i], is_known});
        }
        SegmentFinder finder(body);
        const bool has_facts = is_fine(finder.use_facts(given));
        const std::optional<GraphSegments> segments =
            has_facts ? found(finder.find(given)) : std::nullopt;
        return !segments || !segments->is_whole() || segments->has_open_outputs;
    }

    const GraphData& graph_;
    const std::vector<bool> decides_;  // by value
    std::vector<ValueFact> facts_;
    IdVector<ValueId, const TypeInfo*> types_;
    IdVector<ValueId, Knowledge> values_;
    GraphSegments segments_;
    mutable std::set<Key> used_keys_;  // that have been taken for granted
    std::set<Key> wrong_keys_;
    mutable Status problem_;
};

}  // namespace

bool GraphSegments::is_whole() const {
    return cuts.empty() &&
           std::none_of(is_own_step.begin(), is_own_step.end(), [](bool is_own) { return is_own; });
}

bool may_have_segments(const GraphData& graph) {
    const auto is_computed = [&graph](ValueId id) {
        return id.valid() && !graph.value(id).constant && graph.value(id).producer.valid();
    };
    const auto is_other = [&graph](ValueId id) {
        return id.valid() && !graph.value(id).type.is_tensor();
    };
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const NodeData& node) {
        if (node.dead || node.def == nullptr) {
            return false;
        }
        if (node.def->open_outputs != 0 || node.def->run_values != nullptr || node.has_bodies() ||
            std::any_of(node.inputs.begin(), node.inputs.end(), is_other) ||
            std::any_of(node.outputs.begin(), node.outputs.end(), is_other)) {
            return true;
        }
        const uint32_t deciding = shape_inputs_of(node);
        for (size_t i = 0; deciding != 0 && i < std::min<size_t>(node.inputs.size(), 32); ++i) {
            if ((deciding >> i & 1U) != 0 && is_computed(node.inputs[i])) {
                return true;
            }
        }
        return false;
    });
}

Result<GraphSegments> find_segments(const GraphData& graph, const std::vector<GivenInput>& given) {
    SegmentFinder finder(graph);
    LEAT_RETURN_IF_ERROR(finder.use_facts(given));
    return finder.find(given);
}

}  // namespace leat
