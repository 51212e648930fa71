#include "ops/control_flow/control_flow.h"

#include <algorithm>
#include <cstring>

#include "graph/bodies.h"
#include "graph/dim_symbol.h"
#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

using Facts = std::vector<ValueFact>;

Status check_one_element(const InferContext& context, int i, DType dtype, std::string_view what) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, i, dtype_bit(dtype), what));
    if (!may_have_one_element(context.input(i))) {
        return invalid_argument("the {} must have one element", what)
            .with_found(context.input(i).to_string());
    }
    return {};
}

// Of a condition that is known.
std::optional<bool> known_condition(const ValueFact& fact) {
    if (!fact.value || fact.value->dtype() != DType::kBool || fact.value->element_count() != 1) {
        return std::nullopt;
    }
    return condition_of(arg_of(*fact.value));
}

bool is_optional(const TypeInfo& type) {
    return type.kind == TypeInfo::Kind::kOptional;
}

// True if a value may be of both types. Nothing is known of the elements of some empty ones. ONNX's
// own data carry what an optional holds in the place of the optional.
bool may_be_both(const TypeInfo& a, const TypeInfo& b) {
    if (is_optional(a) != is_optional(b)) {
        const TypeInfo& held = is_optional(a) ? b : a;
        const std::shared_ptr<const TypeInfo>& element = is_optional(a) ? a.element : b.element;
        return element == nullptr || may_be_both(*element, held);
    }
    if (a.kind != b.kind) {
        return false;
    }
    if (a.is_tensor()) {
        return a.dtype == b.dtype;
    }
    const bool is_known = a.element != nullptr && b.element != nullptr &&
                          (!a.element->is_tensor() || a.element->dtype != DType::kUndefined) &&
                          (!b.element->is_tensor() || b.element->dtype != DType::kUndefined);
    return !is_known || may_be_both(*a.element, *b.element);
}

// Both as one: an extent or a rank in which they differ is open. False if `into` stays as it is.
bool open_differences(TypeInfo& into, const TypeInfo& other) {
    if (is_optional(into) && !is_optional(other)) {
        into = other;
        return true;
    }
    if (into.kind == other.kind && into.element != nullptr && other.element != nullptr) {
        TypeInfo element = *into.element;
        if (!open_differences(element, *other.element)) {
            return false;
        }
        into.element = std::make_shared<const TypeInfo>(std::move(element));
        return true;
    }
    if (!into.dims) {
        return false;
    }
    if (!other.dims || other.dims->size() != into.dims->size()) {
        into.dims = std::nullopt;
        return true;
    }
    bool changed = false;
    for (size_t axis = 0; axis < into.dims->size(); ++axis) {
        DimSpec& dim = (*into.dims)[axis];
        const bool is_unknown = !dim.is_fixed() && dim.name().empty();
        if (!is_unknown && !same_dim(dim, (*other.dims)[axis])) {
            dim = DimSpec::unknown();
            changed = true;
        }
    }
    return changed;
}

Status check_same_kind(const TypeInfo& a, const TypeInfo& b, std::string_view what) {
    if (may_be_both(a, b)) {
        return {};
    }
    return invalid_argument("{} has another element type", what)
        .with_found(b.to_string())
        .with_needed(a.to_string());
}

Status check_output_count(const NodeData& node, size_t given, std::string_view key) {
    if (node.outputs.size() <= given) {
        return {};
    }
    return invalid_argument("the body '{}' has too few outputs", key)
        .with_found(std::to_string(given))
        .with_needed(fmt::format("{} or more", node.outputs.size()));
}

// ---- If ----

Status infer_if(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_one_element(context, 0, DType::kBool, "condition"));
    const std::optional<bool> condition = known_condition(context.fact(0));
    const NodeData& node = context.node();
    const size_t then_outputs = node.body("then_branch")->outputs.size();
    const size_t else_outputs = node.body("else_branch")->outputs.size();
    if (then_outputs != else_outputs) {
        return invalid_argument("the branches have different numbers of outputs")
            .with_found(fmt::format("{} and {}", then_outputs, else_outputs));
    }
    LEAT_RETURN_IF_ERROR(check_output_count(node, then_outputs, "then_branch"));
    std::vector<Facts> branches;
    for (const bool is_then : {true, false}) {
        if (condition.value_or(is_then) != is_then) {
            continue;
        }
        const char* key = is_then ? "then_branch" : "else_branch";
        LEAT_ASSIGN_OR_RETURN(Facts facts, infer_body(context, key, {}));
        branches.push_back(std::move(facts));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        ValueFact fact = branches[0][i];
        if (branches.size() == 2) {
            const TypeInfo& other = branches[1][i].type;
            LEAT_RETURN_IF_ERROR(
                check_same_kind(fact.type, other, fmt::format("output {} of else_branch", i)));
            open_differences(fact.type, other);
            fact.value.reset();
        }
        context.set_fact(int(i), std::move(fact));
    }
    return {};
}

