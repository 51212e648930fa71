#include "ops/tensor_scatter/tensor_scatter.h"

#include <algorithm>

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Result<bool> is_circular_mode(const NodeData& node) {
    const std::string mode = node.attr("mode", "linear");
    if (mode != "linear" && mode != "circular") {
        return invalid_argument("attribute mode has no such value")
            .with_found(mode)
            .with_needed("linear or circular");
    }
    return mode == "circular";
}

Result<int> cache_axis(const NodeData& node, int rank) {
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node, rank, -2));
    if (axis == 0) {
        return invalid_argument("attribute axis is that of the batch")
            .with_found(fmt::format("{} of rank {}", node.attr("axis", int64_t{-2}), rank))
            .with_needed("another axis than the first");
    }
    return axis;
}

// The cache's extents, with what the update's say of them.
Result<Dims> updated_dims(const InferContext& context) {
    Dims dims = *context.input(0).dims;
    const Dims& update = *context.input(1).dims;
    if (update.size() != dims.size()) {
        return invalid_argument("cache and update have different ranks")
            .with_found(fmt::format("{} and {}", context.input(0).to_string(),
                                    context.input(1).to_string()))
            .with_needed("one rank");
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, cache_axis(context.node(), int(dims.size())));
    for (size_t i = 0; i < dims.size(); ++i) {
        if (int(i) != axis) {
            LEAT_ASSIGN_OR_RETURN(
                dims[i],
                merge_dims(dims[i], update[i], fmt::format("axis {} of cache and update", i)));
        } else if (dims[i].is_fixed() && update[i].is_fixed() &&
                   update[i].extent() > dims[i].extent()) {
            return invalid_argument("the update is longer than the cache")
                .with_found(fmt::format("extent {} on axis {}", update[i].extent(), i))
                .with_needed(fmt::format("at most {}", dims[i].extent()));
        }
    }
    return dims;
}

Status infer_tensor_scatter(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    LEAT_RETURN_IF_ERROR(is_circular_mode(context.node()).error());
    TypeInfo y = context.input(0);
    if (y.dims) {
        LEAT_RETURN_IF_ERROR(cache_axis(context.node(), y.rank()).error());
    }
    if (y.dims && context.input(1).dims) {
        LEAT_ASSIGN_OR_RETURN(y.dims, updated_dims(context));
    }
    if (context.has_input(2)) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 2, dtype_bit(DType::kInt64), "write_indices"));
        LEAT_RETURN_IF_ERROR(require_rank(context, 2, 1, "write_indices"));
        if (y.dims && context.input(2).dims) {
            LEAT_ASSIGN_OR_RETURN(y.dims->front(),
                                  merge_dims(y.dims->front(), (*context.input(2).dims)[0],
                                             "the extent of the batch and of write_indices"));
        }
    }
    context.set_output(0, std::move(y));
    return {};
}

bool tensor_scatter_gives_rows(const ShardArgs& args) {
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        if (args.inputs[i].present() && args.parts[i] != ShardPart::kRows) {
            return false;
        }
    }
    return true;
}

// With the copy of what stays, which planning in place avoids.
Cost tensor_scatter_cost(const NodeData& /*node*/,
                         std::span<const TensorArg> inputs,
                         std::span<const TensorArg> outputs) {
    return {0, moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kTensorScatterAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "mode", .kind = AttributeKind::kString},
};

constexpr OpDef kTensorScatterOps[] = {
    {.name = "TensorScatter",
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kTensorScatterAttributes,
     .infer = infer_tensor_scatter,
     .reference = tensor_scatter_reference,
     .cost = tensor_scatter_cost,
     .in_place_inputs = 0b1,
     .gives_rows = tensor_scatter_gives_rows},
};

}  // namespace

Result<CacheUpdate> CacheUpdate::make(const NodeData& node,
                                      const Shape& cache,
                                      const Shape& update) {
    LEAT_ASSIGN_OR_RETURN(const int axis, cache_axis(node, cache.rank()));
    CacheUpdate made;
    LEAT_ASSIGN_OR_RETURN(made.is_circular, is_circular_mode(node));
    made.cache = AxisSplit::make(cache, axis);
    made.update_extent = update[axis];
    made.blocks_per_sample = cache.element_count(1, axis);
    return made;
}

Result<int64_t> CacheUpdate::first_position(const TensorArg* indices, int64_t sample) const {
    int64_t position = indices == nullptr ? 0 : indices->as<const int64_t>()[sample];
    if (is_circular && cache.extent > 0) {
        position %= cache.extent;
        return position < 0 ? position + cache.extent : position;
    }
    if (position < 0 || position > cache.extent - update_extent) {
        return invalid_argument("write_indices leaves the cache at {}", sample)
            .with_found(fmt::format("{} for {} positions", position, update_extent))
            .with_needed(fmt::format("0 to {}", cache.extent - update_extent));
    }
    return position;
}

std::span<const OpDef> tensor_scatter_ops() {
    return kTensorScatterOps;
}

}  // namespace leat
