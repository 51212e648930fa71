#include "ops/gather/gather.h"

#include "ops/movement/extents.h"
#include "ops/roofline.h"

namespace leat {
namespace {

// Picks from a shape vector.
void gather_extents(InferContext& context) {
    const TypeInfo& indices = context.input(1);
    if (context.input(0).rank() != 1 || indices.rank() > 1 || indices.rank() < 0) {
        return;
    }
    const auto all = context.extents(0);
    const auto picks = all ? context.ints(1) : std::nullopt;
    if (!picks) {
        return;
    }
    Dims picked;
    for (const int64_t pick : *picks) {
        const int64_t index = normalize_index(pick, int64_t(all->size()));
        if (index < 0) {
            return;
        }
        picked.push_back((*all)[size_t(index)]);
    }
    track_extents(context, 0, context.input(0).dtype, std::move(picked));
}

}  // namespace

Status check_known_indices(const InferContext& context, int64_t first_axis, int64_t depth) {
    const Tensor* const indices = context.value(1);
    const std::optional<Dims>& dims = context.input(0).dims;
    if (indices == nullptr || !dims) {
        return {};
    }
    const TensorArg elements = arg_of(*indices);
    const int64_t count = indices->element_count();
    for (int64_t i = 0; i < count; ++i) {
        const DimSpec& dim = (*dims)[size_t(first_axis + i % depth)];
        if (dim.is_fixed() && normalize_index(index_at(elements, i), dim.extent()) < 0) {
            return index_error(context.node().label(), index_at(elements, i), dim.extent());
        }
    }
    return {};
}

namespace {

Status infer_gather(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "indices"));
    const TypeInfo& x = context.input(0);
    const TypeInfo& indices = context.input(1);
    if (!x.dims || !indices.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    if (x.rank() == 0) {
        return invalid_argument("the data is a scalar").with_needed("rank >= 1");
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank()));
    LEAT_RETURN_IF_ERROR(check_output_rank(x.rank() - 1 + indices.rank()));
    LEAT_RETURN_IF_ERROR(check_known_indices(context, axis, 1));
    Dims dims;
    dims.reserve(x.dims->size() - 1 + indices.dims->size());
    dims.assign(x.dims->begin(), x.dims->begin() + axis);
    dims.insert(dims.end(), indices.dims->begin(), indices.dims->end());
    dims.insert(dims.end(), x.dims->begin() + axis + 1, x.dims->end());
    gather_extents(context);
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

Status infer_gather_elements(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "indices"));
    const TypeInfo& x = context.input(0);
    const TypeInfo& indices = context.input(1);
    if (x.dims && indices.dims) {
        if (x.rank() != indices.rank() || x.rank() == 0) {
            return invalid_argument("data and indices must have one rank, at least 1")
                .with_found(fmt::format("{} and {}", x.to_string(), indices.to_string()));
        }
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank()));
        for (int i = 0; i < x.rank(); ++i) {
            const DimSpec& whole = (*x.dims)[size_t(i)];
            const DimSpec& part = (*indices.dims)[size_t(i)];
            if (i != axis && whole.is_fixed() && part.is_fixed() &&
                part.extent() > whole.extent()) {
                return invalid_argument("indices exceed the data on axis {}", i)
                    .with_found(fmt::format("{}", part.extent()))
                    .with_needed(fmt::format("at most {}", whole.extent()));
            }
        }
        LEAT_RETURN_IF_ERROR(check_known_indices(context, axis, 1));
    }
    context.set_output(0, x.dtype, indices.dims);
    return {};
}

Status check_batches(const TypeInfo& x, const TypeInfo& indices, int64_t batch_dims) {
    for (int64_t i = 0; i < batch_dims; ++i) {
        LEAT_RETURN_IF_ERROR(merge_dims((*x.dims)[size_t(i)], (*indices.dims)[size_t(i)],
                                        fmt::format("batch axis {}", i))
                                 .error());
    }
    return {};
}

Status infer_gather_nd(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "indices"));
    const TypeInfo& x = context.input(0);
    const TypeInfo& indices = context.input(1);
    const int64_t batch_dims = context.node().attr("batch_dims", int64_t{0});
    if (!x.dims || !indices.dims || indices.rank() == 0 || !indices.dims->back().is_fixed()) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    const int64_t depth = indices.dims->back().extent();
    if (batch_dims < 0 || batch_dims >= indices.rank() || batch_dims + depth > x.rank()) {
        return invalid_argument("positions of {} indices after {} batch axes do not fit", depth,
                                batch_dims)
            .with_found(fmt::format("data {}, indices {}", x.to_string(), indices.to_string()))
            .with_needed("batch_dims + indices of a position <= rank of the data");
    }
    LEAT_RETURN_IF_ERROR(check_batches(x, indices, batch_dims));
    LEAT_RETURN_IF_ERROR(check_known_indices(context, batch_dims, depth));
    Dims dims(indices.dims->begin(), indices.dims->end() - 1);
    dims.insert(dims.end(), x.dims->begin() + batch_dims + depth, x.dims->end());
    LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(dims.size())));
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// Only what is picked is read.
Cost gather_cost(const NodeData& /*node*/,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    const TensorArg& y = outputs[0];
    const int64_t moved = 2 * bytes_of(y);
    return {0, moved + inputs[1].shape.element_count() * 8};
}

bool are_rows(const ShardArgs& args, size_t i) {
    return args.parts[i] == ShardPart::kRows;
}

bool are_whole(const ShardArgs& args, size_t i) {
    return args.parts[i] == ShardPart::kWhole;
}

// Either each row of the data is read on its own, or the rows of the indices read one table.
bool gather_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.inputs[0].shape.rank());
    if (!axis.ok()) {
        return false;
    }
    return *axis != 0 ? are_rows(args, 0) && are_whole(args, 1)
                      : are_whole(args, 0) && are_rows(args, 1);
}

bool gather_elements_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.inputs[0].shape.rank());
    if (!axis.ok() || !are_rows(args, 1)) {
        return false;
    }
    return *axis == 0 ? are_whole(args, 0)
                      : are_rows(args, 0) && args.inputs[0].shape[0] == args.inputs[1].shape[0];
}

bool gather_nd_gives_rows(const ShardArgs& args) {
    const bool has_batch_axes = args.node.attr("batch_dims", int64_t{0}) > 0;
    const bool has_positions = args.inputs[1].shape.rank() >= 2;
    return has_positions && are_rows(args, 1) &&
           (has_batch_axes ? are_rows(args, 0) : are_whole(args, 0));
}

constexpr AttributeSchema kGatherAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

constexpr AttributeSchema kGatherNdAttributes[] = {
    {.name = "batch_dims", .kind = AttributeKind::kInt, .since = 12},
};

constexpr OpDef kGatherOps[] = {
    {.name = "Gather",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kGatherAttributes,
     .infer = infer_gather,
     .reference = gather_reference,
     .cost = gather_cost,
     .gives_rows = gather_gives_rows},
    {.name = "GatherElements",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kGatherAttributes,
     .infer = infer_gather_elements,
     .reference = gather_elements_reference,
     .cost = gather_cost,
     .gives_rows = gather_elements_gives_rows},
    {.name = "GatherND",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kGatherNdAttributes,
     .infer = infer_gather_nd,
     .reference = gather_nd_reference,
     .cost = gather_cost,
     .gives_rows = gather_nd_gives_rows},
};

}  // namespace

std::span<const OpDef> gather_ops() {
    return kGatherOps;
}

}  // namespace leat
