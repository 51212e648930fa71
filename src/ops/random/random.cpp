#include "ops/random/random.h"

#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

// RandomNormalLike and RandomUniformLike read nothing but the shape.
constexpr DTypeSet kLikeTypes =
    kNumericTypes | dtype_set(DType::kBool, DType::kString, DType::kComplex64, DType::kComplex128);
constexpr DTypeSet kBernoulliTypes = kNumericTypes | dtype_set(DType::kBool);

// The element type of the result: attribute dtype, else `fallback`.
Result<DType> drawn_dtype(const NodeData& node,
                          DType fallback,
                          DTypeSet allowed,
                          const char* needed) {
    const int64_t number = node.attr("dtype", int64_t(fallback));
    const DType dtype = dtype_from_number(number);
    const bool is_open = !node.has_attr("dtype") && fallback == DType::kUndefined;
    if (!is_open && !contains(allowed, dtype)) {
        return invalid_argument("the operator does not draw numbers of the type")
            .with_found(dtype == DType::kUndefined ? fmt::format("type number {}", number)
                                                   : std::string(name_of(dtype)))
            .with_needed(fmt::format("attribute dtype: {}", needed));
    }
    return dtype;
}

Status check_drawn_finite(const NodeData& node, const char* key, float fallback) {
    const float value = node.attr(key, fallback);
    if (!std::isfinite(value)) {
        return invalid_argument("attribute {} is out of range", key)
            .with_found(fmt::format("{}", value))
            .with_needed("a finite number");
    }
    return {};
}

Status check_random_normal(const NodeData& node) {
    LEAT_RETURN_IF_ERROR(check_drawn_finite(node, "mean", 0));
    LEAT_RETURN_IF_ERROR(check_drawn_finite(node, "scale", 1));
    if (node.attr("scale", 1.0F) < 0) {
        return invalid_argument("attribute scale is out of range")
            .with_found(fmt::format("{}", node.attr("scale", 1.0F)))
            .with_needed("a standard deviation >= 0");
    }
    return {};
}

Status check_random_uniform(const NodeData& node) {
    LEAT_RETURN_IF_ERROR(check_drawn_finite(node, "low", 0));
    LEAT_RETURN_IF_ERROR(check_drawn_finite(node, "high", 1));
    if (node.attr("low", 0.0F) > node.attr("high", 1.0F)) {
        return invalid_argument("attributes low and high are in the wrong order")
            .with_found(fmt::format("{} and {}", node.attr("low", 0.0F), node.attr("high", 1.0F)))
            .with_needed("low <= high");
    }
    return {};
}

template <Status (*kCheck)(const NodeData& node)>
Status infer_drawn(InferContext& context) {
    const NodeData& node = context.node();
    LEAT_RETURN_IF_ERROR(kCheck(node));
    LEAT_ASSIGN_OR_RETURN(const DType dtype,
                          drawn_dtype(node, DType::kFloat32, kFloatTypes, "f16, bf16, f32 or f64"));
    const std::vector<int64_t>* shape = node.ints("shape");
    if (shape == nullptr) {
        return invalid_argument("attribute shape is missing").with_needed("a list of extents");
    }
    LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(shape->size())));
    Dims dims;
    for (const int64_t extent : *shape) {
        if (extent < 0) {
            return invalid_argument("attribute shape has a negative extent")
                .with_found(fmt::format("{}", extent))
                .with_needed("extents >= 0");
        }
        dims.emplace_back(extent);
    }
    context.set_output(0, dtype, std::move(dims));
    return {};
}

template <Status (*kCheck)(const NodeData& node)>
Status infer_drawn_like(InferContext& context) {
    const NodeData& node = context.node();
    LEAT_RETURN_IF_ERROR(kCheck(node));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kLikeTypes, "input"));
    const TypeInfo& x = context.input(0);
    LEAT_ASSIGN_OR_RETURN(const DType dtype,
                          drawn_dtype(node, x.dtype, kFloatTypes, "f16, bf16, f32 or f64"));
    context.set_output(0, dtype, x.dims);
    return {};
}

