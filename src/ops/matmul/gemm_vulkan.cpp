#include "ops/matmul/gemm_vulkan.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/round_up.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/matrix_tile_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/type_checks.h"

namespace leat::vulkan {
namespace {

// All but the shader; `parameters` outlive it.
KernelDispatch base_dispatch(const GemmProblem& problem,
                             const GemmOperands& operands,
                             std::span<const std::byte> parameters) {
    KernelDispatch dispatch;
    dispatch.reads = {operands.a, operands.b, problem.has_c != 0 ? operands.c : operands.a};
    dispatch.writes = {operands.y};
    dispatch.parameters = parameters;
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
    const std::vector<std::byte> parameters = parameters_of(problem, operands.row_scale);
    KernelDispatch dispatch = base_dispatch(problem, operands, parameters);
    dispatch.shader = {fmt::format("gemm_general_{}", suffix_of(operands.dtype)), {kWorkgroup}};
    LEAT_ASSIGN_OR_RETURN(
        dispatch.groups,
        groups_with_loops(count, kWorkgroup, loop_iterations(problem.k), writer.limits()));
    return writer.dispatch(dispatch);
}

TiledResult result_of(const GemmProblem& problem) {
    return {problem.m, problem.n, problem.batch_count};
}

// Variants of gemm_subgroup_tile.comp.
struct SubgroupTile {
    enum class Access : uint8_t { kAddresses, kFloats, kShifted, kVectors };
    uint32_t rows = 0;
    Access access = Access::kAddresses;

    // Elements of a lane.
    static constexpr uint32_t kVectorTile = 128;

