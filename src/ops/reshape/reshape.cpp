#include "ops/reshape/reshape.h"

#include <algorithm>

#include "base/inline_vector.h"
#include "graph/dim_symbol.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kDroppedTypes = kFloatTypes | (kByteFloatTypes & ~dtype_bit(DType::kFloat8E8M0));

// all / part, if it is known for certain.
DimSpec quotient(const DimProduct& all, const DimProduct& part) {
    if (!all.is_known || !part.is_known || part.number == 0 || all.number % part.number != 0) {
        return DimSpec::unknown();
    }
    std::vector<DimSpec> factors = all.factors;
    for (const DimSpec& factor : part.factors) {
        const auto found = std::find_if(factors.begin(), factors.end(), [&](const DimSpec& other) {
            return same_dim(factor, other);
        });
        if (found == factors.end()) {
            return DimSpec::unknown();
        }
        factors.erase(found);
    }
    DimSpec result = DimSpec(all.number / part.number);
    for (const DimSpec& factor : factors) {
        result = multiply_dims(result, factor);
    }
    return result;
}

std::string dims_text(const Dims& dims) {
    const std::string text = TypeInfo::tensor(DType::kUndefined, dims).to_string();
    return text.substr(text.find('['));
}

// An extent of Reshape's shape operand as given: a number >= 0, or a name, or unknown; or "infer".
struct Requested {
    Dims dims;
    int inferred_axis = -1;
    InlineVector<uint8_t, 16> kept;  // not 0: the extent of the same axis of x
};

Result<Requested> read_request(const std::vector<int64_t>& shape,
                               const TypeInfo& x,
                               bool allow_zero) {
    Requested request;
    request.dims.reserve(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t extent = shape[i];
        request.kept.push_back(uint8_t(extent == 0 && !allow_zero));
        if (extent == -1) {
            if (request.inferred_axis >= 0) {
                return invalid_argument("the shape has two extents of -1");
            }
            request.inferred_axis = int(i);
            request.dims.push_back(DimSpec::unknown());
        } else if (extent < 0) {
            return invalid_argument("the shape has a negative extent")
                .with_found(fmt::format("{}", extent))
                .with_needed("extents >= -1");
        } else if (request.kept.back() == 0) {
            request.dims.emplace_back(extent);
        } else if (!x.dims) {
            request.dims.push_back(DimSpec::unknown());
        } else if (int(i) >= x.rank()) {
            return invalid_argument("the shape keeps axis {}, which the input has not", i)
                .with_found(fmt::format("input of rank {}", x.rank()))
                .with_needed("0 only at axes of the input");
        } else {
            request.dims.push_back((*x.dims)[i]);
        }
    }
    return request;
}

// Products over the axes of x and of the request, without kept axes, which cancel.
void products(const Requested& request, const Dims& x, DimProduct* all, DimProduct* part) {
    for (size_t i = 0; i < std::max(x.size(), request.dims.size()); ++i) {
        if (i < request.kept.size() && request.kept[i] != 0) {
            continue;
        }
        if (i < x.size()) {
            all->multiply(x[i]);
        }
        if (i < request.dims.size() && int(i) != request.inferred_axis) {
            part->multiply(request.dims[i]);
        }
    }
}

// A kept extent of zero: whatever the other extents, both tensors have no elements.
bool keeps_zero(const Requested& request) {
    for (size_t i = 0; i < request.dims.size(); ++i) {
        if (request.kept[i] != 0 && request.dims[i].extent() == 0) {
            return true;
        }
    }
    return false;
}

// Sets the -1 extent and checks the number of elements.
Status complete_request(Requested& request, const TypeInfo& x) {
    if (!x.dims) {
        return {};
    }
    DimProduct all;
    DimProduct part;
    products(request, *x.dims, &all, &part);
    const bool certain =
        all.is_known && part.is_known && all.factors.empty() && part.factors.empty();
    if (certain && part.overflows) {
        return invalid_argument("the shape is too large: the product of its extents overflows")
            .with_found(dims_text(request.dims))
            .with_needed("fewer than 2^63 elements");
    }
    if (request.inferred_axis >= 0) {
        if (certain && !all.overflows && (part.number == 0 || all.number % part.number != 0)) {
            return invalid_argument(
                       "the extent of -1 cannot be inferred: {} elements do not divide by {}",
                       all.number, part.number)
                .with_found(dims_text(*x.dims))
                .with_needed(dims_text(request.dims));
        }
        request.dims[size_t(request.inferred_axis)] =
            all.overflows ? DimSpec::unknown() : quotient(all, part);
        return {};
    }
    if (certain && !all.overflows && all.number != part.number && !keeps_zero(request)) {
        return invalid_argument("a reshape keeps the number of elements")
            .with_found(dims_text(*x.dims))
            .with_needed(dims_text(request.dims));
    }
    return {};
}

