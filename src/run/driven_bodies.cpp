// If, Loop and Scan whose bodies take several plans, or whose values change their shapes: each
// iteration is a run of the body's segments.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "graph/bodies.h"
#include "ops/axis_split.h"
#include "ops/control_flow/control_flow.h"
#include "ops/movement/extents.h"
#include "ops/movement/movement.h"
#include "run/segments_run.h"

namespace leat {
namespace {

using Values = std::vector<Value>;

Status driven_in_iteration(Status status, const NodeData& node, int64_t iteration) {
    return std::move(status).within(
        fmt::format("{}, iteration {}", body_path(node, "body"), iteration));
}

template <class T>
Result<Value> value_of_element(DType dtype, const GraphData& body, size_t input, T element) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::allocate(dtype, shape_of_one_element(body, input)));
    std::memcpy(tensor.mutable_bytes(), &element, sizeof(T));
    return Value(std::move(tensor));
}

Result<bool> condition_in(const Value& value) {
    if (value.tensor().element_count() != 1) {
        return invalid_argument("a condition must have one element")
            .with_found(value.tensor().shape().to_string());
    }
    return condition_of(arg_of(value.tensor()));
}

// What the iterations gave, by stack.
using Stacks = std::vector<std::vector<Tensor>>;

// first: of the node's outputs that are stacks.
Status add_parts(std::span<Value> results, size_t first, Stacks& stacks) {
    for (size_t i = 0; i < stacks.size(); ++i) {
        Tensor part = std::move(results[i].tensor());
        const bool fits = stacks[i].empty() || stacks[i].front().shape() == part.shape();
        if (!fits) {
            return invalid_argument("output {} is not of one shape", first + i)
                .with_found(part.shape().to_string())
                .with_needed(fmt::format("{}, as in the first iteration",
                                         stacks[i].front().shape().to_string()));
        }
        stacks[i].push_back(std::move(part));
    }
    return {};
}

struct LoopEnd {
    int64_t most = std::numeric_limits<int64_t>::max();  // iterations
    bool has_condition = false;
    bool begins = true;
};

Result<LoopEnd> loop_end(const NodeData& node, std::span<const Value> inputs) {
    const size_t own = node.own_inputs();
    LoopEnd end;
    if (own > 0 && node.inputs[0].valid()) {
        end.most = trip_count_of(arg_of(inputs[0].tensor()));
    }
    end.has_condition = own > 1 && node.inputs[1].valid();
    if (end.has_condition) {
        LEAT_ASSIGN_OR_RETURN(end.begins, condition_in(inputs[1]));
    }
    return end;
}

struct ScannedAxes {
    std::vector<int> axes;  // by sequence
    int64_t length = 0;     // along them
};

Result<ScannedAxes> scanned_axes(const ScanForm& form, std::span<const Value> sequences) {
    ScannedAxes scanned;
    for (size_t s = 0; s < sequences.size(); ++s) {
        const Shape& shape = sequences[s].tensor().shape();
        LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(form.input_axes[s], shape.rank()));
        if (s > 0 && shape[axis] != scanned.length) {
            return invalid_argument("the sequences have different lengths")
                .with_found(fmt::format("{} and {}", scanned.length, shape[axis]));
        }
        scanned.axes.push_back(axis);
        scanned.length = shape[axis];
    }
    return scanned;
}

// An error where no tensor has so many axes or elements.
Result<Shape> with_axis(const Shape& part, int axis, int64_t count) {
    LEAT_RETURN_IF_ERROR(check_output_rank(part.rank() + 1));
    std::vector<int64_t> extents(part.begin(), part.end());
    extents.insert(extents.begin() + axis, count);
    if (const std::optional<Shape> shape = Shape::make(extents)) {
        return *shape;
    }
    return out_of_memory("the output has more elements than 64 bits count")
        .with_found(fmt::format("{} parts of {}", count, part.to_string()));
}