// ---- Loop ----

std::optional<int64_t> known_trip_count(const InferContext& context) {
    const Tensor* value = context.has_input(0) ? context.value(0) : nullptr;
    if (value == nullptr || value->dtype() != DType::kInt64 || value->element_count() != 1) {
        return std::nullopt;
    }
    return trip_count_of(arg_of(*value));
}

bool has_index(const ValueFact& fact, std::string_view key) {
    const auto has = [key](const DimSpec& dim) { return leat::has_index(dim, key); };
    return (fact.extents && std::any_of(fact.extents->begin(), fact.extents->end(), has)) ||
           (fact.type.dims && std::any_of(fact.type.dims->begin(), fact.type.dims->end(), has));
}

// What the body is given as its first input; nothing where the trip count is not known, so that no
// extent can be free of it.
std::optional<DimSpec> number_of_iteration(const InferContext& context,
                                           const GraphData& body,
                                           const Facts& carried) {
    std::optional<DimSpec> limit;
    if (const std::optional<int64_t> count = known_trip_count(context)) {
        limit = DimSpec(*count);
    } else if (const auto counts = context.has_input(0) ? context.extents(0) : std::nullopt;
               counts && counts->size() == 1) {
        limit = counts->front();
    }
    if (!limit) {
        return std::nullopt;
    }
    std::string key = fmt::format("{}#{}", context.node().label(), body.value(body.inputs[0]).name);
    const std::span<const ValueFact* const> captured = context.captured();
    const auto is_taken = [&key](const ValueFact& fact) { return has_index(fact, key); };
    while (std::any_of(captured.begin(), captured.end(),
                       [&](const ValueFact* fact) { return is_taken(*fact); }) ||
           std::any_of(carried.begin(), carried.end(), is_taken)) {
        key += "'";
    }
    return index_dim(std::move(key), *limit);
}

struct LoopFacts {
    Facts outputs;            // of the body
    bool goes_on = false;     // the condition is never false
    bool is_skipped = false;  // there is no iteration for certain
};

// `carried`: those of the body's inputs `given` that the outputs from `first_output` on replace.
// They begin with what is given. An extent or a rank that the body changes is open, and the body is
// inferred again: each is opened once at most. Returns the outputs.
Result<Facts> infer_all_iterations(const InferContext& context,
                                   std::span<ValueFact> carried,
                                   size_t first_output,
                                   std::string_view what,
                                   const Facts& given) {
    Facts outputs;
    for (bool changed = true; changed;) {
        changed = false;
        LEAT_ASSIGN_OR_RETURN(outputs, infer_body(context, "body", given));
        for (size_t c = 0; c < carried.size(); ++c) {
            const TypeInfo& next = outputs[first_output + c].type;
            LEAT_RETURN_IF_ERROR(
                check_same_kind(carried[c].type, next, fmt::format("{} {}", what, c)));
            changed = open_differences(carried[c].type, next) || changed;
        }
    }
    return outputs;
}

