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

// A tile of gemm_subgroup_tile.comp, which holds 24 rows of 12 columns, or fewer rows of 8.
struct SubgroupTile {
    uint32_t rows = 0;
    bool has_windows = false;

    uint32_t columns() const { return rows < 24 ? kLaneColumns : 12; }
    std::array<uint32_t, 3> groups(const GemmProblem& problem, const KernelLimits& limits) const {
        return {divide_up(problem.n, columns() * limits.subgroup_size), divide_up(problem.m, rows),
                std::min(problem.batch_count, limits.max_groups[2])};
    }
    bool fits(const GemmProblem& problem, const KernelLimits& limits) const {
        return problem.n >= columns() && are_possible(groups(problem, limits), limits);
    }
};
// By the numbers of gemm_variant_name().
constexpr SubgroupTile kSubgroupTiles[kGemmVariants] = {{8, false}, {16, false}, {24, false},
                                                        {8, true},  {16, true},  {24, true}};

// Whether the tiles in registers of CPU devices take the product as it is.
bool fits_subgroup_tile(const GemmProblem& problem, DType dtype, const KernelLimits& limits) {
    return has_subgroup_tiles(limits) && dtype == DType::kFloat32 && problem.b_column == 1 &&
           problem.k > 0 && SubgroupTile{subgroup_tile_rows(problem.m)}.fits(problem, limits);
}

// Where nobody measured. The largest tile is a seventh faster than that of 16 rows, but the driver
// takes 0.4 s longer to translate it: only long products are worth that.
SubgroupTile shipped_tile(const GemmProblem& problem, const KernelLimits& limits) {
    constexpr int64_t kLongProduct = int64_t{1} << 28;
    const SubgroupTile largest{24, true};
    const bool is_long = int64_t(problem.m) * problem.n * problem.k >= kLongProduct;
    return is_long && problem.m >= largest.rows && largest.fits(problem, limits)
               ? largest
               : SubgroupTile{subgroup_tile_rows(problem.m), true};
}

SubgroupTile choose_tile(const GemmProblem& problem, const KernelLimits& limits) {
    if (limits.measured != nullptr) {
        const std::optional<uint32_t> fastest =
            limits.measured->fastest(kGemmKernel, {problem.m, problem.n, problem.k});
        if (fastest && *fastest < kGemmVariants && kSubgroupTiles[*fastest].fits(problem, limits)) {
            return kSubgroupTiles[*fastest];
        }
    }
    return shipped_tile(problem, limits);
}

// Bytes from the first element of an operand to its last one.
int64_t bytes_of(const GemmProblem& problem,
                 int64_t last_element,
                 const std::array<uint32_t, kMaxRank>& batch_strides) {
    for (size_t axis = 0; axis < problem.batch_rank; ++axis) {
        last_element += int64_t(problem.batch_extents[axis] - 1) * batch_strides[axis];
    }
    return (last_element + 1) * int64_t(sizeof(float));
}
int64_t a_bytes(const GemmProblem& problem) {
    return bytes_of(problem,
                    int64_t(problem.m - 1) * problem.a_row + int64_t(problem.k - 1) * problem.a_k,
                    problem.a_batch);
}
int64_t b_bytes(const GemmProblem& problem) {
    return bytes_of(problem, int64_t(problem.k - 1) * problem.b_k + (problem.n - 1),
                    problem.b_batch);
}

// Whether the columns of each lane begin at a multiple of 16 bytes in B, as its window needs it.
bool has_aligned_b(const GemmProblem& problem) {
    constexpr uint32_t kVector = 4;
    const auto batch = std::span(problem.b_batch).first(problem.batch_rank);
    return problem.n % kVector == 0 && problem.b_k % kVector == 0 &&
           std::all_of(batch.begin(), batch.end(),
                       [](uint32_t stride) { return stride % kVector == 0; });
}

// Rows of B that one window holds, where it does not hold all of them; each part of B then begins
// at a multiple of 256 bytes, which every device takes. 0: none.
uint32_t rows_of_window(const GemmProblem& problem, const KernelLimits& limits) {
    constexpr int64_t kStep = 64;
    const int64_t row_bytes = int64_t(problem.b_k) * int64_t(sizeof(float));
    const bool has_parts = problem.batch_count == 1 && row_bytes > 0;
    return has_parts ? uint32_t(limits.max_window_bytes / row_bytes / kStep * kStep) : 0;
}