// Of a stack without a part: extents that inference found, those that the body declares, or 0.
// Where not even the rank is known: one axis.
Result<Shape> shape_of_no_part(const TypeInfo& whole, const TypeInfo& declared, int64_t axis) {
    if (!whole.dims) {
        const std::optional<Shape> part = declared.least_shape();
        if (!part) {
            return Shape({0});
        }
        LEAT_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, part->rank() + 1));
        return with_axis(*part, normal, 0);
    }
    Shape shape = whole.least_shape().value_or(Shape({0}));
    const int stacked = int(axis < 0 ? shape.rank() + axis : axis);
    for (int k = 0; k < shape.rank(); ++k) {
        const DimSpec& dim = (*whole.dims)[size_t(k)];
        const bool is_declared = declared.rank() + 1 == shape.rank() && k != stacked;
        if (!dim.is_fixed() && is_declared) {
            shape[k] =
                std::max<int64_t>((*declared.dims)[size_t(k < stacked ? k : k - 1)].extent(), 0);
        }
    }
    shape[stacked] = 0;
    return shape;
}

// nullopt: nothing tells the type of what a sequence or an optional without elements could have.
std::optional<TypeInfo> type_of_value(const Value& value) {
    if (value.is_tensor()) {
        return TypeInfo::tensor(value.tensor().dtype(), value.tensor().shape());
    }
    std::optional<TypeInfo> element;
    if (!value.elements().empty()) {
        element = type_of_value(value.elements().front());
    }
    if (!element) {
        return std::nullopt;
    }
    element->dims.reset();  // other elements may have other shapes
    TypeInfo type;
    type.kind = value.kind() == Value::Kind::kSequence ? TypeInfo::Kind::kSequence
                                                       : TypeInfo::Kind::kOptional;
    type.element = std::make_shared<const TypeInfo>(*std::move(element));
    return type;
}

// Types of the node's results, of which extents may follow from those that the operands have in
// this run. Empty: nothing more than before the run is known.
std::vector<ValueFact> facts_in_run(const NodeData& node, std::span<const Value> operands) {
    std::vector<ValueFact> facts(operands.size());
    std::vector<const ValueFact*> inputs(operands.size(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!node.inputs[i].valid()) {
            continue;
        }
        std::optional<TypeInfo> type = type_of_value(operands[i]);
        if (!type) {
            return {};
        }
        facts[i].type = *std::move(type);
        if (operands[i].is_tensor() && operands[i].tensor().is_aligned()) {
            facts[i].value = operands[i].tensor();
        }
        inputs[i] = &facts[i];
    }
    std::vector<ValueFact> results(node.outputs.size());
    return infer_node(node, inputs, results).ok() ? results : std::vector<ValueFact>();
}

// True if the stacks that are read, those from output `first` on, have extents that are known
// before the run, but for their lengths.
bool has_known_parts(const SegmentStep& step, size_t first, const std::vector<int64_t>& axes) {
    for (size_t i = first; i < step.outputs.size(); ++i) {
        const TypeInfo& type = step.output_types[i];
        const int64_t axis = axes[i - first];
        const int64_t length = axis < 0 ? axis + type.rank() : axis;
        for (int64_t k = 0; type.dims && k < type.rank(); ++k) {
            if (step.outputs[i] >= 0 && k != length && !(*type.dims)[size_t(k)].is_fixed()) {
                return false;
            }
        }
        if (step.outputs[i] >= 0 && !type.dims) {
            return false;
        }
    }
    return true;
}

// Of a node whose body never runs: the carried values, which are operands, and stacks without
// a part. before: outputs of the body that are no results of the node. Empty: what
// is known before the run has to do.
Result<Values> results_of_no_iteration(const SegmentStep& step,
                                       std::span<const Value> operands,
                                       std::span<const Value> carried,
                                       size_t before,
                                       const std::vector<int64_t>& axes,
                                       ValuePool& pool) {
    if (has_known_parts(step, carried.size(), axes)) {
        return Values();
    }
    const std::vector<ValueFact> facts = facts_in_run(step.node, operands);
    const GraphData& body = *step.node.body("body");
    Values results(facts.size());
    for (size_t i = 0; i < results.size(); ++i) {
        if (i < carried.size()) {
            results[i] = carried[i];
        } else if (step.outputs[i] >= 0) {
            const TypeInfo& declared = body.value(body.outputs[before + i]).type;
            LEAT_ASSIGN_OR_RETURN(const Shape shape, shape_of_no_part(facts[i].type, declared,
                                                                      axes[i - carried.size()]));
            LEAT_ASSIGN_OR_RETURN(results[i],
                                  pool.allocate(facts[i].type.dtype, shape, step.node.label()));
        }
    }
    return results;
}