Result<LoopFacts> infer_loop_body(const InferContext& context, Facts& carried) {
    const GraphData& body = *context.node().body("body");
    const size_t own = own_input_count(context.node(), body);
    if (own != carried.size() + 2 || body.outputs.size() < carried.size() + 1) {
        return invalid_argument("the body does not fit the carried values")
            .with_found(fmt::format("{} inputs, {} outputs", own, body.outputs.size()))
            .with_needed(fmt::format("{} inputs, {} outputs or more", carried.size() + 2,
                                     carried.size() + 1));
    }
    const auto one_element = [&body](size_t input, DType dtype) {
        return ValueFact(TypeInfo::tensor(dtype, shape_of_one_element(body, input)));
    };
    Facts given = {one_element(0, DType::kInt64), one_element(1, DType::kBool)};
    if (auto number = number_of_iteration(context, body, carried)) {
        given[0].extents = {*std::move(number)};
    }
    LoopFacts loop;
    std::optional<bool> condition;
    if (context.has_input(1)) {
        condition = known_condition(context.fact(1));
        // An iteration runs while the condition holds.
        LEAT_ASSIGN_OR_RETURN(given[1].value,
                              Tensor::allocate(DType::kBool, *given[1].type.fixed_shape()));
        given[1].value->mutable_bytes()[0] = std::byte{1};
    }
    given.insert(given.end(), carried.begin(), carried.end());
    LEAT_ASSIGN_OR_RETURN(loop.outputs, infer_all_iterations(context, std::span(given).subspan(2),
                                                             1, "carried value", given));
    LEAT_RETURN_IF_ERROR(check_same_kind(given[1].type, loop.outputs[0].type, "the condition"));
    const TypeInfo& next_condition = loop.outputs[0].type;
    if (!may_have_one_element(next_condition)) {
        return invalid_argument("the condition that the body gives must have one element")
            .with_found(next_condition.to_string());
    }
    const std::optional<bool> next = known_condition(loop.outputs[0]);
    loop.goes_on = !context.has_input(1) || (condition.value_or(false) && next.value_or(false));
    loop.is_skipped = !condition.value_or(true) || known_trip_count(context).value_or(1) == 0;
    for (size_t c = 0; c < carried.size() && !loop.is_skipped; ++c) {
        carried[c].type = given[2 + c].type;
    }
    return loop;
}

TypeInfo stacked(TypeInfo part, DimSpec count) {
    if (part.dims) {
        part.dims->insert(part.dims->begin(), std::move(count));
    }
    return part;
}

// A part of a stack without any: extents are those that the body declares, those that a part would
// have had, or 0 where these are not known.
TypeInfo part_of_none(const TypeInfo& inferred, const TypeInfo& declared) {
    TypeInfo part = inferred;
    part.dims = inferred.dims ? inferred.dims : declared.dims;
    if (!part.dims) {
        part.dims.emplace();
    }
    const bool is_declared = declared.rank() == part.rank();
    for (size_t axis = 0; axis < part.dims->size(); ++axis) {
        DimSpec& dim = (*part.dims)[axis];
        if (is_declared && (*declared.dims)[axis].is_fixed()) {
            dim = (*declared.dims)[axis];
        }
        const bool is_known = dim.is_fixed() || !dim.name().empty();  // by a name: in the plan
        dim = is_known ? dim : DimSpec(0);
    }
    return part;
}

Status infer_loop(InferContext& context) {
    const NodeData& node = context.node();
    if (context.has_input(0)) {
        LEAT_RETURN_IF_ERROR(check_one_element(context, 0, DType::kInt64, "trip count"));
    }
    if (context.has_input(1)) {
        LEAT_RETURN_IF_ERROR(check_one_element(context, 1, DType::kBool, "condition"));
    }
    Facts carried;
    for (int i = 2; i < context.input_count(); ++i) {
        if (!context.has_input(i)) {
            return invalid_argument("input {}, an initial value, is absent", i);
        }
        carried.emplace_back(context.input(i));
    }
    LEAT_ASSIGN_OR_RETURN(const LoopFacts loop, infer_loop_body(context, carried));
    LEAT_RETURN_IF_ERROR(check_output_count(node, loop.outputs.size() - 1, "body"));
    const std::optional<int64_t> trip_count = known_trip_count(context);
    const DimSpec count = loop.is_skipped              ? DimSpec(0)
                          : trip_count && loop.goes_on ? DimSpec(*trip_count)
                                                       : DimSpec::unknown();
    const GraphData& body = *node.body("body");
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (i < carried.size()) {
            context.set_output(int(i), std::move(carried[i].type));
            continue;
        }
        const TypeInfo& part = loop.outputs[1 + i].type;
        const TypeInfo& declared = body.value(body.outputs[1 + i]).type;
        context.set_output(int(i),
                           stacked(loop.is_skipped ? part_of_none(part, declared) : part, count));
    }
    return {};
}

// ---- Scan ----

// The length that all sequences have, as far as it is known.
Result<DimSpec> scan_length(const InferContext& context, const ScanForm& form) {
    DimSpec length = DimSpec::unknown();
    for (size_t s = 0; s < form.sequences; ++s) {
        const TypeInfo& type = context.input(int(form.states + s));
        if (!type.dims) {
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(form.input_axes[s], type.rank()));
        const DimSpec& own = (*type.dims)[size_t(axis)];
        if (length.is_fixed() && own.is_fixed() && length.extent() != own.extent()) {
            return invalid_argument("the sequences have different lengths")
                .with_found(fmt::format("{} and {}", length.extent(), own.extent()));
        }
        if (own.is_fixed() || (!length.is_fixed() && length.name().empty())) {
            length = own;
        }
    }
    return length;
}

