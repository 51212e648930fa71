#include "ops/sequence/sequence.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/bodies.h"
#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

TypeInfo type_around(TypeInfo::Kind kind, TypeInfo element) {
    TypeInfo type;
    type.kind = kind;
    type.element = std::make_shared<const TypeInfo>(std::move(element));
    return type;
}

TypeInfo sequence_type(TypeInfo element) {
    return type_around(TypeInfo::Kind::kSequence, std::move(element));
}

// Any shape.
TypeInfo element_type(DType dtype) {
    return TypeInfo::tensor(dtype, std::nullopt);
}

Status check_sequence(const InferContext& context, int input) {
    if (context.input(input).kind == TypeInfo::Kind::kSequence) {
        return {};
    }
    return invalid_argument("input {} must be a sequence", input)
        .with_found(context.input(input).to_string());
}

DType dtype_of_elements(const TypeInfo& sequence) {
    return sequence.element == nullptr ? DType::kUndefined : sequence.element->dtype;
}

Status check_is_tensor(const InferContext& context, int input) {
    if (!context.has_input(input) || context.input(input).is_tensor()) {
        return {};
    }
    return invalid_argument("input {} must be a tensor", input)
        .with_found(context.input(input).to_string())
        .with_needed("a tensor");
}

Status check_position(const InferContext& context, int input) {
    if (!context.has_input(input)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_is_tensor(context, input));
    LEAT_RETURN_IF_ERROR(check_index_type(context, input, "the position"));
    const TypeInfo& type = context.input(input);
    if (!may_have_one_element(type)) {
        return invalid_argument("the position must have one element").with_found(type.to_string());
    }
    return {};
}

Status check_elements(DType found, DType needed) {
    if (found == needed || found == DType::kUndefined || needed == DType::kUndefined) {
        return {};
    }
    return invalid_argument("an element has another type than the sequence")
        .with_found(std::string(name_of(found)))
        .with_needed(std::string(name_of(needed)));
}

Status infer_sequence_empty(InferContext& context) {
    // The numbers are those of ONNX's TensorProto.DataType.
    const int64_t number = context.node().attr("dtype", int64_t(DType::kFloat32));
    const DType dtype = DType(number);
    if (name_of(dtype).empty() || dtype == DType::kUndefined) {
        return invalid_argument("attribute dtype is no element type")
            .with_found(std::to_string(number));
    }
    context.set_output(0, sequence_type(element_type(dtype)));
    return {};
}

Status infer_sequence_construct(InferContext& context) {
    const DType dtype = context.input(0).dtype;
    for (int i = 0; i < context.input_count(); ++i) {
        if (!context.has_input(i)) {
            return invalid_argument("input {} is absent", i);
        }
        LEAT_RETURN_IF_ERROR(check_is_tensor(context, i));
        LEAT_RETURN_IF_ERROR(check_elements(context.input(i).dtype, dtype));
    }
    context.set_output(0, sequence_type(element_type(dtype)));
    return {};
}

Status infer_sequence_insert(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_sequence(context, 0));
    LEAT_RETURN_IF_ERROR(check_is_tensor(context, 1));
    LEAT_RETURN_IF_ERROR(check_position(context, 2));
    const DType dtype = dtype_of_elements(context.input(0));
    LEAT_RETURN_IF_ERROR(check_elements(context.input(1).dtype, dtype));
    context.set_output(0, sequence_type(element_type(context.input(1).dtype)));
    return {};
}

Status infer_sequence_erase(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_sequence(context, 0));
    LEAT_RETURN_IF_ERROR(check_position(context, 1));
    context.set_output(0, context.input(0));
    return {};
}

Status infer_sequence_at(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_sequence(context, 0));
    LEAT_RETURN_IF_ERROR(check_position(context, 1));
    const std::shared_ptr<const TypeInfo>& element = context.input(0).element;
    context.set_output(0, element == nullptr ? TypeInfo() : element_type(element->dtype));
    return {};
}

Status infer_sequence_length(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_sequence(context, 0));
    context.set_output(0, DType::kInt64, std::vector<DimSpec>());
    return {};
}

Status infer_split_to_sequence(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_is_tensor(context, 0));
    LEAT_RETURN_IF_ERROR(check_is_tensor(context, 1));
    const TypeInfo& whole = context.input(0);
    if (whole.dims) {
        LEAT_RETURN_IF_ERROR(axis_of(context.node(), whole.rank()).error());
    }
    if (context.has_input(1)) {
        LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "split"));
        if (context.input(1).rank() > 1) {
            return invalid_argument("split must be a number or a list")
                .with_found(context.input(1).to_string());
        }
    }
    context.set_output(0, sequence_type(element_type(whole.dtype)));
    return {};
}

Status infer_concat_from_sequence(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_sequence(context, 0));
    const int64_t is_new = context.node().attr("new_axis", int64_t{0});
    if (is_new != 0 && is_new != 1) {
        return invalid_argument("attribute new_axis must be 0 or 1")
            .with_found(std::to_string(is_new));
    }
    context.set_output(0, element_type(dtype_of_elements(context.input(0))));
    return {};
}

