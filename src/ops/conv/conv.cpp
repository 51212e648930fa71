#include "ops/conv/conv.h"

#include <string>
#include <vector>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status conv_reference(const ReferenceArgs& args);

namespace {

Status check_conv_types(const InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kFloatTypes, "W"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    if (!is_own_input(context.node(), 2)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
    return require_rank(context, 2, 1, "B");
}

// Channels of x and w against each other and the groups; unknown ones pass.
Status check_channels(const TypeInfo& x, const TypeInfo& w_type, int64_t groups) {
    if (groups < 1 || groups > INT32_MAX) {
        return invalid_argument("attribute 'group' must be positive")
            .with_found(std::to_string(groups))
            .with_needed("1 or more");
    }
    const std::vector<DimSpec>& w = *w_type.dims;
    if (x.dims && (*x.dims)[1].is_fixed() && w[1].is_fixed() &&
        (*x.dims)[1].extent() != w[1].extent() * groups) {
        return invalid_argument("the channels of X must be those of W times the groups")
            .with_found(fmt::format("X is {}, W is {}, group {}", x.to_string(), w_type.to_string(),
                                    groups))
            .with_needed(fmt::format("{} channels", w[1].extent() * groups));
    }
    if (w[0].is_fixed() && w[0].extent() % groups != 0) {
        return invalid_argument("the groups must divide the output channels")
            .with_found(fmt::format("W is {}, group {}", w_type.to_string(), groups))
            .with_needed("a multiple of the groups");
    }
    return {};
}

Status check_weight_scale(const NodeData& node, const TypeInfo& w) {
    const std::span<const float> scale = weight_scale(node);
    if (!scale.empty() && w.dims && w.dims->front().is_fixed() &&
        w.dims->front().extent() != int64_t(scale.size())) {
        return invalid_argument("attribute '{}' must have an element for each output channel",
                                kWeightScale)
            .with_found(fmt::format("{} elements", scale.size()))
            .with_needed(fmt::format("{}", w.dims->front().extent()));
    }
    return {};
}

// The kernel's extents where weights or attribute fix them; empty if unknown.
std::vector<int64_t> kernel_extents(const NodeData& node, const TypeInfo& w) {
    std::vector<int64_t> kernel;
    for (size_t axis = 2; w.dims && axis < w.dims->size(); ++axis) {
        if (!(*w.dims)[axis].is_fixed()) {
            kernel.clear();
            break;
        }
        kernel.push_back((*w.dims)[axis].extent());
    }
    const std::vector<int64_t>* attribute = node.ints("kernel_shape");
    return kernel.empty() && attribute != nullptr ? *attribute : kernel;
}

Status infer_conv(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_conv_types(context));
    const TypeInfo& x = context.input(0);
    const TypeInfo& w = context.input(1);
    LEAT_ASSIGN_OR_RETURN(auto dims, conv_dims(context.node(), x, w));
    LEAT_RETURN_IF_ERROR(check_weight_scale(context.node(), w));
    if (is_own_input(context.node(), 2) && context.has_input(2)) {
        LEAT_RETURN_IF_ERROR(check_conv_bias(context.input(2), w));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

Cost cost_of_conv(const NodeData& /*node*/,
                  std::span<const TensorArg> inputs,
                  std::span<const TensorArg> outputs) {
    return conv_cost(inputs[1], inputs, outputs);
}

constexpr AttributeSchema kConvAttributes[] = {
    {.name = "auto_pad", .kind = AttributeKind::kString},
    {.name = "dilations", .kind = AttributeKind::kInts},
    {.name = "group", .kind = AttributeKind::kInt},
    {.name = "kernel_shape", .kind = AttributeKind::kInts},
    {.name = kWeightScale, .kind = AttributeKind::kFloats, .since = kCanonicalOpset},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

}  // namespace

Result<std::optional<std::vector<DimSpec>>> conv_dims(const NodeData& node,
                                                      const TypeInfo& x,
                                                      const TypeInfo& w) {
    using Dims = std::optional<std::vector<DimSpec>>;
    const int rank = x.dims ? x.rank() : w.rank();
    if (rank < 0) {
        return Dims();
    }
    if (rank < 3) {
        return invalid_argument("input X has no spatial axes")
            .with_found(x.to_string())
            .with_needed("rank 3 or more: [n, c, spatial...]");
    }
    if (w.dims && w.rank() != rank) {
        return invalid_argument("input W has the wrong rank")
            .with_found(w.to_string())
            .with_needed(fmt::format("rank {}", rank));
    }
    std::vector<DimSpec> dims(static_cast<size_t>(rank), DimSpec::unknown());
    if (x.dims) {
        dims[0] = (*x.dims)[0];
    }
    if (w.dims) {
        LEAT_RETURN_IF_ERROR(check_channels(x, w, node.attr("group", int64_t{1})));
        dims[1] = (*w.dims)[0];
    }
    const std::vector<int64_t> kernel = kernel_extents(node, w);
    if (!kernel.empty() && x.dims) {
        LEAT_ASSIGN_OR_RETURN(const Window window, Window::from_node(node, kernel));
        for (int axis = 0; axis < window.rank && axis + 2 < rank; ++axis) {
            const size_t a = size_t(axis) + 2;
            LEAT_ASSIGN_OR_RETURN(dims[a], window.output_dim(axis, (*x.dims)[a]));
        }
    }
    return Dims(std::move(dims));
}

Status check_conv_bias(const TypeInfo& bias, const TypeInfo& w) {
    if (!bias.dims || bias.rank() != 1 || !w.dims) {
        return {};
    }
    const DimSpec& length = bias.dims->front();
    const DimSpec& channels = w.dims->front();
    if (length.is_fixed() && channels.is_fixed() && length.extent() != channels.extent()) {
        return invalid_argument("the bias must have an element for each output channel")
            .with_found(bias.to_string())
            .with_needed(fmt::format("{} elements", channels.extent()));
    }
    return {};
}

Cost conv_cost(const TensorArg& w,
               std::span<const TensorArg> inputs,
               std::span<const TensorArg> outputs) {
    const int64_t taps = w.shape.element_count(1, w.shape.rank());
    return {2.0 * double(outputs[0].shape.element_count()) * double(taps),
            moved_bytes(inputs, outputs)};
}

std::span<const float> weight_scale(const NodeData& conv) {
    const std::vector<float>* scale = conv.floats(kWeightScale);
    return scale == nullptr ? std::span<const float>() : std::span<const float>(*scale);
}

Result<ConvGeometry> ConvGeometry::make(const NodeData& node,
                                        const Shape& x,
                                        const Shape& w,
                                        const Shape& y) {
    LEAT_ASSIGN_OR_RETURN(const Window window, Window::from_node(node, w.extents().subspan(2)));
    ConvGeometry geometry;
    geometry.window = WindowGeometry::make(window, x, y);
    geometry.batch = x[0];
    geometry.groups = node.attr("group", int64_t{1});
    geometry.in_channels = x[1];
    geometry.out_channels = w[0];
    return geometry;
}

std::span<const OpDef> conv_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "Conv",
         .min_inputs = 2,
         .max_inputs = 3,
         .attributes = kConvAttributes,
         .infer = infer_conv,
         .reference = conv_reference,
         .cost = cost_of_conv,
         .gives_rows = rows_of_first_input,
         .layout_rule = LayoutRule::kChannelsLastPreferred},
    };
    return kOps;
}

}  // namespace leat
