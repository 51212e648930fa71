#include <fmt/format.h>

#include <algorithm>
#include <optional>

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

// y[n, g] = w[g] x[n, g], scales and the bias by rows.
Status write_pointwise(const KernelNode& node,
                       const ConvGeometry& geometry,
                       bool has_bias,
                       KernelWriter& writer) {
    const std::span<const float> scale = weight_scale(node.node);
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
    problem.scale_period = scale.empty() ? 0 : uint32_t(geometry.groups);
    return write_gemm(
        problem,
        {node.inputs[0].dtype, input_ref(1), input_ref(0), input_ref(2), output_ref(0), scale},
        writer);
}

constexpr uint32_t kFewChannels = 4;  // of a group: tiles of channels would stay empty

// Which variant, and its workgroups.
struct ConvShader {
    ShaderUse use;
    std::array<uint32_t, 3> groups{};
};

// Whether windows are such as conv_run.glsl takes.
bool has_runs(const WindowParameters& window) {
    return window.x_extents[0] == 1 && window.taps[0] == 1 && window.taps[2] == 3 &&
           window.dilation[2] == 1 && (window.stride[2] == 1 || window.stride[2] == 2);
}

uint32_t run_count(const ConvProblem& problem) {
    constexpr uint32_t kRunColumns = 8;
    const WindowParameters& window = problem.window;
    return problem.batch * window.y_extents[1] *
           ((window.y_extents[2] + kRunColumns - 1) / kRunColumns);
}

// Of CPU devices, for f32; none where no tiles fit.
std::optional<ConvShader> choose_tile(const ConvProblem& problem,
                                      bool has_windows,
                                      const KernelLimits& limits) {
    constexpr uint32_t kXAndW = 0b11;
    const uint32_t lanes = limits.subgroup_size;
    const bool is_depthwise = problem.in_channels == 1 && problem.out_channels < kFewChannels;
    const bool runs = has_windows && has_runs(problem.window);
    ConvShader shader;
    shader.use.vector_windows = runs ? kXAndW : 0;
    shader.use.windows = has_windows ? kXAndW : 0;
    shader.use.constants = {lanes};
    if (runs && is_depthwise) {
        shader.use.name = fmt::format("conv_run_depthwise_{}", problem.window.stride[2]);
        const int64_t count = int64_t(run_count(problem)) * problem.groups * problem.out_channels;
        shader.groups = groups_for(count, lanes, limits);
        return shader;
    }
    if (problem.out_channels < kFewChannels) {
        return std::nullopt;
    }
    const uint32_t rows = subgroup_tile_rows(problem.out_channels);
    shader.groups =
        subgroup_tile_groups({problem.out_channels, problem.positions(), problem.groups}, limits);
    if (runs) {
        shader.use.name = fmt::format("conv_run_tile_{}_{}", rows, problem.window.stride[2]);
        shader.groups[0] = (run_count(problem) + lanes - 1) / lanes;
    } else {
        shader.use.name =
            fmt::format("conv_subgroup_tile_{}{}", rows, has_windows ? "_floats" : "");
    }
    return are_possible(shader.groups, limits) ? std::optional(shader) : std::nullopt;
}

ConvShader choose_shader(const ConvProblem& problem,
                         DType dtype,
                         bool has_windows,
                         const KernelLimits& limits) {
    if (has_subgroup_tiles(limits) && dtype == DType::kFloat32) {
        if (std::optional<ConvShader> tile = choose_tile(problem, has_windows, limits)) {
            return *std::move(tile);
        }
    }
    ConvShader shader;
    shader.groups =
        shared_tile_groups({problem.out_channels, problem.positions(), problem.groups}, limits);
    if (problem.out_channels >= kFewChannels && has_shared_tiles(limits) &&
        are_possible(shader.groups, limits)) {
        shader.use.name = shader_variant("conv_shared_tile", dtype);
        return shader;
    }
    const int64_t count = int64_t(problem.positions()) * problem.out_channels * problem.groups;
    shader.use = {shader_variant("conv_general", dtype), {kWorkgroup}};
    shader.groups = groups_for(count, kWorkgroup, limits);
    return shader;
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
    if (is_pointwise(geometry.window)) {
        return write_pointwise(node, geometry, has_bias, writer);
    }
    const std::span<const float> scale = weight_scale(node.node);
    const ConvProblem problem{WindowParameters::make(geometry.window),
                              uint32_t(geometry.batch),
                              uint32_t(geometry.groups),
                              uint32_t(geometry.in_channels_per_group()),
                              uint32_t(geometry.out_channels_per_group()),
                              has_bias ? 1U : 0U,
                              scale.empty() ? 0U : 1U};
    const std::vector<std::byte> parameters = parameters_of(problem, scale);
    const Shape& x = node.inputs[0].shape;
    const Shape& w = node.inputs[1].shape;
    const DType dtype = node.inputs[0].dtype;
    const KernelLimits& limits = writer.limits();
    const int64_t largest = std::max(x.element_count(), w.element_count());
    const ConvShader shader =
        choose_shader(problem, dtype, largest <= limits.max_window_texels, limits);
    KernelDispatch dispatch;
    dispatch.shader = shader.use;
    dispatch.groups = shader.groups;
    dispatch.reads = {input_ref(0), input_ref(1), input_ref(has_bias ? 2 : 1)};
    if (shader.use.windows != 0) {
        constexpr int64_t kFloatBytes = sizeof(float);
        LEAT_RETURN_IF_ERROR(
            make_window(dispatch.reads[0], x.element_count() * kFloatBytes, writer));
        LEAT_RETURN_IF_ERROR(
            make_window(dispatch.reads[1], w.element_count() * kFloatBytes, writer));
    }
    dispatch.writes = {output_ref(0)};
    dispatch.parameters = parameters;
    // At a modest rate of a modest device, so that long sums end a submit.
    constexpr int64_t kFlopsPerNs = 10;
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
