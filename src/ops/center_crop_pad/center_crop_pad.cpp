#include "ops/center_crop_pad/center_crop_pad.h"

#include <algorithm>
#include <numeric>

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Result<std::vector<int>> cropped_axes(const NodeData& node, int rank) {
    if (const std::vector<int64_t>* const axes = node.ints("axes")) {
        return normalize_axes(*axes, rank);
    }
    std::vector<int> all(static_cast<size_t>(rank));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Status infer_center_crop_pad(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "the shape"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 1, "shape"));
    const auto shape = context.ints(1);
    if (shape && std::any_of(shape->begin(), shape->end(), [](int64_t x) { return x < 0; })) {
        return invalid_argument("the shape has a negative extent")
            .with_found(fmt::format("{}", *std::min_element(shape->begin(), shape->end())))
            .with_needed(">= 0");
    }
    const TypeInfo& x = context.input(0);
    const std::vector<int64_t>* const given = context.node().ints("axes");
    const int64_t length = known_length(context.input(1));
    if (!x.dims) {
        // Without axes there is an extent for each.
        const bool has_rank = given == nullptr && length >= 0;
        LEAT_RETURN_IF_ERROR(check_output_rank(has_rank ? length : 0));
        std::optional<Dims> dims;
        if (has_rank) {
            dims = context.extents(1).value_or(unknown_dims(length));
        }
        context.set_output(0, x.dtype, std::move(dims));
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<int> axes, cropped_axes(context.node(), x.rank()));
    if (length >= 0 && length != int64_t(axes.size())) {
        return invalid_argument("the shape does not fit the axes")
            .with_found(fmt::format("{} elements", length))
            .with_needed(fmt::format("{}, one for each axis", axes.size()));
    }
    const Dims extents = context.extents(1).value_or(unknown_dims(int64_t(axes.size())));
    Dims dims = *x.dims;
    for (size_t i = 0; i < axes.size() && i < extents.size(); ++i) {
        dims[size_t(axes[i])] = extents[i];
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

bool center_crop_pad_gives_rows(const ShardArgs& args) {
    return rows_of_first_input(args) && args.inputs[0].shape[0] == args.outputs[0].shape[0];
}

constexpr AttributeSchema kCenterCropPadAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts},
};

constexpr OpDef kCenterCropPadOps[] = {
    {.name = "CenterCropPad",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kCenterCropPadAttributes,
     .infer = infer_center_crop_pad,
     .reference = center_crop_pad_reference,
     .shape_inputs = 0b10,
     .gives_rows = center_crop_pad_gives_rows,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

CenterBox CenterBox::make(const Shape& x, const Shape& y) {
    CenterBox box;
    for (int axis = 0; axis < x.rank(); ++axis) {
        box.extents.append(std::min(x[axis], y[axis]));
        box.x_begin.append((x[axis] - box.extents[axis]) / 2);
        box.y_begin.append((y[axis] - box.extents[axis]) / 2);
    }
    return box;
}

int64_t box_offset(const Shape& begin, const Strides& strides) {
    int64_t offset = 0;
    for (int axis = 0; axis < begin.rank(); ++axis) {
        offset += begin[axis] * strides[size_t(axis)];
    }
    return offset;
}

std::span<const OpDef> center_crop_pad_ops() {
    return kCenterCropPadOps;
}

}  // namespace leat
