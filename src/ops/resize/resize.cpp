// Inference: extents of the result.
#include "ops/resize/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/transformed.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

template <size_t N>
Status check_choice(const NodeData& node,
                    const char* attribute,
                    const char* fallback,
                    const std::array<const char*, N>& choices) {
    const std::string value = node.attr(attribute, fallback);
    if (std::any_of(choices.begin(), choices.end(), [&](const char* c) { return value == c; })) {
        return {};
    }
    return invalid_argument("attribute {} has no such value", attribute)
        .with_found(value)
        .with_needed(fmt::format("{}", fmt::join(choices, ", ")));
}

// ONNX gives the other modes a filter to widen. For this one it says nothing, and both its
// reference evaluator and ONNX Runtime refuse the attribute.
Status check_antialias(const NodeData& node) {
    LEAT_ASSIGN_OR_RETURN(const ResizeMode mode, resize_mode(node));
    const int64_t antialias = node.attr("antialias", int64_t{0});
    if (antialias == 0 || mode != ResizeMode::kNearest) {
        return {};
    }
    return invalid_argument("attribute 'antialias' has no meaning in mode nearest")
        .with_found(std::to_string(antialias))
        .with_needed("0, or mode linear or cubic");
}

Status check_attributes(const NodeData& node) {
    LEAT_RETURN_IF_ERROR(resize_mode(node).error());
    LEAT_RETURN_IF_ERROR(check_choice(
        node, "coordinate_transformation_mode", "half_pixel",
        std::array{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                   "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"}));
    LEAT_RETURN_IF_ERROR(
        check_choice(node, "nearest_mode", "round_prefer_floor",
                     std::array{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
    LEAT_RETURN_IF_ERROR(check_choice(node, "keep_aspect_ratio_policy", "stretch",
                                      std::array{"stretch", "not_larger", "not_smaller"}));
    return check_antialias(node);
}

bool is_given(const InferContext& context, int i) {
    return context.has_input(i) && known_length(context.input(i)) != 0;
}

std::optional<std::vector<float>> known_scales(const InferContext& context) {
    const Tensor* value = context.value(2);
    if (value == nullptr || value->dtype() != DType::kFloat32) {
        return std::nullopt;
    }
    const auto elements = value->data<float>();
    return std::vector<float>(elements.begin(), elements.end());
}

// floor(extent * scale), in f32 as ONNX and its runtimes compute it: there 3 * 2.3333333 is 7.
double scaled_extent(int64_t extent, float scale) {
    constexpr int64_t kExactFloats = int64_t{1} << 24;
    return extent <= kExactFloats ? std::floor(float(extent) * scale)
                                  : std::floor(double(extent) * double(scale));
}

// The same of a dim; unknown if that has no name or the scale is no scale.
DimSpec scaled_dim(const DimSpec& dim, float scale) {
    if (scale > 0 && dim.is_fixed()) {
        const double extent = scaled_extent(dim.extent(), scale);
        return extent < double(kMaxResizeExtent) ? DimSpec(int64_t(extent)) : DimSpec::unknown();
    }
    if (scale > 0 && scale == std::floor(scale) && scale < 1e6F) {
        return multiply_dims(dim, DimSpec(int64_t(scale)));
    }
    return DimSpec::unknown();
}

// Extents where x's are not all fixed.
Result<Dims> symbolic_dims(const InferContext& context) {
    const TypeInfo& x = context.input(0);
    Dims dims = *x.dims;
    LEAT_ASSIGN_OR_RETURN(const std::vector<int> axes, resized_axes(context.node(), x.rank()));
    const auto scales = is_given(context, 2) ? known_scales(context) : std::nullopt;
    const bool stretches = context.node().attr("keep_aspect_ratio_policy", "stretch") == "stretch";
    const auto sizes = is_given(context, 3) && stretches ? context.extents(3) : std::nullopt;
    for (size_t i = 0; i < axes.size(); ++i) {
        DimSpec& dim = dims[size_t(axes[i])];
        if (sizes && sizes->size() == axes.size()) {
            dim = (*sizes)[i];
        } else if (scales && scales->size() == axes.size()) {
            dim = scaled_dim(dim, (*scales)[i]);
        } else {
            dim = DimSpec::unknown();
        }
    }
    return dims;
}

Status infer_resize(InferContext& context) {
    const NodeData& node = context.node();
    LEAT_RETURN_IF_ERROR(check_attributes(node));
    LEAT_ASSIGN_OR_RETURN(const ResizeMode mode, resize_mode(node));
    const TypeInfo& x = context.input(0);
    if (mode != ResizeMode::kNearest) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kRealTypes, "X"));
    }
    const bool has_scales = is_given(context, 2);
    const bool has_sizes = is_given(context, 3);
    if (has_scales) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 2, dtype_bit(DType::kFloat32), "scales"));
    }
    if (has_sizes) {
        LEAT_RETURN_IF_ERROR(check_index_type(context, 3, "sizes"));
    }
    if (!has_scales && !has_sizes) {
        return invalid_argument("neither scales nor sizes are given").with_needed("one of them");
    }
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    const auto scales = has_scales ? known_scales(context) : std::nullopt;
    const auto sizes = has_sizes ? context.ints(3) : std::nullopt;
    if (!all_fixed(*x.dims) || (!scales && !sizes)) {
        LEAT_ASSIGN_OR_RETURN(Dims dims, symbolic_dims(context));
        context.set_output(0, x.dtype, std::move(dims));
        return {};
    }
    const std::vector<int64_t> extents = transformed(*x.dims, &DimSpec::extent);
    const ResizeOperands operands{scales ? &*scales : nullptr, sizes ? &*sizes : nullptr, nullptr};
    LEAT_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, resize_axes(node, extents, operands));
    Dims dims;
    for (const ResizeAxis& axis : axes) {
        dims.emplace_back(axis.y_extent);
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// Sizes may be the shard's own: without a policy, they are the result's extents and no more.
bool resize_gives_rows(const ShardArgs& args) {
    const size_t sizes = 3;
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        if (i > 0 && (!is_absent_or_known(args, i) || args.parts[i] == ShardPart::kRows ||
                      (i != sizes && args.parts[i] == ShardPart::kOwn))) {
            return false;
        }
    }
    const bool stretches =
        args.node.attr("keep_aspect_ratio_policy", "stretch") == std::string_view("stretch");
    const auto axes = resize_axes_of(args.node, args.inputs);
    return args.parts[0] == ShardPart::kRows && stretches && axes.ok() &&
           axes->front().is_identity();
}

