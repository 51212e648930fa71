#include "ops/movement/movement_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "ops/roofline.h"

namespace leat::vulkan {
namespace {

// As in strided_copy.comp.
struct Movement {
    std::array<uint32_t, kMaxRank> extents{};
    std::array<int32_t, kMaxRank> x_strides{};
    std::array<int32_t, kMaxRank> y_strides{};
};

struct BoxAxis {
    int64_t extent = 1;
    int64_t from_stride = 0;
    int64_t to_stride = 0;
};

// A copy in units of `unit_bytes`; axes outermost first, none of extent 1.
struct BoxCopy {
    std::vector<BoxAxis> axes;
    int64_t from_base = 0;
    int64_t to_base = 0;
    int64_t unit_bytes = 1;
};

bool continues(const BoxAxis& outer, const BoxAxis& inner) {
    return outer.from_stride == inner.from_stride * inner.extent &&
           outer.to_stride == inner.to_stride * inner.extent;
}

// Axes of extent 1 go, axes that one loop can walk become one.
std::vector<BoxAxis> merged_axes(const Shape& shape, const CopyEnd& from, const CopyEnd& to) {
    std::vector<BoxAxis> axes;
    axes.reserve(size_t(shape.rank()));
    for (int i = 0; i < shape.rank(); ++i) {
        if (shape[i] == 1) {
            continue;
        }
        const BoxAxis axis{shape[i], from.strides[size_t(i)], to.strides[size_t(i)]};
        if (!axes.empty() && continues(axes.back(), axis)) {
            axes.back() = {axes.back().extent * axis.extent, axis.from_stride, axis.to_stride};
        } else {
            axes.push_back(axis);
        }
    }
    return axes;
}

bool has_contiguous_rows(const BoxCopy& box) {
    return !box.axes.empty() && box.axes.back().from_stride == 1 && box.axes.back().to_stride == 1;
}

bool is_contiguous(const BoxCopy& box) {
    return box.axes.empty() || (box.axes.size() == 1 && has_contiguous_rows(box));
}

// Makes the units of contiguous rows as wide as they can be. The operands' own addresses are
// multiples of 64 bytes, and so are their offsets, or the bits of a unit would not fit.
void widen(BoxCopy& box, int64_t operand_offsets_bytes) {
    if (!has_contiguous_rows(box)) {
        return;
    }
    std::vector<int64_t> bytes = {box.from_base, box.to_base, box.axes.back().extent};
    for (size_t i = 0; i + 1 < box.axes.size(); ++i) {
        bytes.insert(bytes.end(), {box.axes[i].from_stride, box.axes[i].to_stride});
    }
    for (int64_t& value : bytes) {
        value *= box.unit_bytes;
    }
    bytes.push_back(operand_offsets_bytes);
    const int64_t unit = widest_bits(box.unit_bytes, bytes) / 8;
    const int64_t factor = unit / box.unit_bytes;
    box.unit_bytes = unit;
    box.from_base /= factor;
    box.to_base /= factor;
    box.axes.back().extent /= factor;
    for (size_t i = 0; i + 1 < box.axes.size(); ++i) {
        box.axes[i].from_stride /= factor;
        box.axes[i].to_stride /= factor;
    }
}

// What the kernel's 32-bit offsets must hold, beside the count.
Status check_offsets(const BoxCopy& box) {
    int64_t from = std::abs(box.from_base);
    int64_t to = std::abs(box.to_base);
    for (const BoxAxis& axis : box.axes) {
        from += (axis.extent - 1) * std::abs(axis.from_stride);
        to += (axis.extent - 1) * std::abs(axis.to_stride);
    }
    if (std::max(from, to) >= kMovementCountLimit) {
        return unsupported("a copy over {} elements", std::max(from, to))
            .with_needed("less than 2^31");
    }
    return {};
}

Status write_box(KernelWriter& writer, const BoxCopy& box, OperandRef from, OperandRef to) {
    LEAT_RETURN_IF_ERROR(check_offsets(box));
    Movement movement;
    int64_t count = 1;
    for (size_t i = 0; i < box.axes.size(); ++i) {
        movement.extents[i] = uint32_t(box.axes[i].extent);
        movement.x_strides[i] = int32_t(box.axes[i].from_stride);
        movement.y_strides[i] = int32_t(box.axes[i].to_stride);
        count *= box.axes[i].extent;
    }
    LEAT_ASSIGN_OR_RETURN(
        KernelDispatch dispatch,
        movement_dispatch(writer, "strided_copy", int(box.unit_bytes * 8), count));
    dispatch.reads = {from};
    dispatch.writes = {to};
    dispatch.scalars[1] = uint32_t(box.axes.size());
    dispatch.scalars[2] = uint32_t(box.from_base);
    dispatch.scalars[3] = uint32_t(box.to_base);
    dispatch.parameters = std::as_bytes(std::span(&movement, 1));
    return writer.dispatch(dispatch);
}

}  // namespace

Result<KernelDispatch> movement_dispatch(const KernelWriter& writer,
                                         std::string_view name,
                                         int bits,
                                         int64_t count) {
    if (count >= kMovementCountLimit) {
        return unsupported("{} elements", count).with_needed("less than 2^31");
    }
    KernelDispatch dispatch;
    dispatch.shader = {fmt::format("{}_{}", name, bits), {kMovementWorkgroup}};
    dispatch.groups = groups_for(count, kMovementWorkgroup, writer.limits());
    dispatch.scalars[0] = uint32_t(count);
    return dispatch;
}

int widest_bits(int64_t element_bytes, std::span<const int64_t> multiples_bytes) {
    int64_t unit = 16;
    while (unit > element_bytes && std::any_of(multiples_bytes.begin(), multiples_bytes.end(),
                                               [&](int64_t bytes) { return bytes % unit != 0; })) {
        unit /= 2;
    }
    return int(unit * 8);
}

std::string movement_refusal(DType dtype) {
    const int bits = dtype == DType::kString ? 0 : bits_of(dtype);
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128
               ? std::string()
               : fmt::format("no copies of {} elements", name_of(dtype));
}

std::string refuse_immovable(const NodeData& /*node*/, const KernelTypes& types) {
    return movement_refusal(types.inputs[0]);
}

Status write_strided_copy(
    KernelWriter& writer, DType dtype, const Shape& shape, const CopyEnd& from, const CopyEnd& to) {
    const int64_t count = shape.element_count();
    if (count == 0) {
        return {};
    }
    BoxCopy box{merged_axes(shape, from, to), from.first_element, to.first_element,
                bits_of(dtype) / 8};
    if (is_contiguous(box)) {
        OperandRef source = from.operand;
        OperandRef target = to.operand;
        source.offset_bytes += box.from_base * box.unit_bytes;
        target.offset_bytes += box.to_base * box.unit_bytes;
        return writer.copy(source, target, count * box.unit_bytes);
    }
    widen(box, from.operand.offset_bytes | to.operand.offset_bytes);
    return write_box(writer, box, from.operand, to.operand);
}

Status write_whole_copy(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const int64_t size_bytes = bytes_of(x);
    return size_bytes == 0 ? Status() : writer.copy(input_ref(0), output_ref(0), size_bytes);
}

}  // namespace leat::vulkan
