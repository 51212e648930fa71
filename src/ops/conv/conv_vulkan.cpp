#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/conv/conv.h"
#include "ops/matmul/gemm_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"
#include "ops/window_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr uint32_t kWorkgroup = 64;

// As in conv_problem.glsl, which has the scales behind it.
struct ConvProblem {
    WindowParameters window;
    uint32_t batch = 0;
    uint32_t groups = 0;
    uint32_t in_channels = 0;   // of a group
    uint32_t out_channels = 0;  // of a group
    uint32_t has_bias = 0;
    uint32_t has_scale = 0;

    uint32_t positions() const {
        return batch * window.y_extents[0] * window.y_extents[1] * window.y_extents[2];
    }
};

std::vector<std::byte> parameters_of(const ConvProblem& problem, std::span<const float> scale) {
    std::vector<std::byte> bytes(sizeof problem + scale.size_bytes());
    std::memcpy(bytes.data(), &problem, sizeof problem);
    if (!scale.empty()) {
        std::memcpy(bytes.data() + sizeof problem, scale.data(), scale.size_bytes());
    }
    return bytes;
}

// A window of one position that never leaves x: products of matrices.
bool is_pointwise(const WindowGeometry& window) {
    for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
        if (window.kernel[axis] != 1 || window.stride[axis] != 1 || window.pad_begin[axis] != 0 ||
            window.pad_end[axis] != 0) {
            return false;
        }
    }
    return true;
}

// y[n, g] = w[g] x[n, g], the bias by rows.
Status write_pointwise(const KernelNode& node,
                       const ConvGeometry& geometry,
                       bool has_bias,
                       KernelWriter& writer) {
    GemmProblem problem;
    problem.m = uint32_t(geometry.out_channels_per_group());
    problem.k = uint32_t(geometry.in_channels_per_group());
    problem.n = uint32_t(geometry.window.output_count());
    problem.a_row = problem.k;
    problem.b_k = problem.n;
    problem.has_c = has_bias ? 1 : 0;
    problem.c_row = 1;
    problem.batch_rank = 2;
    problem.batch_extents = {uint32_t(geometry.batch), uint32_t(geometry.groups)};
    problem.batch_count = uint32_t(geometry.batch * geometry.groups);
    problem.a_batch = {0, problem.m * problem.k};
    problem.b_batch = {uint32_t(geometry.in_channels) * problem.n, problem.k * problem.n};
    problem.c_batch = {0, problem.m};
    return write_gemm(
        problem, {node.inputs[0].dtype, input_ref(1), input_ref(0), input_ref(2), output_ref(0)},
        writer);
}

// Which shader, and its workgroups.
void choose_shader(const ConvProblem& problem,
                   DType dtype,
                   const KernelLimits& limits,
                   KernelDispatch& dispatch) {
    constexpr uint32_t kFewChannels = 4;  // of a group: tiles of channels would stay empty
    const TiledResult result{problem.out_channels, problem.positions(), problem.groups};
    if (problem.out_channels >= kFewChannels) {
        const auto own = subgroup_tile_groups(result, limits);
        if (has_subgroup_tiles(limits) && dtype == DType::kFloat32 && are_possible(own, limits)) {
            const uint32_t rows = subgroup_tile_rows(result.rows);
            dispatch.shader = {fmt::format("conv_subgroup_tile_{}", rows), {limits.subgroup_size}};
            dispatch.groups = own;
            return;
        }
        const auto shared = shared_tile_groups(result, limits);
        if (has_shared_tiles(limits) && are_possible(shared, limits)) {
            dispatch.shader.name = shader_variant("conv_shared_tile", dtype);
            dispatch.groups = shared;
            return;
        }
    }
    const int64_t count = int64_t(problem.positions()) * problem.out_channels * problem.groups;
    dispatch.shader = {shader_variant("conv_general", dtype), {kWorkgroup}};
    dispatch.groups = groups_for(count, kWorkgroup, limits);
}

std::string refuse_conv(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_conv(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const Shape& y = node.outputs[0].shape;
    if (y.element_count() == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(
        const ConvGeometry geometry,
        ConvGeometry::make(node.node, node.inputs[0].shape, node.inputs[1].shape, y));
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].present();
    const std::span<const float> scale = weight_scale(node.node);
    if (scale.empty() && is_pointwise(geometry.window)) {
        return write_pointwise(node, geometry, has_bias, writer);
    }
    const ConvProblem problem{WindowParameters::make(geometry.window),
                              uint32_t(geometry.batch),
                              uint32_t(geometry.groups),
                              uint32_t(geometry.in_channels_per_group()),
                              uint32_t(geometry.out_channels_per_group()),
                              has_bias ? 1U : 0U,
                              scale.empty() ? 0U : 1U};
    const std::vector<std::byte> parameters = parameters_of(problem, scale);
    KernelDispatch dispatch;
    choose_shader(problem, node.inputs[0].dtype, writer.limits(), dispatch);
    dispatch.reads = {input_ref(0), input_ref(1), input_ref(has_bias ? 2 : 1)};
    dispatch.writes = {output_ref(0)};
    dispatch.parameters = parameters;
    // At a modest rate of a modest device, so that long sums end a submit.
    constexpr int64_t kFlopsPerNs = 10;
    const Shape& w = node.inputs[1].shape;
    dispatch.estimated_ns = 2 * y.element_count() * w.element_count(1, w.rank()) / kFlopsPerNs;
    return writer.dispatch(dispatch);
}

constexpr KernelEntry kKernels[] = {{"Conv", refuse_conv, write_conv}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> conv_vulkan_kernels() {
    return vulkan::kKernels;
}

}  // namespace leat
