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
constexpr uint32_t kTileColumns = 8;  // of a lane, as in gemm_subgroup_tile.comp
constexpr uint32_t kLanesOfA = 8;     // the same
// Below this many rows a transposed B is read in place: copying it costs as much as one pass.
constexpr uint32_t kRowsWorthCopy = 8;

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

uint32_t tile_rows(const GemmProblem& problem) {
    return problem.m <= 8 ? 8 : 16;
}

// Whether the tiles in registers of CPU devices take the product as it is.
bool fits_subgroup_tile(const GemmProblem& problem,
                        const GemmOperands& operands,
                        const KernelLimits& limits) {
    return limits.is_cpu && operands.dtype == DType::kFloat32 && problem.n >= kTileColumns &&
           problem.b_column == 1 && limits.subgroup_size >= kLanesOfA && problem.k > 0 &&
           divide_up(problem.m, tile_rows(problem)) <= limits.max_groups[1];
}

Status write_subgroup_tile(const GemmProblem& problem,
                           const GemmOperands& operands,
                           KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    const uint32_t rows = tile_rows(problem);
    KernelDispatch dispatch = base_dispatch(problem, operands);
    dispatch.shader = {fmt::format("gemm_subgroup_tile_{}", rows), {limits.subgroup_size}};
    dispatch.groups = {divide_up(problem.n, kTileColumns * limits.subgroup_size),
                       divide_up(problem.m, rows),
                       std::min(problem.batch_count, limits.max_groups[2])};
    return writer.dispatch(dispatch);
}

bool fits_shared_tile(const GemmProblem& problem,
                      const GemmOperands& operands,
                      const KernelLimits& limits) {
    constexpr uint32_t kInvocations = 256;
    constexpr uint32_t kSharedBytes = 16384;  // two 64 x 16 tiles of doubles
    return !limits.is_cpu && contains(kFloatTypes, operands.dtype) && problem.k > 0 &&
           limits.max_workgroup_invocations >= kInvocations &&
           limits.shared_memory_bytes > kSharedBytes &&
           divide_up(problem.m, 64) <= limits.max_groups[1];
}

Status write_shared_tile(const GemmProblem& problem,
                         const GemmOperands& operands,
                         KernelWriter& writer) {
    constexpr uint32_t kTile = 64;
    KernelDispatch dispatch = base_dispatch(problem, operands);
    dispatch.shader.name = fmt::format("gemm_shared_tile_{}", name_of(operands.dtype));
    dispatch.groups = {divide_up(problem.n, kTile), divide_up(problem.m, kTile),
                       std::min(problem.batch_count, writer.limits().max_groups[2])};
    return writer.dispatch(dispatch);
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

Status write_gemm(const GemmProblem& problem, const GemmOperands& operands, KernelWriter& writer) {
    if (problem.m == 0 || problem.n == 0 || problem.batch_count == 0) {
        return {};
    }
    GemmProblem own = problem;
    GemmOperands places = operands;
    const KernelLimits& limits = writer.limits();
    const bool is_worth_copy = limits.is_cpu && own.b_column != 1 && own.batch_count == 1 &&
                               own.m >= kRowsWorthCopy && own.n >= kTileColumns && own.k > 0 &&
                               operands.dtype == DType::kFloat32;
    if (is_worth_copy) {
        LEAT_RETURN_IF_ERROR(make_b_dense(own, places, writer));
    }
    if (fits_subgroup_tile(own, places, limits)) {
        return write_subgroup_tile(own, places, writer);
    }
    if (fits_shared_tile(own, places, limits)) {
        return write_shared_tile(own, places, writer);
    }
    return write_general(own, places, writer);
}

}  // namespace leat::vulkan
