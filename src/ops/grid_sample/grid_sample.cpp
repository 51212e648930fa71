#include "ops/grid_sample/grid_sample.h"

#include <string>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr DTypeSet kSampledTypes =
    kNumericTypes | dtype_set(DType::kBool, DType::kString, DType::kComplex64, DType::kComplex128);

Status check_grid_ranks(const TypeInfo& x, const TypeInfo& grid) {
    if (x.dims && x.rank() < 3) {
        return invalid_argument("input X has no spatial axes")
            .with_found(x.to_string())
            .with_needed("rank 3 or more: [n, c, spatial...]");
    }
    if (grid.dims && (grid.rank() < 3 || (x.dims && grid.rank() != x.rank()))) {
        return invalid_argument("grid has the wrong rank")
            .with_found(grid.to_string())
            .with_needed(x.dims ? fmt::format("rank {}, as X has", x.rank()) : "rank 3 or more");
    }
    if (!grid.dims) {
        return {};
    }
    const DimSpec& coordinates = grid.dims->back();
    if (coordinates.is_fixed() && coordinates.extent() != grid.rank() - 2) {
        return invalid_argument("a position in grid has the wrong number of coordinates")
            .with_found(grid.to_string())
            .with_needed(fmt::format("{} coordinates", grid.rank() - 2));
    }
    return {};
}

Status infer_grid_sample(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kSampledTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kFloatTypes, "grid"));
    LEAT_ASSIGN_OR_RETURN(const auto options, GridSampleOptions::from_node(context.node()));
    const TypeInfo& x = context.input(0);
    const TypeInfo& grid = context.input(1);
    if (x.dtype == DType::kString && options.mode != GridSampleOptions::Mode::kNearest) {
        return invalid_argument("nothing lies between strings")
            .with_found(fmt::format("mode {}", context.node().attr("mode", "linear")))
            .with_needed("mode nearest");
    }
    LEAT_RETURN_IF_ERROR(check_grid_ranks(x, grid));
    if (!x.dims && !grid.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    Dims dims = unknown_dims(x.dims ? x.rank() : grid.rank());
    if (x.dims) {
        dims[0] = (*x.dims)[0];
        dims[1] = (*x.dims)[1];
    }
    if (grid.dims) {
        LEAT_ASSIGN_OR_RETURN(dims[0],
                              merge_dims((*grid.dims)[0], dims[0], "the batch of X and grid"));
        std::copy(grid.dims->begin() + 1, grid.dims->end() - 1, dims.begin() + 2);
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// Two flops for each tap of an element.
Cost grid_sample_cost(const NodeData& node,
                      std::span<const TensorArg> inputs,
                      std::span<const TensorArg> outputs) {
    const auto options = GridSampleOptions::from_node(node);
    double flops = 2;
    for (int axis = 2; axis < outputs[0].shape.rank(); ++axis) {
        flops *= options.ok() ? options->taps() : 1;
    }
    return {flops * double(outputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

bool grid_sample_gives_rows(const ShardArgs& args) {
    return args.parts[0] == ShardPart::kRows && args.parts[1] == ShardPart::kRows;
}

constexpr AttributeSchema kGridSampleAttributes[] = {
    {.name = "align_corners", .kind = AttributeKind::kInt},
    {.name = "mode", .kind = AttributeKind::kString},
    {.name = "padding_mode", .kind = AttributeKind::kString},
};

constexpr OpDef kGridSampleOps[] = {
    {.name = "GridSample",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kGridSampleAttributes,
     .infer = infer_grid_sample,
     .reference = grid_sample_reference,
     .cost = grid_sample_cost,
     .gives_rows = grid_sample_gives_rows},
};

}  // namespace

Result<GridSampleOptions> GridSampleOptions::from_node(const NodeData& node) {
    GridSampleOptions options;
    options.align_corners = node.attr("align_corners", int64_t{0}) != 0;
    const std::string mode = node.attr("mode", "linear");
    if (mode == "nearest") {
        options.mode = Mode::kNearest;
    } else if (mode == "cubic") {
        options.mode = Mode::kCubic;
    } else if (mode != "linear") {
        return invalid_argument("attribute 'mode' is unknown")
            .with_found(mode)
            .with_needed("linear, nearest or cubic");
    }
    const std::string outside = node.attr("padding_mode", "zeros");
    if (outside == "border") {
        options.outside = Outside::kBorder;
    } else if (outside == "reflection") {
        options.outside = Outside::kReflection;
    } else if (outside != "zeros") {
        return invalid_argument("attribute 'padding_mode' is unknown")
            .with_found(outside)
            .with_needed("zeros, border or reflection");
    }
    return options;
}

std::span<const OpDef> grid_sample_ops() {
    return kGridSampleOps;
}

}  // namespace leat
