#include "ops/expand/expand.h"

#include "ops/movement/extents.h"

namespace leat {
namespace {

Status check_not_negative(const InferContext& context, const char* what) {
    for (const int64_t value : context.ints(1).value_or(std::vector<int64_t>())) {
        if (value < 0) {
            return invalid_argument("{} has a negative element", what)
                .with_found(fmt::format("{}", value))
                .with_needed(">= 0");
        }
    }
    return {};
}

Status infer_expand(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "the shape"));
    LEAT_RETURN_IF_ERROR(check_not_negative(context, "the shape"));
    const TypeInfo& x = context.input(0);
    std::optional<Dims> shape = context.extents(1);
    const int64_t length = shape ? int64_t(shape->size()) : known_length(context.input(1));
    LEAT_RETURN_IF_ERROR(check_output_rank(length));
    if (!shape && length >= 0) {
        shape = unknown_dims(length);
    }
    LEAT_ASSIGN_OR_RETURN(std::optional<Dims> dims,
                          broadcast_dims(x, TypeInfo::tensor(x.dtype, std::move(shape))));
    if (auto extents = context.extents(0); extents && extents->size() == 1 && dims) {
        const int64_t count = dims->empty() ? 1 : dims->size() == 1 ? (*dims)[0].extent() : -1;
        if (count >= 0 && count <= int64_t(kMaxTrackedExtents)) {
            track_extents(context, 0, x.dtype, Dims(size_t(count), (*extents)[0]));
        }
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

Status infer_tile(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "repeats"));
    LEAT_RETURN_IF_ERROR(check_not_negative(context, "repeats"));
    const TypeInfo& x = context.input(0);
    const int64_t length = known_length(context.input(1));
    if (x.dims && length >= 0 && length != x.rank()) {
        return invalid_argument("repeats does not fit the input")
            .with_found(fmt::format("{} elements", length))
            .with_needed(fmt::format("{}, one for each axis", x.rank()));
    }
    if (!x.dims) {
        LEAT_RETURN_IF_ERROR(check_output_rank(length));
        context.set_output(0, x.dtype,
                           length < 0 ? std::nullopt : std::optional<Dims>(unknown_dims(length)));
        return {};
    }
    const Dims repeats = context.extents(1).value_or(unknown_dims(x.rank()));
    Dims dims;
    for (size_t axis = 0; axis < x.dims->size(); ++axis) {
        dims.push_back(multiply_dims((*x.dims)[axis], repeats[axis]));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// The shape and the repeats may be the shard's own: the extents of x and the result say as much.
bool repeats_give_rows(const ShardArgs& args) {
    const Shape& result = args.outputs[0].shape;
    return args.parts[1] != ShardPart::kRows &&
           broadcasts_to_rows(args.inputs[0], args.parts[0], result);
}

constexpr OpDef kExpandOps[] = {
    {.name = "Expand",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_expand,
     .reference = expand_reference,
     .shape_inputs = 0b10,
     .gives_rows = repeats_give_rows,
     .layout_rule = LayoutRule::kAgnostic},
    {.name = "Tile",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_tile,
     .reference = tile_reference,
     .shape_inputs = 0b10,
     .gives_rows = repeats_give_rows,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

Strides broadcast_strides(const TensorArg& x, const Shape& y) {
    Strides strides{};
    const int added = y.rank() - x.shape.rank();
    for (int axis = added; axis < y.rank(); ++axis) {
        const int own = axis - added;
        strides[size_t(axis)] = x.shape[own] == 1 ? 0 : x.strides[size_t(own)];
    }
    return strides;
}

std::span<const OpDef> expand_ops() {
    return kExpandOps;
}

}  // namespace leat
