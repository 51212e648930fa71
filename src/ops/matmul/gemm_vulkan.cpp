#include "ops/matmul/gemm_vulkan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/type_checks.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kWorkgroup = 64;

uint32_t divide_up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

KernelDispatch base_dispatch(const GemmProblem& problem, const GemmOperands& operands) {
    KernelDispatch dispatch;
    dispatch.reads = {operands.a, operands.b, problem.has_c != 0 ? operands.c : operands.a};
    dispatch.writes = {operands.y};
    dispatch.parameters = std::as_bytes(std::span(&problem, 1));
    // At a modest rate of a modest device, so that long products end a submit.
    constexpr int64_t kFlopsPerNs = 10;
    dispatch.estimated_ns =
        2 * int64_t(problem.m) * problem.n * problem.k * int64_t(problem.batch_count) / kFlopsPerNs;
    return dispatch;
}

// Signed and unsigned products are the same bits.
std::string_view suffix_of(DType dtype) {
    switch (dtype) {
        case DType::kInt32:
        case DType::kUint32:
            return "u32";
        case DType::kInt64:
        case DType::kUint64:
            return "u64";
        default:
            return name_of(dtype);
    }
}

Status write_general(const GemmProblem& problem,
                     const GemmOperands& operands,
                     KernelWriter& writer) {
    const int64_t count = int64_t(problem.m) * problem.n * int64_t(problem.batch_count);
    KernelDispatch dispatch = base_dispatch(problem, operands);
    dispatch.shader = {fmt::format("gemm_general_{}", suffix_of(operands.dtype)), {kWorkgroup}};
    dispatch.groups = groups_for(count, kWorkgroup, writer.limits());
    return writer.dispatch(dispatch);
}

TiledResult result_of(const GemmProblem& problem) {
    return {problem.m, problem.n, problem.batch_count};
}

// Whether the tiles in registers of CPU devices take the product as it is.
bool fits_subgroup_tile(const GemmProblem& problem, DType dtype, const KernelLimits& limits) {
    return has_subgroup_tiles(limits) && dtype == DType::kFloat32 && problem.n >= kLaneColumns &&
           problem.b_column == 1 && problem.k > 0 &&
           are_possible(subgroup_tile_groups(result_of(problem), limits), limits);
}

Status write_subgroup_tile(const GemmProblem& problem,
                           const GemmOperands& operands,
                           KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    KernelDispatch dispatch = base_dispatch(problem, operands);
    dispatch.shader = {fmt::format("gemm_subgroup_tile_{}", subgroup_tile_rows(problem.m)),
                       {limits.subgroup_size}};
    dispatch.groups = subgroup_tile_groups(result_of(problem), limits);
    return writer.dispatch(dispatch);
}

bool fits_shared_tile(const GemmProblem& problem, DType dtype, const KernelLimits& limits) {
    return has_shared_tiles(limits) && contains(kFloatTypes, dtype) && problem.k > 0 &&
           are_possible(shared_tile_groups(result_of(problem), limits), limits);
}

Status write_shared_tile(const GemmProblem& problem,
                         const GemmOperands& operands,
                         KernelWriter& writer) {
    KernelDispatch dispatch = base_dispatch(problem, operands);
    dispatch.shader.name = fmt::format("gemm_shared_tile_{}", name_of(operands.dtype));
    dispatch.groups = shared_tile_groups(result_of(problem), writer.limits());
    return writer.dispatch(dispatch);
}

void make_y_dense(GemmProblem& problem) {
    problem.y_row = problem.n;
    uint32_t stride = problem.m * problem.n;
    for (size_t axis = problem.batch_rank; axis-- > 0;) {
        problem.y_batch[axis] = stride;
        stride *= problem.batch_extents[axis];
    }
}

// B^T of a single product as a dense matrix in scratch.
Status make_b_dense(GemmProblem& problem, GemmOperands& operands, KernelWriter& writer) {
    const auto bytes = int64_t(sizeof(float)) * problem.k * problem.n;
    const OperandRef dense = writer.scratch(bytes);
    const Shape shape{problem.k, problem.n};
    CopyEnd from{operands.b};
    from.strides = {problem.b_k, problem.b_column};
    LEAT_RETURN_IF_ERROR(write_strided_copy(writer, DType::kFloat32, shape, from,
                                            {dense, 0, row_major_strides(shape)}));
    operands.b = dense;
    problem.b_k = problem.n;
    problem.b_column = 1;
    return {};
}

}  // namespace

bool has_subgroup_tiles(const KernelLimits& limits) {
    constexpr uint32_t kBroadcastLanes = 8;
    return limits.is_cpu && limits.subgroup_size >= kBroadcastLanes;
}

bool has_shared_tiles(const KernelLimits& limits) {
    constexpr uint32_t kInvocations = 256;
    constexpr uint32_t kSharedBytes = 16384;  // two 64 x 16 tiles of doubles
    return !limits.is_cpu && limits.max_workgroup_invocations >= kInvocations &&
           limits.shared_memory_bytes >= kSharedBytes;
}

std::array<uint32_t, 3> subgroup_tile_groups(const TiledResult& result,
                                             const KernelLimits& limits) {
    return {divide_up(result.columns, kLaneColumns * limits.subgroup_size),
            divide_up(result.rows, subgroup_tile_rows(result.rows)),
            std::min(result.batch, limits.max_groups[2])};
}

std::array<uint32_t, 3> shared_tile_groups(const TiledResult& result, const KernelLimits& limits) {
    return {divide_up(result.columns, kSharedTile), divide_up(result.rows, kSharedTile),
            std::min(result.batch, limits.max_groups[2])};
}

bool are_possible(const std::array<uint32_t, 3>& groups, const KernelLimits& limits) {
    return std::equal(groups.begin(), groups.end(), limits.max_groups.begin(),
                      [](uint32_t wanted, uint32_t most) { return wanted <= most; });
}

Status write_gemm(const GemmProblem& problem, const GemmOperands& operands, KernelWriter& writer) {
    if (problem.m == 0 || problem.n == 0 || problem.batch_count == 0) {
        return {};
    }
    GemmProblem own = problem;
    GemmOperands places = operands;
    if (own.y_row == 0) {
        make_y_dense(own);
    }
    const KernelLimits& limits = writer.limits();
    const bool is_worth_copy = limits.is_cpu && own.b_column != 1 && own.batch_count == 1 &&
                               own.m >= kRowsWorthCopy && own.n >= kLaneColumns && own.k > 0 &&
                               operands.dtype == DType::kFloat32;
    if (is_worth_copy) {
        LEAT_RETURN_IF_ERROR(make_b_dense(own, places, writer));
    }
    if (fits_subgroup_tile(own, places.dtype, limits)) {
        return write_subgroup_tile(own, places, writer);
    }
    if (fits_shared_tile(own, places.dtype, limits)) {
        return write_shared_tile(own, places, writer);
    }
    return write_general(own, places, writer);
}

}  // namespace leat::vulkan