// One index of an axis, between a whole tensor and a part of it. Elements of any type.
void copy_index(
    const Tensor& whole, int axis, int64_t index, const Tensor& part, bool is_into_whole) {
    const AxisSplit split = AxisSplit::make(whole.shape(), axis);
    const TensorArg in_whole = arg_of(whole);
    const TensorArg in_part = arg_of(part);
    for (int64_t outer = 0; outer < split.outer && split.inner > 0; ++outer) {
        const int64_t at = (outer * split.extent + index) * split.inner;
        const int64_t at_part = outer * split.inner;
        if (is_into_whole) {
            copy_elements(whole.dtype(), in_part.data, at_part, in_whole.data, at, split.inner);
        } else {
            copy_elements(whole.dtype(), in_whole.data, at, in_part.data, at_part, split.inner);
        }
    }
}

}  // namespace

Status SegmentsRun::check_end() const {
    if (control_.stop.stop_requested()) {
        return make_error(StatusCode::kCancelled, "the run was cancelled by its stop token");
    }
    if (control_.deadline && std::chrono::steady_clock::now() >= *control_.deadline) {
        return make_error(StatusCode::kTimeout, "the deadline of the run passed");
    }
    return {};
}

Result<SegmentsRun*> SegmentsRun::body_of(size_t index, std::string_view key) {
    auto& bodies = steps_[index].bodies;
    auto it = bodies.find(key);
    if (it == bodies.end()) {
        const SegmentStep& step = segments_.steps[index];
        const auto segments = step.bodies.find(key);
        if (segments == step.bodies.end()) {
            return internal_error("a body runs that inference found not to run")
                .with_node(step.node.label());
        }
        it = bodies
                 .emplace(std::string(key),
                          std::make_unique<SegmentsRun>(*segments->second, place_, pool_))
                 .first;
    }
    return it->second.get();
}

Status SegmentsRun::run_bodies(size_t index) {
    const SegmentStep& step = segments_.steps[index];
    std::vector<Value> inputs = inputs_of(step);
    if (step.node.op_type == "If") {
        return run_if(index, std::move(inputs));
    }
    if (step.node.op_type == "SequenceMap") {
        return run_map(index, std::move(inputs));
    }
    return step.node.op_type == "Loop" ? run_loop(index, std::move(inputs))
                                       : run_scan(index, std::move(inputs));
}

Status SegmentsRun::run_if(size_t index, std::vector<Value> inputs) {
    const SegmentStep& step = segments_.steps[index];
    LEAT_ASSIGN_OR_RETURN(const bool condition, condition_in(inputs[0]));
    const char* const branch = condition ? "then_branch" : "else_branch";
    LEAT_ASSIGN_OR_RETURN(SegmentsRun* const body, body_of(index, branch));
    Result<Values> results =
        body->run(std::span(inputs).subspan(step.node.own_inputs()), control_of_bodies());
    if (!results.ok()) {
        return std::move(results).error().within(body_path(step.node, branch));
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        set_output(step, i, std::move((*results)[i]));
    }
    return {};
}

// Of one iteration, by the body. Errors name the iteration.
Result<std::vector<Value>> SegmentsRun::run_iteration(size_t index,
                                                      std::vector<Value> given,
                                                      int64_t iteration) {
    LEAT_RETURN_IF_ERROR(check_end());
    LEAT_ASSIGN_OR_RETURN(SegmentsRun* const inner, body_of(index, "body"));
    Result<Values> results = inner->run(given, control_of_bodies());
    if (!results.ok()) {
        return driven_in_iteration(std::move(results).error(), segments_.steps[index].node,
                                   iteration);
    }
    return results;
}

