#include "ops/movement/movement_vulkan.h"

#include <fmt/format.h>

#include "base/error.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr int64_t kCountLimit = int64_t{1} << 31;

// As in strided_copy.comp.
struct Movement {
    std::array<uint32_t, kMaxRank> extents{};
    std::array<int32_t, kMaxRank> x_strides{};
    std::array<int32_t, kMaxRank> y_strides{};
};

}  // namespace

std::string movement_refusal(DType dtype) {
    const int bits = bits_of(dtype);
    return bits == 8 || bits == 16 || bits == 32 || bits == 64
               ? std::string()
               : fmt::format("no copies of {} elements", name_of(dtype));
}

Status write_strided_copy(
    KernelWriter& writer, DType dtype, const Shape& shape, const CopyEnd& from, const CopyEnd& to) {
    const int64_t count = shape.element_count();
    if (count == 0) {
        return {};
    }
    if (count >= kCountLimit) {
        return unsupported("a copy of {} elements", count).with_needed("less than 2^31");
    }
    Movement movement;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const auto at = size_t(axis);
        movement.extents[at] = uint32_t(shape[axis]);
        movement.x_strides[at] = int32_t(from.strides[at]);
        movement.y_strides[at] = int32_t(to.strides[at]);
    }
    KernelDispatch dispatch;
    dispatch.shader = {fmt::format("strided_copy_{}", bits_of(dtype)), {kWorkgroup}};
    dispatch.groups = groups_for(count, kWorkgroup, writer.limits());
    dispatch.reads = {from.operand};
    dispatch.writes = {to.operand};
    dispatch.scalars = {uint32_t(count), uint32_t(shape.rank()), uint32_t(from.first_element),
                        uint32_t(to.first_element)};
    dispatch.parameters = std::as_bytes(std::span(&movement, 1));
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