// The elements stay, so what is known about them does too.
void forward_extents(InferContext& context, const std::optional<Dims>& dims) {
    if (auto extents = context.extents(0); extents && dims && dims->size() <= 1) {
        track_extents(context, 0, context.input(0).dtype, std::move(*extents));
    }
}

Status infer_reshape(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "the shape"));
    const TypeInfo& x = context.input(0);
    std::optional<Dims> dims;
    if (const auto shape = context.ints(1)) {
        LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(shape->size())));
        LEAT_ASSIGN_OR_RETURN(
            Requested request,
            read_request(*shape, x, context.node().attr("allowzero", int64_t{0}) != 0));
        LEAT_RETURN_IF_ERROR(complete_request(request, x));
        dims = std::move(request.dims);
    } else if (auto extents = context.extents(1)) {
        // An unknown element may be -1 and a zero may keep an extent: only positive ones and names
        // count.
        for (DimSpec& dim : *extents) {
            if (dim.is_fixed() && dim.extent() == 0) {
                dim = DimSpec::unknown();
            }
        }
        dims = std::move(extents);
    } else if (const int64_t rank = known_length(context.input(1)); rank >= 0) {
        dims = unknown_dims(rank);
    }
    if (dims) {
        LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(dims->size())));
    }
    forward_extents(context, dims);
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

Status infer_flatten(InferContext& context) {
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, x.dtype, unknown_dims(2));
        return {};
    }
    int64_t axis = context.node().attr("axis", int64_t{1});
    const int rank = x.rank();
    if (axis < -rank || axis > rank) {
        return invalid_argument("axis is out of range")
            .with_found(fmt::format("{}", axis))
            .with_needed(fmt::format("{} to {}", -rank, rank));
    }
    axis = axis < 0 ? axis + rank : axis;
    Dims dims = {DimSpec(1), DimSpec(1)};
    for (int i = 0; i < rank; ++i) {
        DimSpec& dim = dims[i < axis ? 0 : 1];
        dim = multiply_dims(dim, (*x.dims)[size_t(i)]);
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

Result<std::optional<Dims>> squeezed(const InferContext& context) {
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        return std::optional<Dims>();
    }
    std::vector<bool> drop(size_t(x.rank()), false);
    if (context.has_input(1)) {
        const auto axes = context.ints(1);
        if (!axes) {
            const int64_t count = known_length(context.input(1));
            return count < 0 || count > x.rank()
                       ? std::optional<Dims>()
                       : std::optional<Dims>(unknown_dims(x.rank() - count));
        }
        LEAT_ASSIGN_OR_RETURN(const std::vector<int> normal, normalize_axes(*axes, x.rank()));
        for (const int axis : normal) {
            const DimSpec& dim = (*x.dims)[size_t(axis)];
            if (dim.is_fixed() && dim.extent() != 1) {
                return invalid_argument("axis {} cannot be squeezed", axis)
                    .with_found(fmt::format("extent {}", dim.extent()))
                    .with_needed("extent 1");
            }
            drop[size_t(axis)] = true;
        }
    } else if (!all_fixed(*x.dims)) {
        return std::optional<Dims>();
    } else {
        for (size_t i = 0; i < drop.size(); ++i) {
            drop[i] = (*x.dims)[i].extent() == 1;
        }
    }
    Dims dims;
    dims.reserve(drop.size());
    for (size_t i = 0; i < drop.size(); ++i) {
        if (!drop[i]) {
            dims.push_back((*x.dims)[i]);
        }
    }
    return std::optional<Dims>(std::move(dims));
}

Status infer_squeeze(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(std::optional<Dims> dims, squeezed(context));
    forward_extents(context, dims);
    context.set_output(0, context.input(0).dtype, std::move(dims));
    return {};
}

Result<std::optional<Dims>> unsqueezed(const InferContext& context) {
    const TypeInfo& x = context.input(0);
    const auto axes = context.ints(1);
    const int64_t count = axes ? int64_t(axes->size()) : known_length(context.input(1));
    if (!x.dims || count < 0) {
        return std::optional<Dims>();
    }
    const int64_t rank = x.rank() + count;
    LEAT_RETURN_IF_ERROR(check_output_rank(rank));
    if (!axes) {
        return std::optional<Dims>(unknown_dims(rank));
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<int> normal, normalize_axes(*axes, int(rank)));
    std::vector<bool> is_new(size_t(rank), false);
    for (const int axis : normal) {
        is_new[size_t(axis)] = true;
    }
    Dims dims;
    size_t next = 0;
    for (const bool added : is_new) {
        dims.push_back(added ? DimSpec(1) : (*x.dims)[next++]);
    }
    return std::optional<Dims>(std::move(dims));
}

