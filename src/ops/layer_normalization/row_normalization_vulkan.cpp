#include "ops/layer_normalization/row_normalization_vulkan.h"

#include <algorithm>

#include "base/error.h"
#include "ops/reduce/row_kernel_vulkan.h"

namespace leat::vulkan {
namespace {

// As in row_normalization.comp.
struct NormalizationProblem {
    uint32_t rows = 0;
    uint32_t columns = 0;
    float epsilon = 0;
    uint32_t wanted = 0;
    uint32_t channels = 0;
    uint32_t axes = 0;
    std::array<uint32_t, kMaxRank> extents{};
    std::array<uint32_t, kMaxRank> scale_strides{};
    std::array<uint32_t, kMaxRank> bias_strides{};
};

// Strides of a parameter along the last `axes` axes of x; 0 where it broadcasts.
void set_strides(const Shape& parameter, int axes, std::array<uint32_t, kMaxRank>& strides) {
    const Strides own = row_major_strides(parameter);
    for (int k = 1; k <= std::min(axes, parameter.rank()); ++k) {
        const int axis = parameter.rank() - k;
        strides[size_t(axes - k)] = parameter[axis] == 1 ? 0 : uint32_t(own[size_t(axis)]);
    }
}

NormalizationProblem problem_of(const KernelNode& node,
                                const RowNormalization& normalization,
                                bool has_bias) {
    NormalizationProblem problem{uint32_t(normalization.rows), uint32_t(normalization.columns),
                                 normalization.epsilon, has_bias ? 1U : 0U,
                                 uint32_t(normalization.channels)};
    const Shape& x = node.inputs[0].shape;
    const int axes = normalization.normalized_axes;
    problem.axes = uint32_t(axes);
    for (int axis = 0; axis < axes; ++axis) {
        problem.extents[size_t(axis)] = uint32_t(x[x.rank() - axes + axis]);
    }
    set_strides(node.inputs[1].shape, axes, problem.scale_strides);
    if (has_bias) {
        set_strides(node.inputs[2].shape, axes, problem.bias_strides);
    }
    return problem;
}

}  // namespace

Status write_row_normalization(const KernelNode& node,
                               const RowNormalization& normalization,
                               KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    if (normalization.rows == 0 || normalization.columns == 0) {
        return {};
    }
    const auto is_wanted = [&node](int i) { return find_arg(node.outputs, i) != nullptr; };
    const bool has_bias = find_arg(node.inputs, 2) != nullptr;
    const DType dtype = node.inputs[0].dtype;
    LEAT_ASSIGN_OR_RETURN(RowWork work, plan_rows({normalization.rows, normalization.columns},
                                                  dtype, writer.limits()));
    NormalizationProblem problem = problem_of(node, normalization, has_bias);
    problem.wanted |= normalization.is_centred ? 0U : 8U;
    problem.wanted |= normalization.has_row_scales ? 16U : 0U;
    KernelDispatch dispatch;
    dispatch.shader = {shader_variant("row_normalization", dtype), std::move(work.constants)};
    dispatch.groups = work.groups;
    dispatch.reads = {input_ref(0), input_ref(1), input_ref(has_bias ? 2 : 1)};
    dispatch.writes = {output_ref(0)};
    if (is_wanted(1) || is_wanted(2)) {
        for (int32_t i = 1; i <= 2; ++i) {
            dispatch.writes.push_back(output_ref(is_wanted(i) ? i : 0));
            problem.wanted |= is_wanted(i) ? 1U << unsigned(i) : 0U;
        }
    }
    dispatch.parameters = std::as_bytes(std::span(&problem, 1));
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
