#include "ops/conv/conv_problem_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ops/matmul/matrix_tile_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kFewChannels = 4;  // of a group: tiles of channels would stay empty
constexpr uint32_t kXAndW = 0b11;
constexpr int64_t kFloatBytes = sizeof(float);

int64_t volume(const WindowParameters::Numbers& extents) {
    return int64_t(extents[0]) * extents[1] * extents[2];
}

// Which variant, and its workgroups.
struct ConvShader {
    ShaderUse use;
    std::array<uint32_t, 3> groups{};
};

// Rows of a tile, and whether its columns are a run in a row of y (conv_run_tile.comp) or any
// positions (conv_subgroup_tile.comp).
struct ConvTile {
    uint32_t rows = 0;
    bool has_runs = false;
};
// By the numbers of conv_variant_shader().
constexpr ConvTile kTiles[kConvVariants] = {{8, true}, {16, true}, {8, false}, {16, false}};

// Whether windows are such as conv_run.glsl takes.
bool has_runs(const WindowParameters& window) {
    return window.x_extents[0] == 1 && window.taps[0] == 1 && window.taps[2] == 3 &&
           window.dilation[2] == 1 && (window.stride[2] == 1 || window.stride[2] == 2);
}

uint32_t run_count(const ConvProblem& problem) {
    constexpr uint32_t kRunColumns = 7;  // of conv_run.glsl
    const WindowParameters& window = problem.window;
    return problem.batch * window.y_extents[1] *
           ((window.y_extents[2] + kRunColumns - 1) / kRunColumns);
}

// Of a problem that has runs; none where nobody measured its class.
std::optional<ConvTile> measured_tile(const ConvProblem& problem, const KernelLimits& limits) {
    const WindowParameters& window = problem.window;
    if (limits.measured == nullptr || window.taps[1] != 3 || window.dilation[1] != 1 ||
        window.stride[1] != window.stride[2]) {
        return std::nullopt;
    }
    const std::optional<uint32_t> fastest =
        limits.measured->fastest(kConvKernels[window.stride[2] - 1],
                                 {problem.out_channels, window.y_extents[2], problem.in_channels});
    return fastest && *fastest < kConvVariants ? std::optional(kTiles[*fastest]) : std::nullopt;
}

std::string shader_name(ConvTile tile, uint32_t stride, bool has_windows) {
    return tile.has_runs
               ? fmt::format("conv_run_tile_{}_{}", tile.rows, stride)
               : fmt::format("conv_subgroup_tile_{}{}", tile.rows, has_windows ? "_floats" : "");
}

ConvShader shader_of(const ConvProblem& problem,
                     ConvTile tile,
                     bool has_windows,
                     const KernelLimits& limits) {
    const uint32_t lanes = limits.subgroup_size;
    ConvShader shader;
    shader.use = {shader_name(tile, problem.window.stride[2], has_windows), {lanes}};
    shader.use.windows = has_windows ? kXAndW : 0;
    shader.use.vector_windows = tile.has_runs ? kXAndW : 0;
    shader.use.has_deep_loops = true;
    shader.groups =
        subgroup_tile_groups({problem.out_channels, problem.positions(), problem.groups}, limits);
    shader.groups[1] = (problem.out_channels + tile.rows - 1) / tile.rows;
    if (tile.has_runs) {
        shader.groups[0] = (run_count(problem) + lanes - 1) / lanes;
    }
    return shader;
}

std::optional<ConvShader> depthwise_runs(const ConvProblem& problem, const KernelLimits& limits) {
    const uint32_t lanes = limits.subgroup_size;
    const int64_t count = int64_t(run_count(problem)) * problem.groups * problem.out_channels;
    const auto groups =
        groups_with_loops(count, lanes, loop_iterations(problem.window.taps[1]), limits);
    if (!groups.ok()) {
        return std::nullopt;
    }
    ConvShader shader;
    shader.use = {fmt::format("conv_run_depthwise_{}", problem.window.stride[2]), {lanes}};
    shader.use.windows = shader.use.vector_windows = kXAndW;
    shader.groups = *groups;
    return shader;
}

// Iterations of an invocation of a tile: taps by input channels, of a row of taps together in runs,
// then its rows as it stores; for each of its groups.
int64_t tile_iterations(const ConvProblem& problem, ConvTile tile, const KernelLimits& limits) {
    const int64_t steps = volume(problem.window.taps) / (tile.has_runs ? 3 : 1);
    const int64_t groups = (problem.groups + limits.max_groups[2] - 1) / limits.max_groups[2];
    return loop_iterations(groups, loop_iterations(steps, loop_iterations(problem.in_channels)) +
                                       stored_tile_iterations(limits));
}

