#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace leat {

namespace {

// 0 for negative `a`.
int64_t divide_up(int64_t a, int64_t b) {
    return a <= 0 ? 0 : (a - 1) / b + 1;
}

std::string to_text(std::span<const int64_t> values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
}

// Copies an attribute of `count` integers, each >= minimum, if it is there.
Status read_ints(const NodeData& node,
                 std::string_view name,
                 size_t count,
                 int64_t minimum,
                 std::span<int64_t> values) {
    const std::vector<int64_t>* attribute = node.ints(name);
    if (attribute == nullptr || attribute->empty()) {
        return {};
    }
    // 2^31 keeps every product below 2^63.
    const auto is_bad = [&](int64_t x) { return x < minimum || x > INT32_MAX; };
    if (attribute->size() != count || std::any_of(attribute->begin(), attribute->end(), is_bad)) {
        return invalid_argument("attribute '{}' does not fit the input", name)
            .with_found(to_text(*attribute))
            .with_needed(fmt::format("{} integers >= {}", count, minimum));
    }
    std::copy(attribute->begin(), attribute->end(), values.begin());
    return {};
}

Result<Window::AutoPad> read_auto_pad(const NodeData& node) {
    const std::string text = node.attr("auto_pad", "NOTSET");
    if (text == "NOTSET" || text.empty()) {
        return Window::AutoPad::kNotSet;
    }
    if (text == "SAME_UPPER") {
        return Window::AutoPad::kSameUpper;
    }
    if (text == "SAME_LOWER") {
        return Window::AutoPad::kSameLower;
    }
    if (text == "VALID") {
        return Window::AutoPad::kValid;
    }
    return invalid_argument("attribute 'auto_pad' is unknown")
        .with_found(text)
        .with_needed("NOTSET, SAME_UPPER, SAME_LOWER or VALID");
}

}  // namespace

Result<Window> Window::from_node(const NodeData& node, std::span<const int64_t> kernel) {
    if (kernel.empty() || kernel.size() > size_t(kMaxSpatialRank)) {
        return unsupported("windows have 1 to {} spatial axes", kMaxSpatialRank)
            .with_found(fmt::format("{} spatial axes", kernel.size()))
            .with_needed("inputs of rank 3 to 5");
    }
    if (std::any_of(kernel.begin(), kernel.end(),
                    [](int64_t x) { return x < 1 || x > INT32_MAX; })) {
        return invalid_argument("the window has an extent below 1")
            .with_found(to_text(kernel))
            .with_needed("extents >= 1");
    }
    Window window;
    window.rank = int(kernel.size());
    std::copy(kernel.begin(), kernel.end(), window.kernel.begin());
    const size_t count = kernel.size();
    Extents declared = window.kernel;
    LEAT_RETURN_IF_ERROR(read_ints(node, "kernel_shape", count, 1, declared));
    if (!std::equal(kernel.begin(), kernel.end(), declared.begin())) {
        return invalid_argument("attribute 'kernel_shape' disagrees with the weights")
            .with_found(to_text(std::span(declared).first(count)))
            .with_needed(to_text(kernel));
    }
    LEAT_RETURN_IF_ERROR(read_ints(node, "strides", count, 1, window.stride));
    LEAT_RETURN_IF_ERROR(read_ints(node, "dilations", count, 1, window.dilation));
    std::array<int64_t, 2 * size_t(kMaxSpatialRank)> pads{};
    LEAT_ASSIGN_OR_RETURN(window.auto_pad, read_auto_pad(node));
    if (window.auto_pad == AutoPad::kNotSet) {
        LEAT_RETURN_IF_ERROR(read_ints(node, "pads", 2 * count, 0, pads));
    }
    std::copy_n(pads.begin(), count, window.pad_begin.begin());
    std::copy_n(pads.begin() + std::ptrdiff_t(count), count, window.pad_end.begin());
    window.ceil_mode = node.attr("ceil_mode", int64_t{0}) != 0;
    return window;
}

Result<Window> Window::from_node(const NodeData& node) {
    const std::vector<int64_t>* kernel = node.ints("kernel_shape");
    if (kernel == nullptr) {
        return invalid_argument("attribute 'kernel_shape' is missing")
            .with_found("none")
            .with_needed("one extent for each spatial axis");
    }
    return from_node(node, *kernel);
}

int64_t Window::output_extent(int axis, int64_t input) const {
    const auto a = size_t(axis);
    if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
        return divide_up(input, stride[a]);
    }
    const int64_t slack = input + pad_begin[a] + pad_end[a] - span(axis);
    if (slack < 0) {
        return 0;
    }
    int64_t extent = slack / stride[a] + 1;
    // ceil_mode has no effect on VALID: ONNX MaxPool-22's two formulas agree there.
    if (ceil_mode && auto_pad == AutoPad::kNotSet && slack % stride[a] != 0) {
        // The last window must start inside the input or its leading pad.
        extent += extent * stride[a] < input + pad_begin[a] ? 1 : 0;
    }
    return extent;
}

Result<DimSpec> Window::output_dim(int axis, const DimSpec& input) const {
    const auto a = size_t(axis);
    if (!input.is_fixed()) {
        const bool same_pads =
            auto_pad == AutoPad::kNotSet && pad_begin[a] + pad_end[a] + 1 == span(axis);
        const bool same_auto = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
        const bool unchanged = stride[a] == 1 && (same_pads || same_auto);
        return unchanged ? input : DimSpec::unknown();
    }
    const int64_t extent = output_extent(axis, input.extent());
    if (extent <= 0 && input.extent() > 0) {
        return invalid_argument("the window does not fit spatial axis {}", axis)
            .with_found(fmt::format("{} positions with pads {} and {}", input.extent(),
                                    pad_begin[a], pad_end[a]))
            .with_needed(fmt::format("at least {} positions for kernel {} with dilation {}",
                                     span(axis), kernel[a], dilation[a]));
    }
    return DimSpec(extent);
}

WindowGeometry WindowGeometry::make(const Window& window, const Shape& input, const Shape& output) {
    WindowGeometry geometry;
    const int lead = kMaxSpatialRank - window.rank;
    for (int axis = 0; axis < window.rank; ++axis) {
        const auto from = size_t(axis);
        const size_t to = size_t(lead) + size_t(axis);
        geometry.input[to] = input[2 + axis];
        geometry.output[to] = output[2 + axis];
        geometry.kernel[to] = window.kernel[from];
        geometry.stride[to] = window.stride[from];
        geometry.dilation[to] = window.dilation[from];
        geometry.pad_begin[to] = window.pad_begin[from];
        geometry.pad_end[to] = window.pad_end[from];
        const bool same_upper = window.auto_pad == Window::AutoPad::kSameUpper;
        if (same_upper || window.auto_pad == Window::AutoPad::kSameLower) {
            const int64_t needed =
                (output[2 + axis] - 1) * window.stride[from] + window.span(axis) - input[2 + axis];
            const int64_t total = std::max<int64_t>(needed, 0);
            const int64_t half = total / 2;
            geometry.pad_begin[to] = same_upper ? half : total - half;
            geometry.pad_end[to] = total - geometry.pad_begin[to];
        }
    }
    return geometry;
}

IndexRange taps_inside(int64_t origin, int64_t step, int64_t taps, int64_t extent) {
    IndexRange range;
    range.begin = std::min(taps, divide_up(-origin, step));
    range.end = std::max(range.begin, std::min(taps, divide_up(extent - origin, step)));
    return range;
}

}  // namespace leat