Result<Facts> infer_scan_body(const InferContext& context, const ScanForm& form, Facts& states) {
    Facts given = states;
    for (size_t s = 0; s < form.sequences; ++s) {
        TypeInfo slice = context.input(int(form.states + s));
        if (slice.dims) {
            LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(form.input_axes[s], slice.rank()));
            slice.dims->erase(slice.dims->begin() + axis);
        }
        given.emplace_back(std::move(slice));
    }
    LEAT_ASSIGN_OR_RETURN(
        Facts outputs,
        infer_all_iterations(context, std::span(given).first(states.size()), 0, "state", given));
    for (size_t c = 0; c < states.size(); ++c) {
        states[c].type = given[c].type;
    }
    return outputs;
}

Status infer_scan(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_all_inputs(context));
    const NodeData& node = context.node();
    LEAT_ASSIGN_OR_RETURN(const ScanForm form, scan_form(node));
    LEAT_ASSIGN_OR_RETURN(const DimSpec length, scan_length(context, form));
    Facts states;
    for (size_t c = 0; c < form.states; ++c) {
        states.emplace_back(context.input(int(c)));
    }
    const Facts initial = states;
    LEAT_ASSIGN_OR_RETURN(const Facts outputs, infer_scan_body(context, form, states));
    if (length.is_fixed() && length.extent() == 0) {
        states = initial;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (i < form.states) {
            context.set_output(int(i), std::move(states[i].type));
            continue;
        }
        TypeInfo type = outputs[i].type;
        if (type.dims) {
            LEAT_ASSIGN_OR_RETURN(
                const int axis, normalize_axis(form.output_axes[i - form.states], type.rank() + 1));
            type.dims->insert(type.dims->begin() + axis, length);
        }
        context.set_output(int(i), std::move(type));
    }
    return {};
}

// How often a loop runs decides the shapes of its stacks alone.
bool has_stacks(const NodeData& node) {
    const size_t own = node.own_inputs();
    return node.outputs.size() > (own < 2 ? 0 : own - 2);
}

std::optional<int64_t> if_iterations(const InferContext& /*context*/) {
    return 1;
}
std::optional<int64_t> scan_iterations(const InferContext& context) {
    const Result<ScanForm> form = scan_form(context.node());
    if (!form.ok()) {
        return std::nullopt;
    }
    const Result<DimSpec> length = scan_length(context, *form);
    return length.ok() && length->is_fixed() ? std::optional(length->extent()) : std::nullopt;
}

constexpr AttributeSchema kIfAttributes[] = {
    {.name = "then_branch", .kind = AttributeKind::kGraph, .is_required = true},
    {.name = "else_branch", .kind = AttributeKind::kGraph, .is_required = true},
};
constexpr AttributeSchema kLoopAttributes[] = {
    {.name = "body", .kind = AttributeKind::kGraph, .is_required = true},
};
constexpr AttributeSchema kScanAttributes[] = {
    {.name = "body", .kind = AttributeKind::kGraph, .is_required = true},
    {.name = "num_scan_inputs", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "directions", .kind = AttributeKind::kInts, .before = 9},
    {.name = "scan_input_axes", .kind = AttributeKind::kInts, .since = 9},
    {.name = "scan_output_axes", .kind = AttributeKind::kInts, .since = 9},
    {.name = "scan_input_directions", .kind = AttributeKind::kInts, .since = 9},
    {.name = "scan_output_directions", .kind = AttributeKind::kInts, .since = 9},
};

constexpr OpDef kControlFlowOps[] = {
    {.name = "If",
     .max_outputs = -1,
     .named_outputs = 0,
     .attributes = kIfAttributes,
     .infer = infer_if,
     .reference = if_reference,
     .iterations = if_iterations},
    {.name = "Loop",
     .min_inputs = 0,
     .max_inputs = -1,
     .max_outputs = -1,
     .named_outputs = 0,
     .attributes = kLoopAttributes,
     .infer = infer_loop,
     .reference = loop_reference,
     .shape_inputs = 0b11,
     .has_shape_inputs = has_stacks,
     .iterations = known_trip_count},
    {.name = "Scan",
     .max_inputs = -1,
     .max_outputs = -1,
     .named_outputs = 0,
     .attributes = kScanAttributes,
     .infer = infer_scan,
     .reference = scan_reference,
     .iterations = scan_iterations},
};

