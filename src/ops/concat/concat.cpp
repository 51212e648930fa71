#include "ops/concat/concat.h"

#include <algorithm>

#include "ops/movement/boxes.h"
#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status check_concat_types(const InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_all_inputs(context));
    const DType dtype = context.input(0).dtype;
    for (int i = 1; i < context.input_count(); ++i) {
        const DType other = context.input(i).dtype;
        if (other != dtype && other != DType::kUndefined && dtype != DType::kUndefined) {
            return invalid_argument("input {} has another type than input 0", i)
                .with_found(std::string(name_of(other)))
                .with_needed(std::string(name_of(dtype)));
        }
    }
    return {};
}

// Extents of a vector that is the concatenation of vectors of extents.
void join_extents(InferContext& context) {
    Dims all;
    for (int i = 0; i < context.input_count(); ++i) {
        auto extents = context.extents(i);
        if (!extents) {
            // Parts of known length keep the other parts useful.
            const int64_t length = known_length(context.input(i));
            if (length < 0 || length > int64_t(kMaxTrackedExtents)) {
                return;
            }
            extents = unknown_dims(length);
        }
        all.insert(all.end(), extents->begin(), extents->end());
    }
    track_extents(context, 0, context.input(0).dtype, std::move(all));
}

// Axis i of the result when input `other` joins.
Status join_axis(const InferContext& context, int other, size_t i, bool is_joined, Dims& dims) {
    const DimSpec& dim = (*context.input(other).dims)[i];
    if (is_joined) {
        dims[i] = add_dims(dims[i], dim);
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(
        dims[i],
        merge_dims(dims[i], dim, fmt::format("axis {} of input {} and those before", i, other)));
    return {};
}

Status infer_concat(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_concat_types(context));
    const DType dtype = context.input(0).dtype;
    std::optional<Dims> dims;
    bool complete = true;
    int64_t axis = 0;
    for (int i = 0; i < context.input_count(); ++i) {
        const TypeInfo& x = context.input(i);
        if (!x.dims) {
            complete = false;
            continue;
        }
        if (x.rank() == 0) {
            return invalid_argument("input {} is a scalar", i).with_needed("rank >= 1");
        }
        if (!dims) {
            LEAT_ASSIGN_OR_RETURN(axis, axis_of(context.node(), x.rank()));
            dims = x.dims;
            continue;
        }
        if (size_t(x.rank()) != dims->size()) {
            return invalid_argument("input {} has another rank than those before", i)
                .with_found(x.to_string())
                .with_needed(fmt::format("rank {}", dims->size()));
        }
        for (size_t a = 0; a < dims->size(); ++a) {
            LEAT_RETURN_IF_ERROR(join_axis(context, i, a, int64_t(a) == axis, *dims));
        }
    }
    if (dims && !complete) {
        (*dims)[size_t(axis)] = DimSpec::unknown();
    }
    if (dims && dims->size() == 1) {
        join_extents(context);
    }
    context.set_output(0, dtype, std::move(dims));
    return {};
}

std::vector<CopiedBox> concat_boxes(const NodeData& node,
                                    std::span<const TensorArg> inputs,
                                    std::span<const TensorArg> /*outputs*/) {
    return boxes_along(node.attr("axis", int64_t{0}), inputs, /*is_output_whole=*/true);
}

bool concat_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.outputs[0].shape.rank());
    return axis.ok() && *axis != 0 &&
           std::all_of(args.parts.begin(), args.parts.end(),
                       [](ShardPart part) { return part == ShardPart::kRows; });
}

constexpr AttributeSchema kConcatAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt, .before = 4},
    {.name = "axis", .kind = AttributeKind::kInt, .since = 4, .is_required = true},
};

constexpr OpDef kConcatOps[] = {
    {.name = "Concat",
     .max_inputs = -1,
     .attributes = kConcatAttributes,
     .infer = infer_concat,
     .reference = concat_reference,
     .copied_boxes = concat_boxes,
     .gives_rows = concat_gives_rows,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

std::span<const OpDef> concat_ops() {
    return kConcatOps;
}

}  // namespace leat