    bool has_windows() const { return access != Access::kAddresses; }
    bool has_vectors() const { return access >= Access::kShifted; }
    uint32_t columns() const { return has_vectors() ? kVectorTile / rows : kLaneColumns; }
    std::string shader_name() const {
        constexpr std::string_view kNames[] = {"addresses", "floats", "shifted", "vectors"};
        return fmt::format("gemm_subgroup_tile_{}_{}", rows, kNames[size_t(access)]);
    }
    ShaderUse shader(const KernelLimits& limits) const {
        constexpr uint32_t kAAndB = 0b11;
        ShaderUse use{shader_name(), {limits.subgroup_size}};
        use.windows = has_windows() ? kAAndB : 0;
        use.vector_windows = has_vectors() ? kAAndB : 0;
        return use;
    }
    std::array<uint32_t, 3> groups(const GemmProblem& problem, const KernelLimits& limits) const {
        return {divide_up(problem.n, columns() * limits.subgroup_size), divide_up(problem.m, rows),
                std::min(problem.batch_count, limits.max_groups[2])};
    }
};
// By the numbers of gemm_variant_shader().
constexpr SubgroupTile kSubgroupTiles[kGemmVariants] = {
    {8, SubgroupTile::Access::kAddresses}, {16, SubgroupTile::Access::kAddresses},
    {8, SubgroupTile::Access::kFloats},    {16, SubgroupTile::Access::kFloats},
    {8, SubgroupTile::Access::kVectors},   {16, SubgroupTile::Access::kVectors},
    {16, SubgroupTile::Access::kShifted}};

// Texels of four floats: every row of A begins with one and is made of whole ones; the same of B.
bool has_vectors_of_a(const GemmProblem& problem) {
    const std::span batches = std::span(problem.a_batch).first(problem.batch_rank);
    return problem.a_k == 1 && is_whole_texels(problem.k) && is_whole_texels(problem.a_row) &&
           std::all_of(batches.begin(), batches.end(), is_whole_texels);
}
bool has_vectors_of_b(const GemmProblem& problem) {
    const std::span batches = std::span(problem.b_batch).first(problem.batch_rank);
    return is_whole_texels(problem.n) && is_whole_texels(problem.b_k) &&
           std::all_of(batches.begin(), batches.end(), is_whole_texels);
}

// Bytes of operands from their first element to their last one.
int64_t a_bytes(const GemmProblem& problem) {
    return bytes_of_floats(
        int64_t(problem.m - 1) * problem.a_row + int64_t(problem.k - 1) * problem.a_k,
        std::span(problem.batch_extents).first(problem.batch_rank), problem.a_batch);
}
int64_t b_bytes(const GemmProblem& problem) {
    return bytes_of_floats(int64_t(problem.k - 1) * problem.b_k + (problem.n - 1),
                           std::span(problem.batch_extents).first(problem.batch_rank),
                           problem.b_batch);
}

bool can_have(SubgroupTile tile,
              const GemmProblem& problem,
              const GemmOperands& operands,
              const KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    if (problem.n < tile.columns() || !are_possible(tile.groups(problem, limits), limits)) {
        return false;
    }
    if (!tile.has_windows()) {
        return true;
    }
    const int64_t texel_bytes = tile.has_vectors() ? 16 : 4;
    return (!tile.has_vectors() || has_vectors_of_a(problem)) &&
           (tile.access != SubgroupTile::Access::kVectors || has_vectors_of_b(problem)) &&
           std::max(a_bytes(problem), b_bytes(problem)) / texel_bytes <= limits.max_window_texels &&
           (problem.n >= kUsesWorthCopy || writer.can_be_window(operands.a)) &&
           (problem.m >= kUsesWorthCopy || writer.can_be_window(operands.b));
}

// The measured one, or where nobody measured the fastest of a sweep that the driver translates
// quickly (docs/measurements/vulkan.md).
SubgroupTile choose_tile(const GemmProblem& problem,
                         const GemmOperands& operands,
                         const KernelWriter& writer) {
    const MeasuredVariants* measured = writer.limits().measured;
    const std::optional<uint32_t> fastest =
        measured == nullptr ? std::nullopt
                            : measured->fastest(kGemmKernel, {problem.m, problem.n, problem.k});
    if (fastest && *fastest < kGemmVariants &&
        can_have(kSubgroupTiles[*fastest], problem, operands, writer)) {
        return kSubgroupTiles[*fastest];
    }
    const uint32_t rows = subgroup_tile_rows(problem.m);
    for (const SubgroupTile tile : {SubgroupTile{rows, SubgroupTile::Access::kVectors},
                                    SubgroupTile{16, SubgroupTile::Access::kShifted},
                                    SubgroupTile{rows, SubgroupTile::Access::kFloats}}) {
        if (can_have(tile, problem, operands, writer)) {
            return tile;
        }
    }
    return {rows, SubgroupTile::Access::kAddresses};
}

// Whether the tiles in registers of CPU devices take the product as it is.
bool fits_subgroup_tile(const GemmProblem& problem, DType dtype, const KernelLimits& limits) {
    const int64_t products = divide_up(problem.batch_count, limits.max_groups[2]);
    const int64_t product =
        loop_iterations(problem.k) + loop_iterations(kMaxRank) + stored_tile_iterations(limits);
    return loop_iterations(products, product) <= kMostIterations && has_subgroup_tiles(limits) &&
           dtype == DType::kFloat32 && problem.n >= kLaneColumns && problem.b_column == 1 &&
           problem.k > 0 && are_possible(subgroup_tile_groups(result_of(problem), limits), limits);
}

Status write_subgroup_tile(const GemmProblem& problem,
                           const GemmOperands& operands,
                           KernelWriter& writer) {
    const KernelLimits& limits = writer.limits();
    const SubgroupTile tile = choose_tile(problem, operands, writer);
    GemmOperands places = operands;
    if (tile.has_windows()) {
        LEAT_RETURN_IF_ERROR(make_window(places.a, a_bytes(problem), writer));
        LEAT_RETURN_IF_ERROR(make_window(places.b, b_bytes(problem), writer));
    }
    const std::vector<std::byte> parameters = parameters_of(problem, operands.row_scale);
    KernelDispatch dispatch = base_dispatch(problem, places, parameters);
    dispatch.shader = tile.shader(limits);
    dispatch.groups = tile.groups(problem, limits);
    return writer.dispatch(dispatch);
}

bool fits_shared_tile(const GemmProblem& problem, DType dtype, const KernelLimits& limits) {
    return has_shared_tiles(limits) && contains(kFloatTypes, dtype) && problem.k > 0 &&
           are_possible(shared_tile_groups(result_of(problem), limits), limits);
}

Status write_shared_tile(const GemmProblem& problem,
                         const GemmOperands& operands,
                         KernelWriter& writer) {
    const std::vector<std::byte> parameters = parameters_of(problem, operands.row_scale);
    KernelDispatch dispatch = base_dispatch(problem, operands, parameters);
    dispatch.shader.name = fmt::format("gemm_shared_tile_{}", name_of(operands.dtype));
    dispatch.groups = shared_tile_groups(result_of(problem), writer.limits());
    return writer.dispatch(dispatch);
}

MatrixProduct matrix_product(const GemmProblem& problem, DType dtype) {
    return {"gemm_matrix_tile", result_of(problem), problem.k, dtype};
}

// How a matrix tile is read: in lines, which are rows of the operand or its columns.
struct TileLines {
    bool is_by_column = false;
    bool is_whole = false;  // lines are dense, begin at multiples of 8 elements and have as many
};
struct LineStrides {
    uint32_t row = 0;
    uint32_t column = 0;
    uint32_t rows = 0;
    uint32_t columns = 0;
};
TileLines lines_of(const LineStrides& strides,
                   std::span<const uint32_t> batches,
                   const OperandRef& operand) {
    TileLines lines;
    lines.is_by_column = strides.column != 1 && strides.row == 1;
    const uint32_t dense = lines.is_by_column ? strides.row : strides.column;
    const uint32_t stride = lines.is_by_column ? strides.column : strides.row;
    const uint32_t length = lines.is_by_column ? strides.rows : strides.columns;
    lines.is_whole = dense == 1 && is_whole_units(stride) && is_whole_units(length) &&
                     std::all_of(batches.begin(), batches.end(), is_whole_units) &&
                     operand.offset_bytes % 16 == 0;
    return lines;
}

Status write_matrix_tile(const GemmProblem& problem,
                         const GemmOperands& operands,
                         KernelWriter& writer) {
    const TileLines a = lines_of({problem.a_row, problem.a_k, problem.m, problem.k},
                                 std::span(problem.a_batch).first(problem.batch_rank), operands.a);
    const TileLines b = lines_of({problem.b_k, problem.b_column, problem.k, problem.n},
                                 std::span(problem.b_batch).first(problem.batch_rank), operands.b);
    const uint32_t lines[] = {uint32_t(a.is_whole), uint32_t(b.is_whole), uint32_t(a.is_by_column),
                              uint32_t(b.is_by_column)};
    const std::vector<std::byte> parameters = parameters_of(problem, operands.row_scale);
    KernelDispatch dispatch = base_dispatch(problem, operands, parameters);
    const KernelDispatch tile =
        matrix_tile_dispatch(matrix_product(problem, operands.dtype), lines, writer.limits());
    dispatch.shader = tile.shader;
    dispatch.groups = tile.groups;
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

std::array<uint32_t, kMaxRank> batch_strides(const TensorArg& arg, int batch_rank) {
    std::array<uint32_t, kMaxRank> strides{};
    const int own = std::max(arg.shape.rank() - 2, 0);
    const auto lead = size_t(batch_rank - own);
    for (int axis = 0; axis < own; ++axis) {
        strides[lead + size_t(axis)] =
            arg.shape[axis] == 1 ? 0 : uint32_t(arg.strides[size_t(axis)]);
    }
    return strides;
}

int64_t bytes_of_floats(int64_t last_element,
                        std::span<const uint32_t> batch_extents,
                        std::span<const uint32_t> batch_strides) {
    for (size_t axis = 0; axis < batch_extents.size(); ++axis) {
        last_element += int64_t(batch_extents[axis] - 1) * batch_strides[axis];
    }
    return (last_element + 1) * int64_t(sizeof(float));
}

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

std::string gemm_variant_shader(uint32_t variant) {
    return kSubgroupTiles[variant].shader_name();
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
    if (fits_matrix_tile(matrix_product(own, places.dtype), limits)) {
        return write_matrix_tile(own, places, writer);
    }
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
