#include "ops/attention/fused_attention_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/round_up.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/gemm_vulkan.h"

namespace leat::vulkan {
namespace {

// As in shaders/attention_problem.glsl.
struct AttentionProblem {
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t depth = 0;
    uint32_t columns = 0;
    uint32_t q_row = 0;
    uint32_t q_depth = 0;
    uint32_t k_key = 0;
    uint32_t k_depth = 0;
    uint32_t v_key = 0;
    uint32_t v_column = 0;
    uint32_t y_row = 0;
    uint32_t batch_count = 1;
    uint32_t batch_rank = 0;
    std::array<uint32_t, kMaxRank> batch_extents{};
    std::array<uint32_t, kMaxRank> q_batch{};
    std::array<uint32_t, kMaxRank> k_batch{};
    std::array<uint32_t, kMaxRank> v_batch{};
    std::array<uint32_t, kMaxRank> y_batch{};
};

constexpr DTypeSet kSharedTileTypes = dtype_set(DType::kFloat32, DType::kFloat16, DType::kBfloat16);
// Of attention_shared_tile.comp.
constexpr uint32_t kSharedRows = 32;
constexpr uint32_t kSharedColumns = 64;
// Of attention_subgroup_tile.comp.
constexpr uint32_t kFewTileRows = 8;
constexpr uint32_t kManyTileRows = 16;
constexpr uint32_t kFewLaneColumns = 8;
constexpr uint32_t kManyLaneColumns = 16;

int64_t extent_from_last(const TensorArg& arg, int from_last) {
    return arg.shape[arg.shape.rank() - from_last];
}
uint32_t stride_from_last(const TensorArg& arg, int from_last) {
    return uint32_t(arg.strides[size_t(arg.shape.rank() - from_last)]);
}

AttentionProblem problem_of(const AttentionArgs& args) {
    AttentionProblem problem;
    problem.rows = uint32_t(extent_from_last(args.q, 2));
    problem.keys = uint32_t(extent_from_last(args.k_transposed, 1));
    problem.depth = uint32_t(extent_from_last(args.q, 1));
    problem.columns = uint32_t(extent_from_last(args.v, 1));
    problem.q_row = stride_from_last(args.q, 2);
    problem.q_depth = stride_from_last(args.q, 1);
    problem.k_key = stride_from_last(args.k_transposed, 1);
    problem.k_depth = stride_from_last(args.k_transposed, 2);
    problem.v_key = stride_from_last(args.v, 2);
    problem.v_column = stride_from_last(args.v, 1);
    problem.y_row = stride_from_last(args.y, 2);
    const int batch_rank = args.y.shape.rank() - 2;
    problem.batch_rank = uint32_t(batch_rank);
    problem.batch_count = uint32_t(args.y.shape.element_count(0, batch_rank));
    for (int axis = 0; axis < batch_rank; ++axis) {
        problem.batch_extents[size_t(axis)] = uint32_t(args.y.shape[axis]);
    }
    problem.q_batch = batch_strides(args.q, batch_rank);
    problem.k_batch = batch_strides(args.k_transposed, batch_rank);
    problem.v_batch = batch_strides(args.v, batch_rank);
    problem.y_batch = batch_strides(args.y, batch_rank);
    return problem;
}

// Texels of four floats begin at every row that is read.
bool has_vectors(const AttentionProblem& problem) {
    const auto are_whole = [&](const std::array<uint32_t, kMaxRank>& strides) {
        return std::all_of(strides.begin(), strides.end(), is_whole_texels);
    };
    return is_whole_texels(problem.q_row) && is_whole_texels(problem.k_key) &&
           is_whole_texels(problem.v_key) && are_whole(problem.q_batch) &&
           are_whole(problem.k_batch) && are_whole(problem.v_batch);
}

std::array<int64_t, 3> window_bytes(const AttentionProblem& problem) {
    const auto rows = [](uint32_t count, uint32_t stride, uint32_t columns) {
        return int64_t(count - 1) * stride + columns - 1;
    };
    const std::span extents = std::span(problem.batch_extents).first(problem.batch_rank);
    return {
        bytes_of_floats(rows(problem.rows, problem.q_row, problem.depth), extents, problem.q_batch),
        bytes_of_floats(rows(problem.keys, problem.k_key, problem.depth), extents, problem.k_batch),
        bytes_of_floats(rows(problem.keys, problem.v_key, problem.columns), extents,
                        problem.v_batch)};
}

bool can_have_windows(const AttentionProblem& problem, const KernelLimits& limits) {
    constexpr int64_t kTexelBytes = 16;
    const std::array<int64_t, 3> bytes = window_bytes(problem);
    return has_vectors(problem) &&
           *std::max_element(bytes.begin(), bytes.end()) / kTexelBytes <= limits.max_window_texels;
}

// Tall tiles read K and V less often, and are worth it where these do not stay in near caches
// (docs/measurements/vulkan.md).
uint32_t tile_rows(const AttentionProblem& problem, bool has_windows) {
    return problem.rows == 1                                ? 1
           : has_windows && problem.rows > 2 * kFewTileRows ? kManyTileRows
                                                            : kFewTileRows;
}

uint32_t lane_columns(const AttentionProblem& problem, const KernelLimits& limits) {
    return problem.columns <= kFewLaneColumns * limits.subgroup_size ? kFewLaneColumns
                                                                     : kManyLaneColumns;
}

std::array<uint32_t, 3> subgroup_groups(const AttentionProblem& problem,
                                        uint32_t tile_rows,
                                        const KernelLimits& limits) {
    return {1, divide_up(problem.rows, tile_rows),
            std::min(problem.batch_count, limits.max_groups[2])};
}

// Iterations of all loops that an invocation runs: Mesa's device ends loops after 65,535 of them. A
// block of keys is a loop over depth, one over rows with two reductions over the lanes each, and
// one over keys.
int64_t iterations_of(const AttentionProblem& problem, const KernelLimits& limits) {
    constexpr uint32_t kLaneKeys = 4;
    const uint32_t blocks = divide_up(problem.keys, kLaneKeys * limits.subgroup_size);
    const int64_t reductions = 2 * int64_t(std::bit_width(limits.subgroup_size));
    const int64_t rows = problem.rows == 1 ? 1 : kManyTileRows;
    const int64_t values = loop_iterations(kLaneKeys, loop_iterations(limits.subgroup_size / 8));
    const int64_t block =
        loop_iterations(problem.depth / 4) + loop_iterations(rows, reductions) + values;
    const uint32_t products = divide_up(problem.batch_count, limits.max_groups[2]);
    return loop_iterations(products, loop_iterations(blocks, block) + loop_iterations(kMaxRank) +
                                         loop_iterations(rows));
}

std::array<uint32_t, 3> shared_groups(const AttentionProblem& problem, const KernelLimits& limits) {
    return {divide_up(problem.columns, kSharedColumns), divide_up(problem.rows, kSharedRows),
            std::min(problem.batch_count, limits.max_groups[2])};
}

std::string subgroup_refusal(const AttentionProblem& problem,
                             DType dtype,
                             const KernelLimits& limits) {
    if (dtype != DType::kFloat32) {
        return fmt::format("elements {} on a CPU device", name_of(dtype));
    }
    if (!is_whole_texels(problem.depth) || !is_whole_texels(problem.columns) ||
        problem.q_depth != 1 || problem.k_depth != 1 || problem.v_column != 1) {
        return "rows that are no whole vectors";
    }
    // Several groups of columns would each compute the scores again: then the commands that the
    // kernel replaces are as fast (docs/measurements/vulkan.md).
    if (problem.columns > kManyLaneColumns * limits.subgroup_size) {
        return "more columns than lanes hold";
    }
    if (iterations_of(problem, limits) > kMostIterations) {
        return "more keys than one loop of Mesa's device can have";
    }
    // By addresses many rows are slower than the commands.
    constexpr uint32_t kMostRowsByAddresses = 32;
    if (problem.rows > kMostRowsByAddresses && !can_have_windows(problem, limits)) {
        return "many rows without windows";
    }
    return are_possible(subgroup_groups(problem, tile_rows(problem, false), limits), limits)
               ? ""
               : "too many rows";
}

KernelDispatch base_dispatch(const AttentionProblem& problem) {
    KernelDispatch dispatch;
    dispatch.reads = {input_ref(0), input_ref(1), input_ref(2)};
    dispatch.writes = {output_ref(0)};
    dispatch.parameters = std::as_bytes(std::span(&problem, 1));
    // At a modest rate of a modest device, as products.
    constexpr int64_t kFlopsPerNs = 10;
    dispatch.estimated_ns = 2 * int64_t(problem.rows) * problem.keys *
                            (int64_t(problem.depth) + problem.columns) *
                            int64_t(problem.batch_count) / kFlopsPerNs;
    return dispatch;
}

bool has_windows(const AttentionProblem& problem, const KernelWriter& writer) {
    if (!can_have_windows(problem, writer.limits())) {
        return false;
    }
    const bool is_worth_copy = std::min(problem.rows, problem.keys) >= kUsesWorthCopy;
    return is_worth_copy ||
           (writer.can_be_window(input_ref(0)) && writer.can_be_window(input_ref(1)) &&
            writer.can_be_window(input_ref(2)));
}

Status write_subgroup_tile(const AttentionProblem& problem, KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    const bool windows = has_windows(problem, writer);
    KernelDispatch dispatch = base_dispatch(problem);
    const uint32_t rows = tile_rows(problem, windows);
    dispatch.groups = subgroup_groups(problem, rows, limits);
    dispatch.shader = {
        fmt::format("attention_subgroup_tile_{}x{}_{}", rows, lane_columns(problem, limits),
                    windows ? "vectors" : "addresses"),
        {limits.subgroup_size}};
    if (windows) {
        constexpr uint32_t kAll = 0b111;
        dispatch.shader.windows = kAll;
        dispatch.shader.vector_windows = kAll;
        const std::array<int64_t, 3> bytes = window_bytes(problem);
        for (size_t i = 0; i < bytes.size(); ++i) {
            LEAT_RETURN_IF_ERROR(make_window(dispatch.reads[i], bytes[i], writer));
        }
    }
    return writer.dispatch(dispatch);
}

}  // namespace

std::string attention_refusal(const AttentionArgs& args, const KernelLimits& limits) {
    const DType dtype = args.q.dtype;
    constexpr int64_t kElementLimit = int64_t{1} << 31;
    const AttentionProblem problem = problem_of(args);
    const int64_t scores = int64_t(problem.rows) * problem.keys * int64_t(problem.batch_count);
    if (args.y.shape.element_count() == 0 || scores == 0 || problem.depth == 0 ||
        scores >= kElementLimit) {
        return "no scores, or 2^31 and more";
    }
    if (has_subgroup_tiles(limits)) {
        return subgroup_refusal(problem, dtype, limits);
    }
    if (!has_shared_tiles(limits) || !contains(kSharedTileTypes, dtype)) {
        return fmt::format("no tiles of elements {}", name_of(dtype));
    }
    return are_possible(shared_groups(problem, limits), limits) ? "" : "too many rows";
}

Status write_attention(const AttentionArgs& args, KernelWriter& writer) {
    const AttentionProblem problem = problem_of(args);
    if (has_subgroup_tiles(writer.limits())) {
        return write_subgroup_tile(problem, writer);
    }
    KernelDispatch dispatch = base_dispatch(problem);
    dispatch.shader.name = fmt::format("attention_shared_tile_{}", name_of(args.q.dtype));
    dispatch.groups = shared_groups(problem, writer.limits());
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