// Tensors that lie elsewhere in each run become windows by a copy, which costs less than the
// product gains where each element is used this often.
constexpr uint32_t kUsesWorthCopy = 256;

// Makes the operand one that can be a window.
Status make_window(OperandRef& operand, int64_t bytes, KernelWriter& writer) {
    if (!writer.can_be_window(operand)) {
        const OperandRef copy = writer.scratch(bytes);
        LEAT_RETURN_IF_ERROR(writer.copy(operand, copy, bytes));
        operand = copy;
    }
    return Status();
}

Status write_tile(const GemmProblem& problem,
                  const GemmOperands& operands,
                  SubgroupTile tile,
                  bool is_partial,
                  KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    KernelDispatch dispatch = base_dispatch(problem, operands);
    dispatch.shader = {
        fmt::format("gemm_subgroup_tile_{}{}", tile.rows, tile.has_windows ? "_windows" : ""),
        {limits.subgroup_size}};
    dispatch.groups = tile.groups(problem, limits);
    dispatch.is_partial = is_partial;
    if (tile.has_windows) {
        constexpr uint32_t kAAndB = 0b11;
        dispatch.shader.windows = kAAndB;
        dispatch.reads[0].size_bytes = a_bytes(problem);
        dispatch.reads[1].size_bytes = b_bytes(problem);
    }
    return writer.dispatch(dispatch);
}

// A single product in parts of `rows` rows of B; each but the last one leaves its sums in scratch.
Status write_parts(const GemmProblem& problem,
                   const GemmOperands& operands,
                   SubgroupTile tile,
                   uint32_t rows,
                   KernelWriter& writer) {
    const int64_t sum_bytes = int64_t(problem.m) * problem.n * int64_t(sizeof(float));
    GemmProblem part = problem;
    GemmOperands places = operands;
    std::array<OperandRef, 2> sums{};
    for (uint32_t begin = 0; begin < problem.k; begin += rows) {
        part.k = std::min(rows, problem.k - begin);
        const bool is_last = begin + part.k == problem.k;
        OperandRef& sum = sums[begin / rows % 2];
        if (!is_last && begin / rows < sums.size()) {
            sum = writer.scratch(sum_bytes);
        }
        part.y_row = is_last ? problem.y_row : problem.n;
        places.y = is_last ? operands.y : sum;
        LEAT_RETURN_IF_ERROR(write_tile(part, places, tile, !is_last, writer));
        places.a.offset_bytes += int64_t(sizeof(float)) * part.k * problem.a_k;
        places.b.offset_bytes += int64_t(sizeof(float)) * part.k * problem.b_k;
        places.c = sum;
        part.has_c = 1;
        part.beta = 1;
        part.c_row = problem.n;
        part.c_column = 1;
    }
    return Status();
}

Status write_subgroup_tile(const GemmProblem& problem,
                           const GemmOperands& operands,
                           KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    SubgroupTile tile = choose_tile(problem, limits);
    const bool is_whole = b_bytes(problem) <= limits.max_window_bytes;
    const uint32_t rows = is_whole ? problem.k : rows_of_window(problem, limits);
    tile.has_windows = tile.has_windows && rows > 0 && has_aligned_b(problem) &&
                       a_bytes(problem) <= limits.max_window_bytes &&
                       (problem.n >= kUsesWorthCopy || writer.can_be_window(operands.a)) &&
                       (problem.m >= kUsesWorthCopy || writer.can_be_window(operands.b));
    if (!tile.has_windows) {
        return write_tile(problem, operands, tile, false, writer);
    }
    GemmOperands places = operands;
    LEAT_RETURN_IF_ERROR(make_window(places.a, a_bytes(problem), writer));
    LEAT_RETURN_IF_ERROR(make_window(places.b, b_bytes(problem), writer));
    return is_whole ? write_tile(problem, places, tile, false, writer)
                    : write_parts(problem, places, tile, rows, writer);
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

std::string gemm_variant_name(uint32_t variant) {
    const SubgroupTile& tile = kSubgroupTiles[variant];
    return fmt::format("{}x{} {}", tile.rows, tile.columns(),
                       tile.has_windows ? "windows" : "addresses");
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
