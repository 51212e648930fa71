#include "ops/conv_transpose/conv_transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// Keeps stride * extent + span, whose factors are below 2^31 each, below 2^63.
constexpr int64_t kMostTransposedExtent = int64_t{1} << 30;

// A window with what ConvTranspose knows beyond it.
struct TransposedWindow {
    Window window;
    Extents output_padding{};
    std::optional<Extents> output;  // attribute output_shape

    static Result<TransposedWindow> from_node(const NodeData& node,
                                              std::span<const int64_t> kernel);
    bool is_same() const {
        return window.auto_pad == Window::AutoPad::kSameUpper ||
               window.auto_pad == Window::AutoPad::kSameLower;
    }
    // The extent without pads.
    int64_t full_extent(int axis, int64_t input) const {
        const auto a = size_t(axis);
        return window.stride[a] * (input - 1) + output_padding[a] + window.span(axis);
    }
    // What an unknown extent of x adds to, or 0 where y has a multiple of it.
    int64_t extent_beyond(int axis) const {
        const auto a = size_t(axis);
        return full_extent(axis, 0) - window.pad_begin[a] - window.pad_end[a];
    }
    Result<DimSpec> output_dim(int axis, const DimSpec& input) const;
    int64_t pad_begin(int axis, int64_t input, int64_t output_extent) const;
};

// A list of one integer >= 0 for each spatial axis, if it is there.
Status read_transposed_ints(const NodeData& node,
                            std::string_view name,
                            int rank,
                            std::optional<Extents>& values) {
    const std::vector<int64_t>* attribute = node.ints(name);
    if (attribute == nullptr || attribute->empty()) {
        return {};
    }
    const auto is_bad = [](int64_t x) { return x < 0 || x > kMostTransposedExtent; };
    if (attribute->size() != size_t(rank) ||
        std::any_of(attribute->begin(), attribute->end(), is_bad)) {
        return invalid_argument("attribute '{}' does not fit the input", name)
            .with_found(fmt::format("[{}]", fmt::join(*attribute, ", ")))
            .with_needed(fmt::format("{} integers >= 0", rank));
    }
    values.emplace();
    std::copy(attribute->begin(), attribute->end(), values->begin());
    return {};
}

Result<TransposedWindow> TransposedWindow::from_node(const NodeData& node,
                                                     std::span<const int64_t> kernel) {
    TransposedWindow result;
    LEAT_ASSIGN_OR_RETURN(result.window, Window::from_node(node, kernel));
    const Window& window = result.window;
    std::optional<Extents> padding;
    LEAT_RETURN_IF_ERROR(read_transposed_ints(node, "output_padding", window.rank, padding));
    for (size_t a = 0; padding && a < size_t(window.rank); ++a) {
        const int64_t bound = std::max(window.stride[a], window.dilation[a]);
        if ((*padding)[a] >= bound) {
            return invalid_argument("attribute 'output_padding' is too large on spatial axis {}", a)
                .with_found(fmt::format("{}", (*padding)[a]))
                .with_needed(fmt::format("less than {}, the larger of stride and dilation", bound));
        }
        result.output_padding[a] = (*padding)[a];
    }
    LEAT_RETURN_IF_ERROR(read_transposed_ints(node, "output_shape", window.rank, result.output));
    return result;
}

Result<DimSpec> TransposedWindow::output_dim(int axis, const DimSpec& input) const {
    const auto a = size_t(axis);
    if (output) {
        return DimSpec((*output)[a]);
    }
    if (!input.is_fixed()) {
        const bool is_multiple = is_same() || extent_beyond(axis) == 0;
        return is_multiple ? multiply_dims(input, DimSpec(window.stride[a])) : DimSpec::unknown();
    }
    const int64_t in = input.extent();
    if (in > kMostTransposedExtent) {
        return unsupported("spatial axis {} of X is too long", axis)
            .with_found(fmt::format("{} positions", in))
            .with_needed(fmt::format("at most {}", kMostTransposedExtent));
    }
    if (is_same()) {
        return DimSpec(window.stride[a] * in);
    }
    const int64_t extent = window.stride[a] * in + extent_beyond(axis);
    if (extent <= 0 && in > 0) {
        return invalid_argument("the pads leave nothing of spatial axis {}", axis)
            .with_found(fmt::format("pads {} and {}", window.pad_begin[a], window.pad_end[a]))
            .with_needed(
                fmt::format("pads that cut off less than {} positions", full_extent(axis, in)));
    }
    return DimSpec(std::max<int64_t>(extent, 0));
}

int64_t TransposedWindow::pad_begin(int axis, int64_t input, int64_t output_extent) const {
    const auto a = size_t(axis);
    if (!output && !is_same()) {
        return window.pad_begin[a];
    }
    const int64_t cut = std::max<int64_t>(full_extent(axis, input) - output_extent, 0);
    return window.auto_pad == Window::AutoPad::kSameUpper ? cut / 2 : cut - cut / 2;
}

// Channels of x and w against the groups; unknown ones pass.
Status check_transposed_channels(const TypeInfo& x, const TypeInfo& w, int64_t groups) {
    if (groups < 1 || groups > INT32_MAX) {
        return invalid_argument("attribute 'group' must be positive")
            .with_found(std::to_string(groups))
            .with_needed("1 or more");
    }
    DimSpec channels = (*w.dims)[0];
    if (x.dims) {
        LEAT_ASSIGN_OR_RETURN(
            channels, merge_dims((*x.dims)[1], channels, "the number of channels of X and W"));
    }
    if (channels.is_fixed() && channels.extent() % groups != 0) {
        return invalid_argument("the groups must divide the input channels")
            .with_found(fmt::format("W is {}, group {}", w.to_string(), groups))
            .with_needed("a multiple of the groups");
    }
    return {};
}

