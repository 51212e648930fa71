#include "ops/scatter/scatter.h"

#include <algorithm>

#include "ops/elementwise/element_access.h"
#include "ops/gather/gather.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

Status check_common(const InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "indices"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
    const std::string reduction = context.node().attr("reduction", "none");
    if (reduction == "none") {
        return {};
    }
    if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min") {
        return invalid_argument("attribute reduction has no such value")
            .with_found(reduction)
            .with_needed("none, add, mul, max or min");
    }
    return require_dtype(context, 0, kRealTypes, "data");
}

Status check_updates(const TypeInfo& updates, const Dims& needed) {
    if (updates.rank() != int(needed.size())) {
        return invalid_argument("the updates have a wrong rank")
            .with_found(updates.to_string())
            .with_needed(fmt::format("rank {}", needed.size()));
    }
    for (size_t axis = 0; axis < needed.size(); ++axis) {
        const DimSpec& found = (*updates.dims)[axis];
        if (found.is_fixed() && needed[axis].is_fixed() &&
            found.extent() != needed[axis].extent()) {
            return invalid_argument("axis {} of the updates does not fit", axis)
                .with_found(fmt::format("extent {}", found.extent()))
                .with_needed(fmt::format("extent {}", needed[axis].extent()));
        }
    }
    return {};
}

Status infer_scatter_nd(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_common(context));
    const TypeInfo& data = context.input(0);
    const TypeInfo& indices = context.input(1);
    const TypeInfo& updates = context.input(2);
    context.set_output(0, data);
    if (indices.rank() == 0) {
        return invalid_argument("the indices are a scalar").with_needed("rank >= 1");
    }
    if (!data.dims || !indices.dims || !updates.dims || !indices.dims->back().is_fixed()) {
        return {};
    }
    const int64_t depth = indices.dims->back().extent();
    if (depth > data.rank()) {
        return invalid_argument("a position has more indices than the data has axes")
            .with_found(fmt::format("{}", depth))
            .with_needed(fmt::format("at most {}", data.rank()));
    }
    LEAT_RETURN_IF_ERROR(check_known_indices(context, 0, depth));
    Dims needed(indices.dims->begin(), indices.dims->end() - 1);
    needed.insert(needed.end(), data.dims->begin() + depth, data.dims->end());
    return check_updates(updates, needed);
}

Status infer_scatter_elements(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_common(context));
    const TypeInfo& data = context.input(0);
    const TypeInfo& indices = context.input(1);
    const TypeInfo& updates = context.input(2);
    context.set_output(0, data);
    if (!data.dims || !indices.dims || !updates.dims) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_updates(updates, *indices.dims));
    if (data.rank() != indices.rank()) {
        return invalid_argument("data and indices have different ranks")
            .with_found(fmt::format("{} and {}", data.to_string(), indices.to_string()))
            .with_needed("one rank");
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), data.rank()));
    for (int i = 0; i < data.rank(); ++i) {
        const DimSpec& whole = (*data.dims)[size_t(i)];
        const DimSpec& part = (*indices.dims)[size_t(i)];
        if (i != axis && whole.is_fixed() && part.is_fixed() && part.extent() > whole.extent()) {
            return invalid_argument("indices exceed the data on axis {}", i)
                .with_found(fmt::format("{}", part.extent()))
                .with_needed(fmt::format("at most {}", whole.extent()));
        }
    }
    return check_known_indices(context, axis, 1);
}

bool scatter_elements_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.inputs[0].shape.rank());
    return axis.ok() && *axis != 0 && args.inputs[0].shape[0] == args.inputs[1].shape[0] &&
           std::all_of(args.parts.begin(), args.parts.end(),
                       [](ShardPart part) { return part == ShardPart::kRows; });
}

constexpr AttributeSchema kScatterNdAttributes[] = {
    {.name = "reduction", .kind = AttributeKind::kString, .since = 16},
};

constexpr AttributeSchema kScatterElementsAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "reduction", .kind = AttributeKind::kString, .since = 16},
};

constexpr OpDef kScatterOps[] = {
    {.name = "ScatterND",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kScatterNdAttributes,
     .infer = infer_scatter_nd,
     .reference = scatter_nd_reference,
     .in_place_inputs = 0b1},
    {.name = "ScatterElements",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kScatterElementsAttributes,
     .infer = infer_scatter_elements,
     .reference = scatter_elements_reference,
     .in_place_inputs = 0b1,
     .gives_rows = scatter_elements_gives_rows},
};

}  // namespace

std::span<const OpDef> scatter_ops() {
    return kScatterOps;
}

}  // namespace leat
