#include "ops/roi/roi.h"

#include <fmt/format.h>

#include <string>

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// Of a result. Products of two stay far below 2^63.
constexpr int64_t kMostRoiExtent = int64_t{1} << 24;
constexpr int64_t kMostRoiSamples = 4096;

Result<int64_t> read_roi_extent(
    const NodeData& node, std::string_view name, int64_t fallback, int64_t least, int64_t most) {
    const int64_t value = node.attr(name, fallback);
    if (value < least || value > most) {
        return invalid_argument("attribute '{}' is out of range", name)
            .with_found(fmt::format("{}", value))
            .with_needed(fmt::format("{} to {}", least, most));
    }
    return value;
}

Status check_regions(const InferContext& context, int64_t columns) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 4, "X"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 2, "rois"));
    const TypeInfo& rois = context.input(1);
    if (rois.dims && (*rois.dims)[1].is_fixed() && (*rois.dims)[1].extent() != columns) {
        return invalid_argument("a region in rois has the wrong number of elements")
            .with_found(rois.to_string())
            .with_needed(fmt::format("{} elements", columns));
    }
    return {};
}

Dims dims_of_regions(const InferContext& context, const std::array<int64_t, 2>& cells) {
    Dims dims = {DimSpec::unknown(), DimSpec::unknown(), DimSpec(cells[0]), DimSpec(cells[1])};
    if (context.input(1).dims) {
        dims[0] = context.input(1).dims->front();
    }
    if (context.input(0).dims) {
        dims[1] = (*context.input(0).dims)[1];
    }
    return dims;
}

Status infer_roi_align(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_regions(context, 4));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 2, dtype_bit(DType::kInt64), "batch_indices"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 2, 1, "batch_indices"));
    LEAT_ASSIGN_OR_RETURN(const auto options, RoiAlignOptions::from_node(context.node()));
    Dims dims = dims_of_regions(context, options.output);
    if (context.input(2).dims) {
        LEAT_ASSIGN_OR_RETURN(dims[0], merge_dims(dims[0], context.input(2).dims->front(),
                                                  "the number of rois and batch_indices"));
    }
    context.set_output(0, context.input(0).dtype, std::move(dims));
    return {};
}

Status infer_max_roi_pool(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_regions(context, 5));
    LEAT_ASSIGN_OR_RETURN(const auto cells, roi_pooled_shape(context.node()));
    context.set_output(0, context.input(0).dtype, dims_of_regions(context, cells));
    return {};
}

// As if a cell had four samples where data decide their number; each reads four elements.
Cost roi_align_cost(const NodeData& node,
                    std::span<const TensorArg> inputs,
                    std::span<const TensorArg> outputs) {
    const auto samples = double(node.attr("sampling_ratio", int64_t{0}));
    const double of_cell = samples > 0 ? samples * samples : 4;
    return {8 * of_cell * double(outputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

// As if a region were an image.
Cost max_roi_pool_cost(const NodeData& /*node*/,
                       std::span<const TensorArg> inputs,
                       std::span<const TensorArg> outputs) {
    return {double(outputs[0].shape[0]) * double(inputs[0].shape.element_count(1, 4)),
            moved_bytes(inputs, outputs)};
}

// The rows are the regions.
bool roi_gives_rows(const ShardArgs& args) {
    if (args.parts[0] != ShardPart::kWhole) {
        return false;
    }
    for (size_t i = 1; i < args.parts.size(); ++i) {
        if (args.parts[i] != ShardPart::kRows) {
            return false;
        }
    }
    return true;
}

constexpr AttributeSchema kRoiAlignAttributes[] = {
    {.name = "coordinate_transformation_mode", .kind = AttributeKind::kString, .since = 16},
    {.name = "mode", .kind = AttributeKind::kString},
    {.name = "output_height", .kind = AttributeKind::kInt},
    {.name = "output_width", .kind = AttributeKind::kInt},
    {.name = "sampling_ratio", .kind = AttributeKind::kInt},
    {.name = "spatial_scale", .kind = AttributeKind::kFloat},
};

constexpr AttributeSchema kMaxRoiPoolAttributes[] = {
    {.name = "pooled_shape", .kind = AttributeKind::kInts, .is_required = true},
    {.name = "spatial_scale", .kind = AttributeKind::kFloat},
};

constexpr OpDef kRoiOps[] = {
    {.name = "RoiAlign",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kRoiAlignAttributes,
     .infer = infer_roi_align,
     .reference = roi_align_reference,
     .cost = roi_align_cost,
     .gives_rows = roi_gives_rows},
    {.name = "MaxRoiPool",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kMaxRoiPoolAttributes,
     .infer = infer_max_roi_pool,
     .reference = max_roi_pool_reference,
     .cost = max_roi_pool_cost,
     .gives_rows = roi_gives_rows},
};

}  // namespace

Result<RoiAlignOptions> RoiAlignOptions::from_node(const NodeData& node) {
    RoiAlignOptions options;
    options.scale = node.attr("spatial_scale", 1.0F);
    LEAT_ASSIGN_OR_RETURN(options.samples,
                          read_roi_extent(node, "sampling_ratio", 0, 0, kMostRoiSamples));
    LEAT_ASSIGN_OR_RETURN(options.output[0],
                          read_roi_extent(node, "output_height", 1, 1, kMostRoiExtent));
    LEAT_ASSIGN_OR_RETURN(options.output[1],
                          read_roi_extent(node, "output_width", 1, 1, kMostRoiExtent));
    const std::string mode = node.attr("mode", "avg");
    if (mode != "avg" && mode != "max") {
        return invalid_argument("attribute 'mode' is unknown")
            .with_found(mode)
            .with_needed("avg or max");
    }
    options.is_max = mode == "max";
    const std::string transformation = node.attr("coordinate_transformation_mode", "half_pixel");
    if (transformation != "half_pixel" && transformation != "output_half_pixel") {
        return invalid_argument("attribute 'coordinate_transformation_mode' is unknown")
            .with_found(transformation)
            .with_needed("half_pixel or output_half_pixel");
    }
    options.is_half_pixel = transformation == "half_pixel";
    return options;
}

Result<std::array<int64_t, 2>> roi_pooled_shape(const NodeData& node) {
    const std::vector<int64_t>* shape = node.ints("pooled_shape");
    const auto is_extent = [](int64_t x) { return x >= 1 && x <= kMostRoiExtent; };
    if (shape == nullptr || shape->size() != 2 || !is_extent((*shape)[0]) ||
        !is_extent((*shape)[1])) {
        return invalid_argument("attribute 'pooled_shape' is no height and width")
            .with_found(shape == nullptr ? "none" : fmt::format("[{}]", fmt::join(*shape, ", ")))
            .with_needed(fmt::format("two integers from 1 to {}", kMostRoiExtent));
    }
    return std::array<int64_t, 2>{(*shape)[0], (*shape)[1]};
}

std::span<const OpDef> roi_ops() {
    return kRoiOps;
}

}  // namespace leat