Status infer_bernoulli(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    const TypeInfo& x = context.input(0);
    LEAT_ASSIGN_OR_RETURN(const DType dtype, drawn_dtype(context.node(), x.dtype, kBernoulliTypes,
                                                         "a type of numbers, or bool"));
    context.set_output(0, dtype, x.dims);
    return {};
}

Status infer_multinomial(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 2, "input"));
    LEAT_ASSIGN_OR_RETURN(const DType dtype,
                          drawn_dtype(context.node(), DType::kInt32,
                                      dtype_set(DType::kInt32, DType::kInt64), "i32 or i64"));
    const int64_t samples = context.node().attr("sample_size", int64_t{1});
    if (samples < 1) {
        return invalid_argument("attribute sample_size is out of range")
            .with_found(fmt::format("{}", samples))
            .with_needed("1 or more");
    }
    const TypeInfo& x = context.input(0);
    context.set_output(0, dtype,
                       Dims{x.dims ? (*x.dims)[0] : DimSpec::unknown(), DimSpec(samples)});
    return {};
}

// A block of random bits, and perhaps a logarithm.
Cost random_cost(const NodeData& /*node*/,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    return {50 * double(outputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kRandomNormalAttributes[] = {
    {.name = "dtype", .kind = AttributeKind::kInt},
    {.name = "mean", .kind = AttributeKind::kFloat},
    {.name = "scale", .kind = AttributeKind::kFloat},
    {.name = "seed", .kind = AttributeKind::kFloat},
    {.name = "shape", .kind = AttributeKind::kInts, .is_required = true},
};
constexpr AttributeSchema kRandomUniformAttributes[] = {
    {.name = "dtype", .kind = AttributeKind::kInt},
    {.name = "high", .kind = AttributeKind::kFloat},
    {.name = "low", .kind = AttributeKind::kFloat},
    {.name = "seed", .kind = AttributeKind::kFloat},
    {.name = "shape", .kind = AttributeKind::kInts, .is_required = true},
};
constexpr AttributeSchema kBernoulliAttributes[] = {
    {.name = "dtype", .kind = AttributeKind::kInt},
    {.name = "seed", .kind = AttributeKind::kFloat},
};
constexpr AttributeSchema kMultinomialAttributes[] = {
    {.name = "dtype", .kind = AttributeKind::kInt},
    {.name = "sample_size", .kind = AttributeKind::kInt},
    {.name = "seed", .kind = AttributeKind::kFloat},
};

// All but the shape, which stands last.
constexpr std::span<const AttributeSchema> without_shape(std::span<const AttributeSchema> all) {
    return all.first(all.size() - 1);
}

constexpr OpDef kRandomOps[] = {
    {.name = "Bernoulli",
     .attributes = kBernoulliAttributes,
     .infer = infer_bernoulli,
     .reference = bernoulli_reference,
     .cost = random_cost,
     .nondeterministic = true},
    {.name = "Multinomial",
     .attributes = kMultinomialAttributes,
     .infer = infer_multinomial,
     .reference = multinomial_reference,
     .cost = random_cost,
     .nondeterministic = true},
    {.name = "RandomNormal",
     .min_inputs = 0,
     .max_inputs = 0,
     .attributes = kRandomNormalAttributes,
     .infer = infer_drawn<check_random_normal>,
     .reference = random_normal_reference,
     .cost = random_cost,
     .nondeterministic = true},
    {.name = "RandomNormalLike",
     .attributes = without_shape(kRandomNormalAttributes),
     .infer = infer_drawn_like<check_random_normal>,
     .reference = random_normal_reference,
     .cost = random_cost,
     .nondeterministic = true},
    {.name = "RandomUniform",
     .min_inputs = 0,
     .max_inputs = 0,
     .attributes = kRandomUniformAttributes,
     .infer = infer_drawn<check_random_uniform>,
     .reference = random_uniform_reference,
     .cost = random_cost,
     .nondeterministic = true},
    {.name = "RandomUniformLike",
     .attributes = without_shape(kRandomUniformAttributes),
     .infer = infer_drawn_like<check_random_uniform>,
     .reference = random_uniform_reference,
     .cost = random_cost,
     .nondeterministic = true},
};

}  // namespace

std::span<const OpDef> random_ops() {
    return kRandomOps;
}

}  // namespace leat