Status SegmentsRun::run_loop(size_t index, std::vector<Value> inputs) {
    const SegmentStep& step = segments_.steps[index];
    const NodeData& node = step.node;
    const GraphData& body = *node.body("body");
    LEAT_ASSIGN_OR_RETURN(const LoopEnd end, loop_end(node, inputs));
    const auto own = inputs.begin() + std::ptrdiff_t(node.own_inputs());
    const auto first = inputs.begin() + std::ptrdiff_t(std::min<size_t>(2, node.own_inputs()));
    if (end.most <= 0 || !end.begins) {
        LEAT_ASSIGN_OR_RETURN(
            Values none,
            results_of_no_iteration(step, inputs, std::span<const Value>(first, own), 1,
                                    std::vector<int64_t>(step.outputs.size(), 0), pool_));
        if (!none.empty()) {
            for (size_t i = 0; i < none.size(); ++i) {
                set_output(step, i, std::move(none[i]));
            }
            return {};
        }
    }
    const Values captured(own, inputs.end());
    Values values(std::make_move_iterator(first), std::make_move_iterator(own));
    inputs.clear();
    const size_t carried = values.size();
    const size_t results_carried = std::min(carried, step.outputs.size());
    Stacks stacks(step.outputs.size() - results_carried);
    bool given_condition = true;
    bool goes_on = end.begins;
    for (int64_t iteration = 0; iteration < end.most && goes_on; ++iteration) {
        Values given;
        given.reserve(body.inputs.size());
        LEAT_ASSIGN_OR_RETURN(given.emplace_back(),
                              value_of_element(DType::kInt64, body, 0, iteration));
        LEAT_ASSIGN_OR_RETURN(given.emplace_back(),
                              value_of_element(DType::kBool, body, 1, given_condition));
        std::move(values.begin(), values.end(), std::back_inserter(given));
        given.insert(given.end(), captured.begin(), captured.end());
        LEAT_ASSIGN_OR_RETURN(Values results, run_iteration(index, std::move(given), iteration));
        const Result<bool> next = condition_in(results[0]);
        Status status = next.error();
        if (status.ok()) {
            status = add_parts(std::span(results).subspan(1 + carried), carried, stacks);
        }
        if (!status.ok()) {
            return driven_in_iteration(std::move(status), node, iteration);
        }
        given_condition = *next;
        goes_on = !end.has_condition || given_condition;
        std::move(results.begin() + 1, results.begin() + 1 + std::ptrdiff_t(carried),
                  values.begin());
    }
    for (size_t c = 0; c < results_carried; ++c) {
        set_output(step, c, std::move(values[c]));
    }
    const std::vector<int64_t> axes(stacks.size(), 0);
    return set_stacks(step, carried, 1, stacks, axes);
}

// The results from `first` on. before: outputs of the body that are no results of the node.
Status SegmentsRun::set_stacks(const SegmentStep& step,
                               size_t first,
                               size_t before,
                               const std::vector<std::vector<Tensor>>& stacks,
                               const std::vector<int64_t>& axes) {
    const GraphData& body = *step.node.body("body");
    for (size_t i = 0; i < stacks.size(); ++i) {
        const int32_t slot = first + i < step.outputs.size() ? step.outputs[first + i] : -1;
        if (slot < 0) {
            continue;
        }
        const std::string& name = segments_.slots[size_t(slot)].name;
        const std::vector<Tensor>& parts = stacks[i];
        if (parts.empty()) {
            const TypeInfo& type = step.output_types[first + i];
            const TypeInfo& declared = body.value(body.outputs[before + first + i]).type;
            LEAT_ASSIGN_OR_RETURN(const Shape shape, shape_of_no_part(type, declared, axes[i]));
            LEAT_ASSIGN_OR_RETURN(Tensor none, pool_.allocate(type.dtype, shape, name));
            set_output(step, first + i, Value(std::move(none)));
            continue;
        }
        const Shape& part = parts.front().shape();
        LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(axes[i], part.rank() + 1));
        LEAT_ASSIGN_OR_RETURN(const Shape shape, with_axis(part, axis, int64_t(parts.size())));
        LEAT_ASSIGN_OR_RETURN(Tensor whole, pool_.allocate(parts.front().dtype(), shape, name));
        for (size_t k = 0; k < parts.size(); ++k) {
            copy_index(whole, axis, int64_t(k), parts[k], /*is_into_whole=*/true);
        }
        set_output(step, first + i, Value(std::move(whole)));
    }
    return {};
}