Status check_transposed_bias(const InferContext& context, const DimSpec& channels) {
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
    LEAT_RETURN_IF_ERROR(require_rank(context, 2, 1, "B"));
    const TypeInfo& bias = context.input(2);
    if (bias.dims && channels.is_fixed() && bias.dims->front().is_fixed() &&
        bias.dims->front().extent() != channels.extent()) {
        return invalid_argument("the bias must have an element for each output channel")
            .with_found(bias.to_string())
            .with_needed(fmt::format("{} elements", channels.extent()));
    }
    return {};
}

// The kernel's extents where weights or attribute fix them; empty if unknown.
std::vector<int64_t> transposed_kernel(const NodeData& node, const TypeInfo& w) {
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

Status check_transposed_ranks(const TypeInfo& x, const TypeInfo& w) {
    const TypeInfo& known = x.dims ? x : w;
    if (known.rank() < 3 || known.rank() > 2 + kMaxSpatialRank) {
        return invalid_argument("input {} has the wrong rank", x.dims ? "X" : "W")
            .with_found(known.to_string())
            .with_needed(fmt::format("rank 3 to {}: [n, c, spatial...]", 2 + kMaxSpatialRank));
    }
    if (x.dims && w.dims && w.rank() != x.rank()) {
        return invalid_argument("input W has the wrong rank")
            .with_found(w.to_string())
            .with_needed(fmt::format("rank {}", x.rank()));
    }
    return {};
}

Status infer_conv_transpose(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    const NodeData& node = context.node();
    const TypeInfo& x = context.input(0);
    const TypeInfo& w = context.input(1);
    if (!x.dims && !w.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_transposed_ranks(x, w));
    const int rank = x.dims ? x.rank() : w.rank();
    Dims dims = unknown_dims(rank);
    if (w.dims) {
        const int64_t groups = node.attr("group", int64_t{1});
        LEAT_RETURN_IF_ERROR(check_transposed_channels(x, w, groups));
        dims[1] = multiply_dims((*w.dims)[1], DimSpec(groups));
    }
    if (context.has_input(2)) {
        LEAT_RETURN_IF_ERROR(check_transposed_bias(context, dims[1]));
        if (!dims[1].is_fixed() && context.input(2).dims) {
            dims[1] = context.input(2).dims->front();
        }
    }
    if (x.dims) {
        dims[0] = (*x.dims)[0];
    }
    if (const std::vector<int64_t> kernel = transposed_kernel(node, w); !kernel.empty()) {
        LEAT_ASSIGN_OR_RETURN(const auto window, TransposedWindow::from_node(node, kernel));
        LEAT_RETURN_IF_ERROR(require_rank(context, 0, window.window.rank + 2, "X"));
        for (int axis = 0; axis < window.window.rank; ++axis) {
            const DimSpec in = x.dims ? (*x.dims)[size_t(axis) + 2] : DimSpec::unknown();
            LEAT_ASSIGN_OR_RETURN(dims[size_t(axis) + 2], window.output_dim(axis, in));
        }
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// Every element of x takes part in as many products as w has elements for its channel.
Cost conv_transpose_cost(const NodeData& /*node*/,
                         std::span<const TensorArg> inputs,
                         std::span<const TensorArg> outputs) {
    const Shape& w = inputs[1].shape;
    const double products =
        double(inputs[0].shape.element_count()) * double(w.element_count(1, w.rank()));
    return {2 * products, moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kConvTransposeAttributes[] = {
    {.name = "auto_pad", .kind = AttributeKind::kString},
    {.name = "dilations", .kind = AttributeKind::kInts},
    {.name = "group", .kind = AttributeKind::kInt},
    {.name = "kernel_shape", .kind = AttributeKind::kInts},
    {.name = "output_padding", .kind = AttributeKind::kInts},
    {.name = "output_shape", .kind = AttributeKind::kInts},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr OpDef kConvTransposeOps[] = {
    {.name = "ConvTranspose",
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kConvTransposeAttributes,
     .infer = infer_conv_transpose,
     .reference = conv_transpose_reference,
     .cost = conv_transpose_cost,
     .gives_rows = rows_of_first_input},
};

}  // namespace

Result<ConvTransposeGeometry> ConvTransposeGeometry::make(const NodeData& node,
                                                          const Shape& x,
                                                          const Shape& w,
                                                          const Shape& y) {
    LEAT_ASSIGN_OR_RETURN(const auto transposed,
                          TransposedWindow::from_node(node, w.extents().subspan(2)));
    // With explicit pads, which are those of y.
    Window window = transposed.window;
    window.auto_pad = Window::AutoPad::kNotSet;
    for (int axis = 0; axis < window.rank; ++axis) {
        window.pad_begin[size_t(axis)] = transposed.pad_begin(axis, x[2 + axis], y[2 + axis]);
    }
    ConvTransposeGeometry geometry;
    geometry.window = WindowGeometry::make(window, y, x);
    geometry.batch = x[0];
    geometry.groups = node.attr("group", int64_t{1});
    geometry.in_channels = x[1];
    geometry.out_channels = y[1];
    return geometry;
}

std::span<const OpDef> conv_transpose_ops() {
    return kConvTransposeOps;
}

}  // namespace leat
