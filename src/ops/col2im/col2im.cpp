#include "ops/col2im/col2im.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/window_ints.h"

namespace leat {
namespace {

constexpr DTypeSet kCol2ImTypes =
    kNumericTypes | dtype_set(DType::kBool, DType::kString, DType::kComplex64, DType::kComplex128);
constexpr int64_t kMostSpatialAxes = kMaxRank - 2;

Status check_image(const std::vector<int64_t>& image) {
    // Positions on the pads are within 63 bits then.
    constexpr int64_t kMostExtent = int64_t{1} << 62;
    for (const int64_t extent : image) {
        if (extent < 0 || extent > kMostExtent) {
            return invalid_argument("image_shape has an element that is no extent")
                .with_found(fmt::format("{}", extent))
                .with_needed("0 to 2^62");
        }
    }
    return {};
}

Status check_spatial_rank(int64_t image, int64_t block) {
    if (image >= 0 && block >= 0 && image != block) {
        return invalid_argument("image_shape and block_shape have different lengths")
            .with_found(fmt::format("{} and {}", image, block))
            .with_needed("an element for each spatial axis in both");
    }
    const int64_t rank = std::max(image, block);
    if (rank == 0 || rank > kMostSpatialAxes) {
        return invalid_argument("image_shape has a wrong length")
            .with_found(fmt::format("{}", rank))
            .with_needed(fmt::format("1 to {}", kMostSpatialAxes));
    }
    return {};
}

// The channels of the image, if they are known.
Result<DimSpec> image_channels(const DimSpec& rows, const std::vector<int64_t>& block) {
    LEAT_RETURN_IF_ERROR(check_window_ints(block, block.size(), 1, "block_shape"));
    int64_t elements = 1;
    for (const int64_t extent : block) {
        if (__builtin_mul_overflow(elements, extent, &elements)) {
            return invalid_argument("block_shape has too many elements")
                .with_found(fmt::format("[{}]", fmt::join(block, ", ")))
                .with_needed("less than 2^63");
        }
    }
    if (!rows.is_fixed()) {
        return elements == 1 ? rows : DimSpec::unknown();
    }
    if (rows.extent() % elements != 0) {
        return invalid_argument("axis 1 of the columns does not fit the block")
            .with_found(fmt::format("extent {}", rows.extent()))
            .with_needed(fmt::format("a multiple of {}, the elements of block_shape", elements));
    }
    return DimSpec(rows.extent() / elements);
}

Status infer_col2im(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kCol2ImTypes, "x"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 3, "x"));
    for (const int i : {1, 2}) {
        const char* const name = i == 1 ? "image_shape" : "block_shape";
        LEAT_RETURN_IF_ERROR(require_dtype(context, i, dtype_bit(DType::kInt64), name));
        LEAT_RETURN_IF_ERROR(require_rank(context, i, 1, name));
    }
    const int64_t lengths[] = {known_length(context.input(1)), known_length(context.input(2))};
    LEAT_RETURN_IF_ERROR(check_spatial_rank(lengths[0], lengths[1]));
    const TypeInfo& x = context.input(0);
    const Dims x_dims = x.dims.value_or(unknown_dims(3));
    const auto image = context.ints(1);
    const auto block = context.ints(2);
    DimSpec channels = DimSpec::unknown();
    if (block) {
        LEAT_ASSIGN_OR_RETURN(channels, image_channels(x_dims[1], *block));
    }
    if (image) {
        LEAT_RETURN_IF_ERROR(check_image(*image));
    }
    if (image && block) {
        LEAT_ASSIGN_OR_RETURN(const ColumnBlocks blocks,
                              ColumnBlocks::make(context.node(), *image, *block));
        if (x_dims[2].is_fixed() && x_dims[2].extent() != blocks.blocks) {
            return invalid_argument("axis 2 of the columns does not fit the image")
                .with_found(fmt::format("extent {}", x_dims[2].extent()))
                .with_needed(fmt::format("{}, the blocks of [{}]", blocks.blocks,
                                         fmt::join(blocks.count, ", ")));
        }
    }
    const int64_t rank = std::max(lengths[0], lengths[1]);
    std::optional<Dims> dims = context.extents(1);
    if (!dims && rank >= 0) {
        dims = unknown_dims(rank);
    }
    if (dims) {
        dims->insert(dims->begin(), {x_dims[0], channels});
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

constexpr AttributeSchema kCol2ImAttributes[] = {
    {.name = "dilations", .kind = AttributeKind::kInts},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr OpDef kCol2ImOps[] = {
    {.name = "Col2Im",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kCol2ImAttributes,
     .infer = infer_col2im,
     .reference = col2im_reference,
     .cost = cost_by_element<1>,
     .shape_inputs = 0b110,
     .gives_rows = rows_of_first_input},
};

}  // namespace

Result<ColumnBlocks> ColumnBlocks::make(const NodeData& node,
                                        std::vector<int64_t> image,
                                        std::vector<int64_t> block) {
    const size_t rank = image.size();
    LEAT_RETURN_IF_ERROR(check_spatial_rank(int64_t(rank), int64_t(block.size())));
    LEAT_RETURN_IF_ERROR(check_image(image));
    LEAT_RETURN_IF_ERROR(check_window_ints(block, rank, 1, "block_shape"));
    ColumnBlocks blocks;
    LEAT_ASSIGN_OR_RETURN(blocks.stride, window_ints(node, "strides", rank, 1, 1));
    LEAT_ASSIGN_OR_RETURN(blocks.dilation, window_ints(node, "dilations", rank, 1, 1));
    LEAT_ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                          window_ints(node, "pads", 2 * rank, 0, 0));
    for (size_t i = 0; i < rank; ++i) {
        const int64_t span = (block[i] - 1) * blocks.dilation[i] + 1;
        const int64_t padded = image[i] + pads[i] + pads[rank + i];
        if (span > padded) {
            return invalid_argument("no block fits spatial axis {} of the image", i)
                .with_found(fmt::format("a block over {} pixels of {}", span, padded))
                .with_needed("a smaller block, or larger pads");
        }
        blocks.count.push_back((padded - span) / blocks.stride[i] + 1);
        if (__builtin_mul_overflow(blocks.blocks, blocks.count[i], &blocks.blocks) ||
            __builtin_mul_overflow(blocks.block_elements, block[i], &blocks.block_elements)) {
            return invalid_argument("the image has too many blocks")
                .with_found(fmt::format("[{}]", fmt::join(blocks.count, ", ")))
                .with_needed("less than 2^63");
        }
    }
    blocks.pad_begin.assign(pads.begin(), pads.begin() + std::ptrdiff_t(rank));
    blocks.image = std::move(image);
    blocks.block = std::move(block);
    return blocks;
}

std::span<const OpDef> col2im_ops() {
    return kCol2ImOps;
}

}  // namespace leat
