#include "ops/constant/constant.h"

#include <cmath>
#include <cstring>
#include <string>

#include "base/float_formats.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

bool is_range_integer(DType dtype) {
    return dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
}

bool is_range_float(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32 ||
           dtype == DType::kFloat64;
}

template <class T>
T load(const std::byte* data) {
    T value;
    std::memcpy(&value, data, sizeof(T));
    return value;
}

Dims vector_of(size_t count) {
    return {DimSpec(int64_t(count))};
}

Status infer_constant(InferContext& context) {
    const NodeData& node = context.node();
    if (const Tensor* value = node.tensor("value")) {
        context.set_output(0, TypeInfo::tensor(value->dtype(), value->shape()));
    } else if (node.has_attr("value_float")) {
        context.set_output(0, DType::kFloat32, Dims{});
    } else if (node.has_attr("value_int")) {
        context.set_output(0, DType::kInt64, Dims{});
        context.set_extents(0, {DimSpec(node.attr("value_int", int64_t{0}))});
    } else if (node.has_attr("value_string")) {
        context.set_output(0, DType::kString, Dims{});
    } else if (const auto* floats = node.floats("value_floats")) {
        context.set_output(0, DType::kFloat32, vector_of(floats->size()));
    } else if (const auto* ints = node.ints("value_ints")) {
        context.set_output(0, DType::kInt64, vector_of(ints->size()));
        track_extents(context, 0, DType::kInt64, Dims(ints->begin(), ints->end()));
    } else if (const auto* strings = node.strings("value_strings")) {
        context.set_output(0, DType::kString, vector_of(strings->size()));
    } else {
        return unsupported("the constant has no dense value")
            .with_needed("one of value, value_float(s), value_int(s), value_string(s)");
    }
    return {};
}

Status infer_constant_of_shape(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 0, "the shape"));
    const Tensor* value = context.node().tensor("value");
    if (value != nullptr && value->element_count() != 1) {
        return invalid_argument("attribute value must have one element")
            .with_found(value->shape().to_string());
    }
    const DType dtype = value == nullptr ? DType::kFloat32 : value->dtype();
    std::optional<Dims> dims = context.extents(0);
    const int64_t rank = dims ? int64_t(dims->size()) : known_length(context.input(0));
    LEAT_RETURN_IF_ERROR(check_output_rank(rank));
    if (const auto shape = context.ints(0)) {
        for (const int64_t extent : *shape) {
            if (extent < 0) {
                return invalid_argument("a shape has a negative extent")
                    .with_found(fmt::format("{}", extent))
                    .with_needed("extents >= 0");
            }
        }
    }
    if (!dims && rank >= 0) {
        dims = unknown_dims(rank);
    }
    if (dims && dims->size() <= 1 && may_hold_extents(dtype) && value != nullptr) {
        const int64_t element = range_operand_int(dtype, value->bytes());
        const int64_t count = dims->empty() ? 1 : (*dims)[0].extent();
        if (count >= 0 && count <= int64_t(kMaxTrackedExtents)) {
            track_extents(context, 0, dtype, Dims(size_t(count), DimSpec(element)));
        }
    }
    context.set_output(0, dtype, std::move(dims));
    return {};
}

Result<std::optional<int64_t>> known_range_count(const InferContext& context, DType dtype) {
    const Tensor* operands[3];
    for (int i = 0; i < 3; ++i) {
        operands[i] = context.value(i);
        if (operands[i] == nullptr) {
            return std::optional<int64_t>();
        }
        if (operands[i]->element_count() != 1) {
            return invalid_argument("operand {} must be a scalar", i)
                .with_found(operands[i]->shape().to_string());
        }
    }
    if (is_range_integer(dtype)) {
        LEAT_ASSIGN_OR_RETURN(const int64_t count,
                              range_count(range_operand_int(dtype, operands[0]->bytes()),
                                          range_operand_int(dtype, operands[1]->bytes()),
                                          range_operand_int(dtype, operands[2]->bytes())));
        return std::optional<int64_t>(count);
    }
    LEAT_ASSIGN_OR_RETURN(const int64_t count,
                          range_count(range_operand_float(dtype, operands[0]->bytes()),
                                      range_operand_float(dtype, operands[1]->bytes()),
                                      range_operand_float(dtype, operands[2]->bytes())));
    return std::optional<int64_t>(count);
}