constexpr AttributeSchema kResizeAttributes[] = {
    {.name = "antialias", .kind = AttributeKind::kInt, .since = 18},
    {.name = "axes", .kind = AttributeKind::kInts, .since = 18},
    {.name = "coordinate_transformation_mode", .kind = AttributeKind::kString, .since = 11},
    {.name = "cubic_coeff_a", .kind = AttributeKind::kFloat, .since = 11},
    {.name = "exclude_outside", .kind = AttributeKind::kInt, .since = 11},
    {.name = "extrapolation_value", .kind = AttributeKind::kFloat, .since = 11},
    {.name = "keep_aspect_ratio_policy", .kind = AttributeKind::kString, .since = 18},
    {.name = "mode", .kind = AttributeKind::kString},
    {.name = "nearest_mode", .kind = AttributeKind::kString, .since = 11},
};

constexpr OpDef kResizeOps[] = {
    {.name = "Resize",
     .min_inputs = 1,
     .max_inputs = 4,
     .attributes = kResizeAttributes,
     .infer = infer_resize,
     .reference = resize_reference,
     .shape_inputs = 0b1100,
     .gives_rows = resize_gives_rows,
     .layout_rule = LayoutRule::kChannelsLastPreferred},
};

// The smallest or largest of the axes' scales for all of them. Half elements are rounded up.
Status apply_one_scale(const std::string& policy,
                       const std::vector<int>& axes,
                       std::vector<ResizeAxis>& result) {
    ResizeScale scale = result[size_t(axes[0])].scale;
    for (const int axis : axes) {
        const ResizeScale& own = result[size_t(axis)].scale;
        scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
    }
    for (const int i : axes) {
        ResizeAxis& axis = result[size_t(i)];
        const Int128 product = axis.x_extent * scale.numerator;
        const Int128 rest = product % scale.denominator;
        const Int128 extent = product / scale.denominator + (2 * rest >= scale.denominator ? 1 : 0);
        if (extent >= kMaxResizeExtent) {
            return invalid_argument("axis {} of extent {} cannot be scaled so", i, axis.x_extent)
                .with_found(fmt::format("{}", scale.value()))
                .with_needed("a scale that gives less than 2^31 elements");
        }
        axis.scale = scale;
        axis.y_extent = int64_t(extent);
    }
    return {};
}

