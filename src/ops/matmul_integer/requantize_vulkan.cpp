#include "ops/matmul_integer/requantize_vulkan.h"

#include "ops/movement/movement_vulkan.h"

namespace leat::vulkan {

Status write_requantization(const RequantizationShape& requantization,
                            const RequantizationOperands& operands,
                            KernelWriter& writer) {
    // As in requantize.comp.
    const auto bit = [](bool is_set, unsigned i) { return is_set ? 1U << i : 0U; };
    const uint32_t bits =
        bit(requantization.a_scale_by_row, 0) | bit(requantization.b_scale_by_row, 1) |
        bit(requantization.y_scale_by_row, 2) | bit(requantization.y_zero_by_row, 3) |
        bit(requantization.b_scale_by_column, 4) | bit(requantization.has_bias, 5);
    KernelDispatch dispatch;
    dispatch.shader = {"requantize", {kMovementWorkgroup, uint32_t(requantization.y)}};
    dispatch.groups = groups_for(requantization.count, kMovementWorkgroup, writer.limits());
    dispatch.reads = {operands.sums,    operands.a_scale,
                      operands.b_scale, operands.y_scale,
                      operands.y_zero,  requantization.has_bias ? operands.bias : operands.a_scale};
    dispatch.writes = {operands.y};
    dispatch.scalars = {uint32_t(requantization.count), uint32_t(requantization.rows),
                        uint32_t(requantization.columns), bits};
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