Status infer_sequence_map(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_sequence(context, 0));
    std::vector<ValueFact> given;
    for (int i = 0; i < context.input_count(); ++i) {
        const TypeInfo& type = context.input(i);
        const bool is_list = type.kind == TypeInfo::Kind::kSequence;
        given.emplace_back(is_list ? element_type(dtype_of_elements(type)) : type);
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> results, infer_body(context, "body", given));
    if (results.size() != size_t(context.output_count())) {
        return invalid_argument("the body gives a wrong number of results")
            .with_found(std::to_string(results.size()))
            .with_needed(std::to_string(context.output_count()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
        if (!results[i].type.is_tensor()) {
            return invalid_argument("result {} of the body must be a tensor", i)
                .with_found(results[i].type.to_string());
        }
        context.set_output(int(i), sequence_type(element_type(results[i].type.dtype)));
    }
    return {};
}

// A run says how long the sequence is.
std::optional<int64_t> sequence_map_iterations(const InferContext& /*context*/) {
    return std::nullopt;
}

// What attribute type says, as TypeInfo::to_string() writes it, without extents.
TypeInfo type_of_text(std::string_view text, int depth = 0) {
    constexpr int kMostKinds = 8;
    for (const auto& [word, kind] :
         {std::pair(std::string_view("seq("), TypeInfo::Kind::kSequence),
          std::pair(std::string_view("optional("), TypeInfo::Kind::kOptional)}) {
        if (text.starts_with(word) && depth < kMostKinds) {
            return type_around(kind, type_of_text(text.substr(word.size()), depth + 1));
        }
    }
    const std::optional<DType> dtype = dtype_from_name(text.substr(0, text.find('[')));
    return dtype ? element_type(*dtype) : TypeInfo();
}

// An empty one is of the type that its attribute says. Whoever reads the element is told that there
// is none.
Status infer_optional(InferContext& context) {
    TypeInfo element =
        context.has_input(0) ? context.input(0) : type_of_text(context.node().attr("type", ""));
    context.set_output(0, type_around(TypeInfo::Kind::kOptional, std::move(element)));
    return {};
}

Status infer_optional_has_element(InferContext& context) {
    context.set_output(0, DType::kBool, std::vector<DimSpec>());
    return {};
}

Status infer_optional_get_element(InferContext& context) {
    const TypeInfo& type = context.input(0);
    if (type.kind != TypeInfo::Kind::kOptional) {
        context.set_output(0, type);
    } else {
        TypeInfo element = type.element == nullptr ? TypeInfo() : *type.element;
        element.dims = std::nullopt;
        context.set_output(0, std::move(element));
    }
    return {};
}

constexpr AttributeSchema kSequenceEmptyAttributes[] = {
    {.name = "dtype", .kind = AttributeKind::kInt},
};
constexpr AttributeSchema kSplitToSequenceAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "keepdims", .kind = AttributeKind::kInt},
};
constexpr AttributeSchema kConcatFromSequenceAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "new_axis", .kind = AttributeKind::kInt},
};
constexpr AttributeSchema kSequenceMapAttributes[] = {
    {.name = "body", .kind = AttributeKind::kGraph, .is_required = true},
};
constexpr AttributeSchema kOptionalAttributes[] = {
    {.name = "type", .kind = AttributeKind::kType, .before = kCanonicalOpset},
    {.name = "type", .kind = AttributeKind::kString, .since = kCanonicalOpset},  // as text
};

constexpr OpDef kSequenceOps[] = {
    {.name = "SequenceEmpty",
     .min_inputs = 0,
     .max_inputs = 0,
     .attributes = kSequenceEmptyAttributes,
     .infer = infer_sequence_empty,
     .run_values = sequence_empty},
    {.name = "SequenceConstruct",
     .max_inputs = -1,
     .infer = infer_sequence_construct,
     .run_values = sequence_construct},
    {.name = "SequenceInsert",
     .min_inputs = 2,
     .max_inputs = 3,
     .infer = infer_sequence_insert,
     .run_values = sequence_insert},
    {.name = "SequenceErase",
     .max_inputs = 2,
     .infer = infer_sequence_erase,
     .run_values = sequence_erase},
    {.name = "SequenceAt",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_sequence_at,
     .run_values = sequence_at},
    {.name = "SequenceLength", .infer = infer_sequence_length, .run_values = sequence_length},
    {.name = "SplitToSequence",
     .max_inputs = 2,
     .attributes = kSplitToSequenceAttributes,
     .infer = infer_split_to_sequence,
     .run_values = split_to_sequence},
    {.name = "ConcatFromSequence",
     .attributes = kConcatFromSequenceAttributes,
     .infer = infer_concat_from_sequence,
     .run_values = concat_from_sequence},
    // Runs its body: see driven_bodies.cpp.
    {.name = "SequenceMap",
     .max_inputs = -1,
     .max_outputs = -1,
     .attributes = kSequenceMapAttributes,
     .infer = infer_sequence_map,
     .iterations = sequence_map_iterations},
    {.name = "Optional",
     .min_inputs = 0,
     .attributes = kOptionalAttributes,
     .infer = infer_optional,
     .run_values = optional_of},
    {.name = "OptionalHasElement",
     .min_inputs = 0,
     .infer = infer_optional_has_element,
     .run_values = optional_has_element},
    {.name = "OptionalGetElement",
     .infer = infer_optional_get_element,
     .run_values = optional_get_element},
};

}  // namespace

std::span<const OpDef> sequence_ops() {
    return kSequenceOps;
}

}  // namespace leat
