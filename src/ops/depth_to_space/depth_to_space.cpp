#include "ops/depth_to_space/depth_to_space.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Result<int64_t> depth_block_size(const NodeData& node) {
    const int64_t size = node.attr("blocksize", int64_t{0});
    if (size < 1 || size > INT32_MAX) {
        return invalid_argument("attribute blocksize is out of range")
            .with_found(fmt::format("{}", size))
            .with_needed("1 to 2^31 - 1");
    }
    return size;
}

Result<bool> is_channel_first(const NodeData& node) {
    const std::string mode = node.attr("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") {
        return invalid_argument("attribute mode has no such value")
            .with_found(mode)
            .with_needed("DCR or CRD");
    }
    return mode == "CRD";
}

Result<DimSpec> divided_extent(const DimSpec& dim, int64_t divisor, int axis) {
    if (divisor == 1) {
        return dim;
    }
    if (!dim.is_fixed()) {
        return DimSpec::unknown();
    }
    if (dim.extent() % divisor != 0) {
        return invalid_argument("axis {} does not fit the blocks", axis)
            .with_found(fmt::format("extent {}", dim.extent()))
            .with_needed(fmt::format("a multiple of {}", divisor));
    }
    return DimSpec(dim.extent() / divisor);
}

Status infer_depth_to_space(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 4, "x"));
    LEAT_ASSIGN_OR_RETURN(const int64_t block, depth_block_size(context.node()));
    LEAT_RETURN_IF_ERROR(is_channel_first(context.node()).error());
    const TypeInfo& x = context.input(0);
    Dims dims = x.dims.value_or(unknown_dims(4));
    const int64_t pixels = block * block;
    if (context.node().op_type == "DepthToSpace") {
        LEAT_ASSIGN_OR_RETURN(dims[1], divided_extent(dims[1], pixels, 1));
        dims[2] = multiply_dims(dims[2], DimSpec(block));
        dims[3] = multiply_dims(dims[3], DimSpec(block));
    } else {
        dims[1] = multiply_dims(dims[1], DimSpec(pixels));
        LEAT_ASSIGN_OR_RETURN(dims[2], divided_extent(dims[2], block, 2));
        LEAT_ASSIGN_OR_RETURN(dims[3], divided_extent(dims[3], block, 3));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

constexpr AttributeSchema kDepthToSpaceAttributes[] = {
    {.name = "blocksize", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "mode", .kind = AttributeKind::kString, .since = 11},
};
constexpr AttributeSchema kSpaceToDepthAttributes[] = {
    {.name = "blocksize", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "mode", .kind = AttributeKind::kString, .since = 28},
};

constexpr OpDef kDepthToSpaceOps[] = {
    {.name = "DepthToSpace",
     .attributes = kDepthToSpaceAttributes,
     .infer = infer_depth_to_space,
     .reference = depth_to_space_reference,
     .gives_rows = rows_of_first_input,
     .layout_rule = LayoutRule::kAgnostic},
    {.name = "SpaceToDepth",
     .attributes = kSpaceToDepthAttributes,
     .infer = infer_depth_to_space,
     .reference = depth_to_space_reference,
     .gives_rows = rows_of_first_input,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

Result<BlockCopy> BlockCopy::make(const NodeData& node, const TensorArg& x, const TensorArg& y) {
    LEAT_ASSIGN_OR_RETURN(const int64_t block, depth_block_size(node));
    LEAT_ASSIGN_OR_RETURN(const bool is_crd, is_channel_first(node));
    const bool has_deep_source = node.op_type == "DepthToSpace";
    const TensorArg& deep = has_deep_source ? x : y;
    const TensorArg& wide = has_deep_source ? y : x;
    const int64_t channels = wide.shape[1];
    BlockCopy copy;
    copy.shape = {deep.shape[0], channels, deep.shape[2], block, deep.shape[3], block};
    const int64_t channel = deep.strides[1];
    const int64_t depth_stride = is_crd ? block * block * channel : channel;
    const int64_t column_stride = is_crd ? channel : channels * channel;
    const Strides of_deep = {deep.strides[0],       depth_stride,    deep.strides[2],
                             block * column_stride, deep.strides[3], column_stride};
    const Strides of_wide = {wide.strides[0], wide.strides[1],         block * wide.strides[2],
                             wide.strides[2], block * wide.strides[3], wide.strides[3]};
    copy.source = has_deep_source ? of_deep : of_wide;
    copy.destination = has_deep_source ? of_wide : of_deep;
    return copy;
}

std::span<const OpDef> depth_to_space_ops() {
    return kDepthToSpaceOps;
}

}  // namespace leat