// Of CPU devices, for f32; none where no tiles fit.
std::optional<ConvShader> choose_tile(const ConvProblem& problem, const KernelLimits& limits) {
    const int64_t largest = std::max(problem.x_elements(), problem.w_elements());
    const bool has_windows = largest <= limits.max_window_texels;
    const bool runs = has_windows && has_runs(problem.window);
    if (runs && problem.in_channels == 1 && problem.out_channels < kFewChannels) {
        return depthwise_runs(problem, limits);
    }
    if (problem.out_channels < kFewChannels) {
        return std::nullopt;
    }
    ConvTile tile{subgroup_tile_rows(problem.out_channels), runs};
    if (runs) {
        tile = measured_tile(problem, limits).value_or(tile);
    }
    const ConvShader shader = shader_of(problem, tile, has_windows, limits);
    const bool is_possible = are_possible(shader.groups, limits) &&
                             tile_iterations(problem, tile, limits) <= kMostIterations;
    return is_possible ? std::optional(shader) : std::nullopt;
}

// Weights times x under the windows; none where the device has no matrices for that.
std::optional<ConvShader> matrix_tile(const ConvProblem& problem,
                                      const ConvOperands& operands,
                                      const KernelLimits& limits) {
    const MatrixProduct product{"conv_matrix_tile",
                                {problem.out_channels, problem.positions(), problem.groups},
                                problem.depth(),
                                operands.dtype};
    if (!fits_matrix_tile(product, limits)) {
        return std::nullopt;
    }
    const bool is_whole =
        is_whole_units(uint32_t(problem.depth())) && operands.w.offset_bytes % 16 == 0;
    const uint32_t constants[] = {uint32_t(is_whole)};
    const KernelDispatch tile = matrix_tile_dispatch(product, constants, limits);
    return ConvShader{tile.shader, tile.groups};
}

Result<ConvShader> choose_shader(const ConvProblem& problem,
                                 const ConvOperands& operands,
                                 const KernelLimits& limits) {
    const DType dtype = operands.dtype;
    if (std::optional<ConvShader> tile = matrix_tile(problem, operands, limits)) {
        return *std::move(tile);
    }
    if (has_subgroup_tiles(limits) && dtype == DType::kFloat32) {
        if (std::optional<ConvShader> tile = choose_tile(problem, limits)) {
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
    shader.use = {shader_variant("conv_general", dtype), {kWorkgroup}};
    LEAT_ASSIGN_OR_RETURN(shader.groups, groups_with_loops(problem.y_elements(), kWorkgroup,
                                                           problem.iterations(), limits));
    return shader;
}

}  // namespace

uint32_t ConvProblem::positions() const {
    return uint32_t(batch * volume(window.y_extents));
}
int64_t ConvProblem::x_elements() const {
    return int64_t(batch) * groups * in_channels * volume(window.x_extents);
}
int64_t ConvProblem::w_elements() const {
    return int64_t(groups) * out_channels * depth();
}
int64_t ConvProblem::y_elements() const {
    return int64_t(positions()) * groups * out_channels;
}
int64_t ConvProblem::depth() const {
    return in_channels * volume(window.taps);
}
int64_t ConvProblem::iterations() const {
    const auto [d, h, w] = window.taps;
    return loop_iterations(in_channels, loop_iterations(d, loop_iterations(h, loop_iterations(w))));
}

std::string conv_variant_shader(uint32_t variant, uint32_t stride) {
    return shader_name(kTiles[variant], stride, true);
}

Status write_conv(const ConvProblem& problem, const ConvOperands& operands, KernelWriter& writer) {
    const std::vector<std::byte> parameters = parameters_of(problem, operands.scale);
    LEAT_ASSIGN_OR_RETURN(const ConvShader shader,
                          choose_shader(problem, operands, writer.limits()));
    KernelDispatch dispatch;
    dispatch.shader = shader.use;
    dispatch.groups = shader.groups;
    dispatch.reads = {operands.x, operands.w, problem.has_bias != 0 ? operands.bias : operands.w};
    if (shader.use.windows != 0) {
        LEAT_RETURN_IF_ERROR(
            make_window(dispatch.reads[0], problem.x_elements() * kFloatBytes, writer));
        LEAT_RETURN_IF_ERROR(
            make_window(dispatch.reads[1], problem.w_elements() * kFloatBytes, writer));
    }
    dispatch.writes = {operands.y};
    dispatch.parameters = parameters;
    // At a modest rate of a modest device, so that long sums end a submit.
    constexpr int64_t kFlopsPerNs = 10;
    dispatch.estimated_ns = 2 * problem.y_elements() * problem.depth() / kFlopsPerNs;
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