Status infer_unsqueeze(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(std::optional<Dims> dims, unsqueezed(context));
    forward_extents(context, dims);
    context.set_output(0, context.input(0).dtype, std::move(dims));
    return {};
}

Status infer_identity(InferContext& context) {
    context.set_output(0, context.input(0));
    if (context.input(0).is_tensor()) {
        forward_extents(context, context.input(0).dims);
    }
    return {};
}

Status infer_dropout(InferContext& context) {
    const TypeInfo& x = context.input(0);
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kDroppedTypes, "ratio"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 2, dtype_bit(DType::kBool), "training_mode"));
    for (const int i : {1, 2}) {
        if (context.has_input(i) && !may_have_one_element(context.input(i))) {
            return invalid_argument("input {} must have one element", i)
                .with_found(context.input(i).to_string());
        }
    }
    const auto operand = [&context](int i) {
        const Tensor* value = context.value(i);
        return value == nullptr ? TensorArg{} : arg_of(*value);
    };
    // An operand that is given, but not known yet, is checked when the kernel runs.
    const bool is_known =
        context.value(2) != nullptr && (!context.has_input(1) || context.value(1) != nullptr);
    if (is_known) {
        LEAT_ASSIGN_OR_RETURN(const double ratio, dropped_ratio(operand(1), operand(2)));
        if (ratio > 0) {
            LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kDroppedTypes, "data"));
        }
    }
    context.set_output(0, x);
    if (context.has_output(1)) {
        context.set_output(1, DType::kBool, x.dims);
    }
    return {};
}

// Which elements are dropped depends on all of them.
bool dropout_gives_rows(const ShardArgs& args) {
    return find_arg(args.inputs, 2) == nullptr && rows_of_first_input(args);
}

constexpr AttributeSchema kReshapeAttributes[] = {
    {.name = "allowzero", .kind = AttributeKind::kInt, .since = 14},
    {.name = "shape", .kind = AttributeKind::kInts, .before = 5},
};

constexpr AttributeSchema kFlattenAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

constexpr AttributeSchema kSqueezeAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts, .before = 13},
};

constexpr AttributeSchema kUnsqueezeAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts, .before = 13, .is_required = true},
};

constexpr AttributeSchema kDropoutAttributes[] = {
    {.name = "is_test", .kind = AttributeKind::kInt, .before = 7},
    {.name = "ratio", .kind = AttributeKind::kFloat, .before = 12},
    {.name = "seed", .kind = AttributeKind::kInt, .since = 12},
};

constexpr OpDef kReshapeOps[] = {
    {.name = "Reshape",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kReshapeAttributes,
     .infer = infer_reshape,
     .reference = view_reference,
     .shape_inputs = 0b10,
     .gives_rows = rows_of_view,
     .is_view = true},
    {.name = "Flatten",
     .attributes = kFlattenAttributes,
     .infer = infer_flatten,
     .reference = view_reference,
     .gives_rows = rows_of_view,
     .is_view = true},
    {.name = "Squeeze",
     .max_inputs = 2,
     .attributes = kSqueezeAttributes,
     .infer = infer_squeeze,
     .reference = view_reference,
     .shape_inputs = 0b10,
     .gives_rows = rows_of_view,
     .is_view = true},
    {.name = "Unsqueeze",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kUnsqueezeAttributes,
     .infer = infer_unsqueeze,
     .reference = view_reference,
     .shape_inputs = 0b10,
     .gives_rows = rows_of_view,
     .is_view = true},
    {.name = "Identity",
     .infer = infer_identity,
     .reference = view_reference,
     .gives_rows = rows_of_view,
     .is_view = true},
    {.name = "Dropout",
     .max_inputs = 3,
     .max_outputs = 2,
     .attributes = kDropoutAttributes,
     .infer = infer_dropout,
     .reference = dropout_reference,
     .in_place_inputs = 0b1,
     .gives_rows = dropout_gives_rows,
     .nondeterministic = true},
};

}  // namespace

std::span<const OpDef> reshape_ops() {
    return kReshapeOps;
}

}  // namespace leat