// A list of as many elements as there are values, or none for the default.
Result<std::vector<int64_t>> listed(const NodeData& node, const char* key, size_t count) {
    const std::vector<int64_t>* list = node.ints(key);
    if (list == nullptr || list->empty()) {
        return std::vector<int64_t>(count, 0);
    }
    if (list->size() != count) {
        return invalid_argument("{} has a wrong length", key)
            .with_found(std::to_string(list->size()))
            .with_needed(std::to_string(count));
    }
    return *list;
}

Result<std::vector<bool>> reversals(const NodeData& node, const char* key, size_t count) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<int64_t> directions, listed(node, key, count));
    for (const int64_t direction : directions) {
        if (direction != 0 && direction != 1) {
            return invalid_argument("{} has the element {}", key, direction)
                .with_needed("0 (forward) or 1 (reverse)");
        }
    }
    return std::vector<bool>(directions.begin(), directions.end());
}

}  // namespace

Result<ScanForm> scan_form(const NodeData& node) {
    const int64_t sequences = node.attr("num_scan_inputs", int64_t{0});
    const auto inputs = int64_t(node.own_inputs());
    if (sequences < 1 || sequences > inputs) {
        return invalid_argument("num_scan_inputs is {}", sequences)
            .with_needed(fmt::format("1 to {}, the number of inputs", inputs));
    }
    const GraphData& body = *node.body("body");
    ScanForm form;
    form.sequences = size_t(sequences);
    form.states = size_t(inputs - sequences);
    if (body.outputs.size() < std::max(form.states, node.outputs.size())) {
        return invalid_argument("the body has too few outputs")
            .with_found(std::to_string(body.outputs.size()))
            .with_needed(fmt::format("{} or more", std::max(form.states, node.outputs.size())));
    }
    form.stacks = body.outputs.size() - form.states;
    LEAT_ASSIGN_OR_RETURN(form.input_axes, listed(node, "scan_input_axes", form.sequences));
    LEAT_ASSIGN_OR_RETURN(form.output_axes, listed(node, "scan_output_axes", form.stacks));
    LEAT_ASSIGN_OR_RETURN(form.input_is_reversed,
                          reversals(node, "scan_input_directions", form.sequences));
    LEAT_ASSIGN_OR_RETURN(form.output_is_reversed,
                          reversals(node, "scan_output_directions", form.stacks));
    return form;
}

size_t carried_by_loop(const NodeData& node) {
    return std::max<size_t>(node.own_inputs(), 2) - 2;
}

bool is_stack_of_loop(const NodeData& node, int32_t output) {
    return node.has_bodies() && node.op_type == "Loop" && size_t(output) >= carried_by_loop(node);
}

bool may_grow(const NodeData& node, int32_t output, const TypeInfo& type) {
    return is_stack_of_loop(node, output) && type.rank() > 0 && bits_of(type.dtype) % 8 == 0;
}

size_t own_input_count(const NodeData& node, const GraphData& body) {
    return body.inputs.size() - node.captured_count();
}

Shape shape_of_one_element(const GraphData& body, size_t input) {
    return body.value(body.inputs[input]).type.rank() == 1 ? Shape{1} : Shape{};
}

void copy_slice(const AxisSplit& split,
                int64_t inner_bytes,
                int64_t index,
                std::byte* whole,
                std::byte* slice,
                bool is_into_whole) {
    for (int64_t o = 0; o < split.outer && inner_bytes > 0; ++o) {
        std::byte* const in_whole = whole + (o * split.extent + index) * inner_bytes;
        std::byte* const in_slice = slice + o * inner_bytes;
        std::memcpy(is_into_whole ? in_whole : in_slice, is_into_whole ? in_slice : in_whole,
                    size_t(inner_bytes));
    }
}

int64_t trip_count_of(const TensorArg& operand) {
    return std::max<int64_t>(*operand.as<int64_t>(), 0);
}
bool condition_of(const TensorArg& operand) {
    return *operand.as<uint8_t>() != 0;
}

std::span<const OpDef> control_flow_ops() {
    return kControlFlowOps;
}

}  // namespace leat