Status infer_range(InferContext& context) {
    const DType dtype = context.input(0).dtype;
    if (dtype != DType::kUndefined && !is_range_integer(dtype) && !is_range_float(dtype)) {
        return invalid_argument("a range of this type does not exist")
            .with_found(std::string(name_of(dtype)))
            .with_needed("f16, bf16, f32, f64, i16, i32 or i64");
    }
    for (int i = 1; i < 3; ++i) {
        if (context.input(i).dtype != dtype) {
            return invalid_argument("the operands have different types")
                .with_found(
                    fmt::format("{} and {}", name_of(dtype), name_of(context.input(i).dtype)))
                .with_needed("one type");
        }
    }
    LEAT_ASSIGN_OR_RETURN(const std::optional<int64_t> count, known_range_count(context, dtype));
    DimSpec extent = DimSpec::unknown();
    if (count) {
        extent = DimSpec(*count);
    } else if (is_range_integer(dtype)) {
        // Range(0, n, 1) has n elements, also if only the name of n is known.
        const auto start = context.ints(0);
        const auto limit = context.extents(1);
        const auto delta = context.ints(2);
        const bool counts_up = start && delta && limit && start->size() == 1 &&
                               delta->size() == 1 && limit->size() == 1 && (*start)[0] == 0 &&
                               (*delta)[0] == 1;
        extent = counts_up ? (*limit)[0] : DimSpec::unknown();
    }
    context.set_output(0, dtype, Dims{extent});
    return {};
}

// All elements are the same.
bool constant_of_shape_gives_rows(const ShardArgs& args) {
    return args.parts[0] == ShardPart::kOwn;
}

constexpr AttributeSchema kConstantAttributes[] = {
    {.name = "sparse_value",
     .kind = AttributeKind::kSparseTensor,
     .since = 11,
     .before = kCanonicalOpset},
    {.name = "value", .kind = AttributeKind::kTensor, .before = 11, .is_required = true},
    {.name = "value", .kind = AttributeKind::kTensor, .since = 11},
    {.name = "value_float", .kind = AttributeKind::kFloat, .since = 12},
    {.name = "value_floats", .kind = AttributeKind::kFloats, .since = 12},
    {.name = "value_int", .kind = AttributeKind::kInt, .since = 12},
    {.name = "value_ints", .kind = AttributeKind::kInts, .since = 12},
    {.name = "value_string", .kind = AttributeKind::kString, .since = 12},
    {.name = "value_strings", .kind = AttributeKind::kStrings, .since = 12},
};

constexpr AttributeSchema kConstantOfShapeAttributes[] = {
    {.name = "value", .kind = AttributeKind::kTensor},
};

constexpr AttributeSchema kRangeAttributes[] = {
    {.name = "stash_type", .kind = AttributeKind::kInt, .since = 27},
};

constexpr OpDef kConstantOps[] = {
    {.name = "Constant",
     .min_inputs = 0,
     .max_inputs = 0,
     .attributes = kConstantAttributes,
     .infer = infer_constant,
     .reference = constant_reference},
    {.name = "ConstantOfShape",
     .attributes = kConstantOfShapeAttributes,
     .infer = infer_constant_of_shape,
     .reference = constant_of_shape_reference,
     .shape_inputs = 0b1,
     .gives_rows = constant_of_shape_gives_rows},
    {.name = "Range",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kRangeAttributes,
     .infer = infer_range,
     .reference = range_reference,
     .shape_inputs = 0b111},
};

}  // namespace

int64_t range_operand_int(DType dtype, const std::byte* data) {
    switch (dtype) {
        case DType::kInt16:
            return load<int16_t>(data);
        case DType::kInt32:
            return load<int32_t>(data);
        default:
            return load<int64_t>(data);
    }
}

double range_operand_float(DType dtype, const std::byte* data) {
    switch (dtype) {
        case DType::kFloat16:
            return to_float(load<Float16>(data));
        case DType::kBfloat16:
            return to_float(load<BFloat16>(data));
        case DType::kFloat32:
            return load<float>(data);
        default:
            return load<double>(data);
    }
}

Result<int64_t> range_count(int64_t start, int64_t limit, int64_t delta) {
    if (delta == 0) {
        return invalid_argument("the step of a range is zero").with_needed("delta != 0");
    }
    if (delta > 0 ? start >= limit : start <= limit) {
        return int64_t{0};
    }
    // Unsigned differences do not overflow.
    const uint64_t distance =
        delta > 0 ? uint64_t(limit) - uint64_t(start) : uint64_t(start) - uint64_t(limit);
    const uint64_t step = delta > 0 ? uint64_t(delta) : uint64_t(0) - uint64_t(delta);
    const uint64_t count = (distance - 1) / step + 1;
    if (count > uint64_t(INT64_MAX) / 16) {
        return invalid_argument("the range is too large")
            .with_found(fmt::format("{} elements", count));
    }
    return int64_t(count);
}

Result<int64_t> range_count(double start, double limit, double delta) {
    const double count = std::ceil((limit - start) / delta);
    if (delta == 0 || std::isnan(count)) {
        return invalid_argument("the range has no number of elements")
            .with_found(fmt::format("start {}, limit {}, delta {}", start, limit, delta))
            .with_needed("finite numbers and delta != 0");
    }
    if (count > 1e17) {
        return invalid_argument("the range is too large")
            .with_found(fmt::format("{} elements", count));
    }
    return count > 0 ? int64_t(count) : int64_t{0};
}

std::span<const OpDef> constant_ops() {
    return kConstantOps;
}

}  // namespace leat