// Sets extents and scales from sizes.
Status apply_sizes(const NodeData& node,
                   const std::vector<int>& axes,
                   const std::vector<int64_t>& sizes,
                   std::vector<ResizeAxis>& result) {
    for (size_t i = 0; i < axes.size(); ++i) {
        ResizeAxis& axis = result[size_t(axes[i])];
        const int64_t limit = axis.x_extent == 0 ? 1 : kMaxResizeExtent;
        if (sizes[i] < 0 || sizes[i] >= limit) {
            return invalid_argument("axis {} of extent {} cannot get this size", axes[i],
                                    axis.x_extent)
                .with_found(fmt::format("{}", sizes[i]))
                .with_needed(axis.x_extent == 0 ? "0" : "0 to 2^31 - 1");
        }
        axis.y_extent = sizes[i];
        if (axis.x_extent != 0) {
            axis.scale = {sizes[i], axis.x_extent};
        }
    }
    const std::string policy = node.attr("keep_aspect_ratio_policy", "stretch");
    if (policy == "stretch" || axes.empty()) {
        return {};
    }
    return apply_one_scale(policy, axes, result);
}

Status apply_scales(const std::vector<int>& axes,
                    const std::vector<float>& scales,
                    std::vector<ResizeAxis>& result) {
    for (size_t i = 0; i < axes.size(); ++i) {
        ResizeAxis& axis = result[size_t(axes[i])];
        const double extent = scaled_extent(axis.x_extent, scales[i]);
        if (!(scales[i] > 0) || !(extent < double(kMaxResizeExtent))) {
            return invalid_argument("axis {} of extent {} cannot be scaled so", axes[i],
                                    axis.x_extent)
                .with_found(fmt::format("{}", scales[i]))
                .with_needed("a scale > 0 that gives less than 2^31 elements");
        }
        axis.y_extent = int64_t(extent);
        if (axis.y_extent > 0) {
            axis.scale = ResizeScale::of(scales[i]);
        }
    }
    return {};
}

Status check_count(const char* what, size_t found, size_t needed) {
    if (found == needed) {
        return {};
    }
    return invalid_argument("{} has a wrong length", what)
        .with_found(fmt::format("{}", found))
        .with_needed(fmt::format("{}", needed));
}

}  // namespace

Result<ResizeMode> resize_mode(const NodeData& node) {
    const std::string mode = node.attr("mode", "nearest");
    if (mode == "nearest") {
        return ResizeMode::kNearest;
    }
    if (mode == "linear") {
        return ResizeMode::kLinear;
    }
    if (mode == "cubic") {
        return ResizeMode::kCubic;
    }
    return invalid_argument("attribute mode has no such value")
        .with_found(mode)
        .with_needed("nearest, linear or cubic");
}

Result<std::vector<int>> resized_axes(const NodeData& node, int rank) {
    if (const auto* axes = node.ints("axes"); axes != nullptr && !axes->empty()) {
        return normalize_axes(*axes, rank);
    }
    std::vector<int> all(static_cast<size_t>(rank));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Result<std::vector<ResizeAxis>> resize_axes(const NodeData& node,
                                            std::span<const int64_t> x,
                                            const ResizeOperands& operands) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<int> axes, resized_axes(node, int(x.size())));
    std::vector<ResizeAxis> result;
    for (const int64_t extent : x) {
        ResizeAxis& axis = result.emplace_back();
        axis.x_extent = extent;
        axis.y_extent = extent;
    }
    for (const int axis : axes) {
        if (x[size_t(axis)] >= kMaxResizeExtent) {
            return unsupported("axis {} is too long to be resized", axis)
                .with_found(fmt::format("{}", x[size_t(axis)]))
                .with_needed("less than 2^31 elements");
        }
    }
    if (operands.scales != nullptr) {
        LEAT_RETURN_IF_ERROR(check_count("scales", operands.scales->size(), axes.size()));
        LEAT_RETURN_IF_ERROR(apply_scales(axes, *operands.scales, result));
    } else if (operands.sizes != nullptr) {
        LEAT_RETURN_IF_ERROR(check_count("sizes", operands.sizes->size(), axes.size()));
        LEAT_RETURN_IF_ERROR(apply_sizes(node, axes, *operands.sizes, result));
    }
    if (operands.roi != nullptr) {
        LEAT_RETURN_IF_ERROR(check_count("roi", operands.roi->size(), 2 * axes.size()));
        for (size_t i = 0; i < axes.size(); ++i) {
            result[size_t(axes[i])].roi_begin = (*operands.roi)[i];
            result[size_t(axes[i])].roi_end = (*operands.roi)[i + axes.size()];
        }
    }
    return result;
}

std::span<const OpDef> resize_ops() {
    return kResizeOps;
}

}  // namespace leat
