#include "ops/shape_of/shape_of.h"

#include <algorithm>

#include "ops/movement/extents.h"

namespace leat {
namespace {

Status infer_shape(InferContext& context) {
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, DType::kInt64, unknown_dims(1));
        return {};
    }
    const auto [begin, end] = shape_axis_range(context.node(), x.rank());
    context.set_output(0, DType::kInt64, Dims{DimSpec(end - begin)});
    context.set_extents(0, Dims(x.dims->begin() + begin, x.dims->begin() + end));
    return {};
}

Status infer_size(InferContext& context) {
    context.set_output(0, DType::kInt64, Dims{});
    const TypeInfo& x = context.input(0);
    if (x.dims) {
        DimSpec count = DimSpec(1);
        for (const DimSpec& dim : *x.dims) {
            count = multiply_dims(count, dim);
        }
        context.set_extents(0, {count});
    }
    return {};
}

Cost no_cost(const NodeData& /*node*/,
             std::span<const TensorArg> /*inputs*/,
             std::span<const TensorArg> /*outputs*/) {
    return {};
}

constexpr AttributeSchema kShapeAttributes[] = {
    {.name = "end", .kind = AttributeKind::kInt, .since = 15},
    {.name = "start", .kind = AttributeKind::kInt, .since = 15},
};

constexpr OpDef kShapeOfOps[] = {
    {.name = "Shape",
     .attributes = kShapeAttributes,
     .infer = infer_shape,
     .reference = shape_reference,
     .cost = no_cost},
    {.name = "Size", .infer = infer_size, .reference = size_reference, .cost = no_cost},
};

}  // namespace

std::pair<int, int> shape_axis_range(const NodeData& node, int rank) {
    const auto clamp = [rank](int64_t axis) {
        return int(std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
    };
    const int begin = clamp(node.attr("start", int64_t{0}));
    const int end = clamp(node.attr("end", int64_t{rank}));
    return {begin, std::max(begin, end)};
}

std::span<const OpDef> shape_of_ops() {
    return kShapeOfOps;
}

}  // namespace leat