Status SegmentsRun::run_scan(size_t index, std::vector<Value> inputs) {
    const SegmentStep& step = segments_.steps[index];
    const NodeData& node = step.node;
    const GraphData& body = *node.body("body");
    LEAT_ASSIGN_OR_RETURN(const ScanForm form, scan_form(node));
    const std::span<const Value> sequences =
        std::span<const Value>(inputs).subspan(form.states, form.sequences);
    LEAT_ASSIGN_OR_RETURN(const ScannedAxes scanned, scanned_axes(form, sequences));
    if (scanned.length == 0) {
        LEAT_ASSIGN_OR_RETURN(
            Values none,
            results_of_no_iteration(step, inputs, std::span<const Value>(inputs).first(form.states),
                                    0, form.output_axes, pool_));
        if (!none.empty()) {
            for (size_t i = 0; i < none.size(); ++i) {
                set_output(step, i, std::move(none[i]));
            }
            return {};
        }
    }
    const auto own = inputs.begin() + std::ptrdiff_t(node.own_inputs());
    Values states(inputs.begin(), inputs.begin() + std::ptrdiff_t(form.states));
    Stacks stacks(form.stacks);
    for (int64_t iteration = 0; iteration < scanned.length; ++iteration) {
        Values given(std::make_move_iterator(states.begin()),
                     std::make_move_iterator(states.end()));
        for (size_t s = 0; s < form.sequences; ++s) {
            const int64_t at =
                form.input_is_reversed[s] ? scanned.length - 1 - iteration : iteration;
            LEAT_ASSIGN_OR_RETURN(Tensor part,
                                  slice_of(sequences[s].tensor(), scanned.axes[s], at,
                                           body.value(body.inputs[form.states + s]).name));
            given.emplace_back(std::move(part));
        }
        given.insert(given.end(), own, inputs.end());
        LEAT_ASSIGN_OR_RETURN(Values results, run_iteration(index, std::move(given), iteration));
        Status status = add_parts(std::span(results).subspan(form.states), form.states, stacks);
        if (!status.ok()) {
            return driven_in_iteration(std::move(status), node, iteration);
        }
        std::move(results.begin(), results.begin() + std::ptrdiff_t(form.states), states.begin());
    }
    for (size_t c = 0; c < form.states; ++c) {
        set_output(step, c, std::move(states[c]));
    }
    for (size_t i = 0; i < form.stacks; ++i) {
        if (form.output_is_reversed[i]) {
            std::reverse(stacks[i].begin(), stacks[i].end());
        }
    }
    return set_stacks(step, form.states, 0, stacks, form.output_axes);
}

Status SegmentsRun::run_map(size_t index, std::vector<Value> inputs) {
    const SegmentStep& step = segments_.steps[index];
    const NodeData& node = step.node;
    const size_t own = node.own_inputs();
    const size_t length = inputs[0].elements().size();
    for (size_t i = 1; i < own; ++i) {
        const bool is_list = inputs[i].kind() == Value::Kind::kSequence;
        if (is_list && inputs[i].elements().size() != length) {
            return invalid_argument("input {} has another number of elements", i)
                .with_found(std::to_string(inputs[i].elements().size()))
                .with_needed(fmt::format("{}, as the first sequence", length));
        }
    }
    std::vector<Values> results(step.outputs.size());
    for (size_t element = 0; element < length; ++element) {
        Values given;
        given.reserve(inputs.size());
        for (const Value& input : inputs) {
            const bool is_list = given.size() < own && input.kind() == Value::Kind::kSequence;
            given.push_back(is_list ? input.elements()[element] : input);
        }
        LEAT_ASSIGN_OR_RETURN(Values found,
                              run_iteration(index, std::move(given), int64_t(element)));
        for (size_t i = 0; i < results.size(); ++i) {
            results[i].push_back(std::move(found[i]));
        }
    }
    for (size_t i = 0; i < results.size(); ++i) {
        set_output(step, i, Value::sequence(std::move(results[i])));
    }
    return {};
}

Result<Tensor> SegmentsRun::slice_of(const Tensor& whole,
                                     int axis,
                                     int64_t index,
                                     const std::string& value) {
    std::vector<int64_t> extents(whole.shape().begin(), whole.shape().end());
    extents.erase(extents.begin() + axis);
    LEAT_ASSIGN_OR_RETURN(Tensor part, pool_.allocate(whole.dtype(), *Shape::make(extents), value));
    copy_index(whole, axis, index, part, /*is_into_whole=*/false);
    return part;
}

}  // namespace leat
