// MatMulInteger and QLinearMatMul on the integer tile: constant B is packed once, other B by each
// tile. Zero points are taken out of the sums at the end.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/integer_gemm.h"
#include "base/parts.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/matmul_integer/requantize.h"

namespace leat {
namespace cpu {
namespace {

constexpr int64_t kLine = 64;

// y[row, :] = a[row, :] b(group); every group_rows rows share one matrix of b.
struct IntegerProduct {
    QuantizedOperands operands;
    MatMulGeometry geometry;
    int64_t n = 0;
    int64_t k = 0;
    int64_t groups = 1;
    int64_t group_rows = 0;
    int64_t b_matrix_count = 1;
    DType a = DType::kUint8;
    DType b = DType::kUint8;
    DType y = DType::kInt32;
    int64_t a_zero_stride = 0;
    int64_t b_zero_stride = 0;
    int64_t b_scale_stride = 0;
};

// A panel's columns in the packed form, padded to whole panels.
struct Columns {
    std::array<int32_t, kMaxIntegerColumns> zeros;
    std::array<int32_t, kMaxIntegerColumns> sums;
    std::array<float, kMaxIntegerColumns> factors;
};

class IntegerProductKernel final : public CpuKernel {
  public:
    IntegerProductKernel(const IntegerProduct& product, std::shared_ptr<const std::byte> packed);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

  private:
    struct Block {
        int64_t group;
        int64_t first_row;  // of the group
        int64_t rows;
        int64_t first_panel;
        int64_t end_panel;
    };
    struct Scratch {
        std::byte* a;
        int32_t* a_sums;
        int8_t* panel;
        int32_t* sums;
    };
    Block block_of(int64_t tile) const;
    void run_tile(const KernelArgs& args, const Block& block, const Scratch& scratch) const;
    // The panel, packed now or before, and what belongs to its columns.
    const int8_t* bind_panel(const KernelArgs& args,
                             const Block& block,
                             int64_t panel,
                             int8_t* scratch,
                             Columns& columns) const;
    void finish_row(const KernelArgs& args,
                    const Columns& columns,
                    int64_t row,
                    int64_t first_column,
                    int32_t a_sum,
                    int32_t* sums) const;

    const IntegerGemm& gemm_ = integer_gemm();
    IntegerProduct product_;
    std::shared_ptr<const std::byte> packed_;  // null: b is read at run time
    int64_t row_blocks_ = 1;
    int64_t panel_blocks_ = 1;
    int64_t block_rows_ = 0;  // the most that a block has
    // Bytes from the beginning of the scratch memory.
    int64_t a_sums_at_ = 0;
    int64_t panel_at_ = 0;
    int64_t sums_at_ = 0;
};

IntegerProductKernel::IntegerProductKernel(const IntegerProduct& product,
                                           std::shared_ptr<const std::byte> packed)
    : product_(product), packed_(std::move(packed)) {
    // Rows of a that stay packed in the L2 cache; where each block packs b anew, more of them.
    const int64_t wanted_rows = packed_ != nullptr ? 4 * gemm_.max_rows : 16 * gemm_.max_rows;
    // About 20 us.
    const double wanted_macs = 20e3 * gemm_.macs_per_ns;
    row_blocks_ = std::max<int64_t>(1, divide_up(product.group_rows, wanted_rows));
    block_rows_ = divide_up(product.group_rows, row_blocks_);
    const double panel_macs = double(block_rows_) * double(product.k) * double(gemm_.columns);
    const auto wanted_panels =
        std::max<int64_t>(1, int64_t(wanted_macs / std::max(panel_macs, 1.0)));
    const int64_t panels = std::max<int64_t>(1, gemm_.panels(product.n));
    panel_blocks_ = divide_up(panels, std::min(wanted_panels, panels));
    kernel_name = gemm_.name;
    tile_count = product.groups * row_blocks_ * panel_blocks_;
    a_sums_at_ = round_up(block_rows_ * gemm_.a_row_bytes(product.k), kLine);
    panel_at_ = a_sums_at_ + round_up(block_rows_ * int64_t{sizeof(int32_t)}, kLine);
    sums_at_ = panel_at_ + (packed_ != nullptr ? 0 : round_up(gemm_.panel_bytes(product.k), kLine));
    scratch_bytes = sums_at_ + gemm_.max_rows * gemm_.columns * int64_t{sizeof(int32_t)};
    cost_ns = double(product.groups * product.group_rows) * double(product.n) * double(product.k) /
              gemm_.macs_per_ns;
    allows_in_place = false;
}

IntegerProductKernel::Block IntegerProductKernel::block_of(int64_t tile) const {
    // Neighbours share panels.
    const int64_t row_block = tile % row_blocks_;
    const int64_t panel_block = tile / row_blocks_ % panel_blocks_;
    const int64_t panels = gemm_.panels(product_.n);
    Block block{};
    block.group = tile / (row_blocks_ * panel_blocks_);
    block.first_row = part_begin(product_.group_rows, row_blocks_, row_block);
    block.rows = part_begin(product_.group_rows, row_blocks_, row_block + 1) - block.first_row;
    block.first_panel = part_begin(panels, panel_blocks_, panel_block);
    block.end_panel = part_begin(panels, panel_blocks_, panel_block + 1);
    return block;
}

Status IntegerProductKernel::run(const KernelArgs& args,
                                 int64_t tile_begin,
                                 int64_t tile_end) const {
    const Scratch scratch{args.scratch, reinterpret_cast<int32_t*>(args.scratch + a_sums_at_),
                          reinterpret_cast<int8_t*>(args.scratch + panel_at_),
                          reinterpret_cast<int32_t*>(args.scratch + sums_at_)};
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        const Block block = block_of(tile);
        if (block.rows > 0) {
            run_tile(args, block, scratch);
        }
    }
    return {};
}

void IntegerProductKernel::run_tile(const KernelArgs& args,
                                    const Block& block,
                                    const Scratch& scratch) const {
    const int64_t k = product_.k;
    // With one group all rows follow each other, else those of one matrix.
    const int64_t a_matrix = product_.groups == 1 ? 0 : product_.geometry.a_matrix(block.group);
    const int64_t a_row = a_matrix * product_.geometry.m + block.first_row;
    const auto* a = args.inputs[size_t(product_.operands.a)].as<const uint8_t>() + a_row * k;
    gemm_.pack_a({a, 1, k, flip_to_unsigned(product_.a)}, block.rows, k, scratch.a, scratch.a_sums);
    const int64_t row_bytes = gemm_.a_row_bytes(k);
    const int64_t first_row = block.group * product_.group_rows + block.first_row;
    Columns columns{};
    for (int64_t panel = block.first_panel; panel < block.end_panel; ++panel) {
        const int8_t* b = bind_panel(args, block, panel, scratch.panel, columns);
        for (int64_t r = 0; r < block.rows; r += gemm_.max_rows) {
            const int64_t rows = std::min(gemm_.max_rows, block.rows - r);
            gemm_.multiply(scratch.a + r * row_bytes, row_bytes, rows, b, gemm_.groups(k),
                           scratch.sums);
            for (int64_t i = 0; i < rows; ++i) {
                finish_row(args, columns, first_row + r + i, panel * gemm_.columns,
                           scratch.a_sums[r + i], scratch.sums + i * gemm_.columns);
            }
        }
    }
}

const int8_t* IntegerProductKernel::bind_panel(const KernelArgs& args,
                                               const Block& block,
                                               int64_t panel,
                                               int8_t* scratch,
                                               Columns& columns) const {
    const int64_t k = product_.k;
    const int64_t n = product_.n;
    const int64_t first = panel * gemm_.columns;
    const int64_t count = std::min(gemm_.columns, n - first);
    const int64_t matrix =
        product_.b_matrix_count == 1 ? 0 : product_.geometry.b_matrix(block.group);
    columns.zeros.fill(packed_b_zero(product_.b, 0));
    if (const TensorArg* b_zero = find_arg(args.inputs, product_.operands.b_zero)) {
        const auto* zeros = b_zero->as<const uint8_t>();
        for (int64_t j = 0; j < count; ++j) {
            columns.zeros[size_t(j)] =
                packed_b_zero(product_.b, zeros[(first + j) * product_.b_zero_stride]);
        }
    }
    if (product_.y != DType::kInt32) {
        const auto scale = [&](int input, int64_t i) {
            return args.inputs[size_t(input)].as<const float>()[i];
        };
        const float a_scale = scale(product_.operands.a_scale, 0);
        const float y_scale = scale(product_.operands.y_scale, 0);
        columns.factors.fill(0);
        for (int64_t j = 0; j < count; ++j) {
            columns.factors[size_t(j)] = requantize_factor(
                a_scale, scale(product_.operands.b_scale, (first + j) * product_.b_scale_stride),
                y_scale);
        }
    }
    if (packed_ != nullptr) {
        const int64_t bytes = gemm_.panel_bytes(k) + gemm_.columns * int64_t{sizeof(int32_t)};
        const std::byte* entry = packed_.get() + (matrix * gemm_.panels(n) + panel) * bytes;
        std::memcpy(columns.sums.data(), entry + gemm_.panel_bytes(k),
                    size_t(gemm_.columns) * sizeof(int32_t));
        return reinterpret_cast<const int8_t*>(entry);
    }
    const auto* b = args.inputs[size_t(product_.operands.b)].as<const uint8_t>();
    gemm_.pack_panel({b + matrix * k * n + first, n, 1, flip_to_signed(product_.b)}, count, k,
                     scratch, columns.sums.data());
    return scratch;
}

void IntegerProductKernel::finish_row(const KernelArgs& args,
                                      const Columns& columns,
                                      int64_t row,
                                      int64_t first_column,
                                      int32_t a_sum,
                                      int32_t* sums) const {
    uint8_t a_zero = 0;
    if (const TensorArg* zeros = find_arg(args.inputs, product_.operands.a_zero)) {
        a_zero = zeros->as<const uint8_t>()[row % product_.geometry.m * product_.a_zero_stride];
    }
    gemm_.correct_sums(sums, int32_t(product_.k), packed_a_zero(product_.a, a_zero), a_sum,
                       columns.zeros.data(), columns.sums.data());
    const int64_t count = std::min(gemm_.columns, product_.n - first_column);
    const int64_t at = row * product_.n + first_column;
    if (product_.y == DType::kInt32) {
        std::memcpy(args.outputs[0].as<int32_t>() + at, sums, size_t(count) * sizeof(int32_t));
        return;
    }
    Requantization how;
    how.factors = columns.factors.data();
    how.is_signed = product_.y == DType::kInt8;
    const TensorArg& zero = args.inputs[size_t(product_.operands.y_zero)];
    how.zero = how.is_signed ? *zero.as<const int8_t>() : *zero.as<const uint8_t>();
    std::array<uint8_t, kMaxIntegerColumns> bytes{};
    gemm_.requantize_sums(sums, how, bytes.data());
    std::memcpy(args.outputs[0].as<uint8_t>() + at, bytes.data(), size_t(count));
}

// Panels of all matrices of constant b, each followed by the sums of its columns; null where b is
// not constant.
Result<std::shared_ptr<const std::byte>> pack_b(PrepareContext& context,
                                                const IntegerProduct& product) {
    const auto input = size_t(product.operands.b);
    const Tensor* source = context.constants[input];
    if (source == nullptr || product.k * product.n == 0) {
        return std::shared_ptr<const std::byte>();
    }
    const IntegerGemm& gemm = integer_gemm();
    const int64_t k = product.k;
    const int64_t n = product.n;
    const int64_t panels = gemm.panels(n);
    const int64_t panel_bytes = gemm.panel_bytes(k);
    const int64_t bytes = panel_bytes + gemm.columns * int64_t{sizeof(int32_t)};
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        for (int64_t i = 0; i < product.b_matrix_count * panels; ++i) {
            const int64_t first = i % panels * gemm.columns;
            const auto* b = reinterpret_cast<const uint8_t*>(tensor.bytes()) + i / panels * k * n;
            std::byte* panel = packed + i * bytes;
            gemm.pack_panel({b + first, n, 1, flip_to_signed(product.b)},
                            std::min(gemm.columns, n - first), k, reinterpret_cast<int8_t*>(panel),
                            reinterpret_cast<int32_t*>(panel + panel_bytes));
        }
    };
    const std::string key = fmt::format("panels_i8 {} k={} n={}", gemm.name, k, n);
    const WeightReads reads =
        product.groups == product.b_matrix_count ? WeightReads::kInTileOrder : WeightReads::kWhole;
    LEAT_ASSIGN_OR_RETURN(auto packed,
                          context.weights.get_or_pack(
                              *source, key, product.b_matrix_count * panels * bytes, pack, reads));
    context.packed_inputs |= uint64_t{1} << input;
    return packed;
}

// One element, or one for each row or column of all products.
bool is_simple(const TensorArg& parameter, int64_t& stride) {
    const int64_t count = parameter.shape.element_count();
    stride = count == 1 ? 0 : 1;
    return count == 1 || parameter.shape.rank() == 1;
}

// False: scales or zero points that the kernel does not know.
bool read_parameters(const PrepareContext& context, IntegerProduct& product) {
    const QuantizedOperands& operands = product.operands;
    const auto arg = [&](int input) { return find_arg(context.inputs, input); };
    for (const int input : {operands.a_scale, operands.b_scale, operands.y_scale}) {
        if (arg(input) != nullptr && arg(input)->dtype != DType::kFloat32) {
            return false;
        }
    }
    for (const int input : {operands.a_scale, operands.y_scale, operands.y_zero}) {
        if (arg(input) != nullptr && arg(input)->shape.element_count() != 1) {
            return false;
        }
    }
    const TensorArg* a_zero = arg(operands.a_zero);
    const TensorArg* b_zero = arg(operands.b_zero);
    const TensorArg* b_scale = arg(operands.b_scale);
    return (a_zero == nullptr || is_simple(*a_zero, product.a_zero_stride)) &&
           (b_zero == nullptr || is_simple(*b_zero, product.b_zero_stride)) &&
           (b_scale == nullptr || is_simple(*b_scale, product.b_scale_stride));
}

Result<std::unique_ptr<CpuKernel>> make_integer_product(PrepareContext& context) {
    IntegerProduct product;
    product.operands = QuantizedOperands::of(context.node);
    const TensorArg& a = context.inputs[size_t(product.operands.a)];
    const TensorArg& b = context.inputs[size_t(product.operands.b)];
    const MatMulGeometry geometry = MatMulGeometry::make(a.shape, b.shape);
    product.geometry = geometry;
    product.n = geometry.n;
    product.k = geometry.k;
    product.a = a.dtype;
    product.b = b.dtype;
    product.y = context.outputs[0].dtype;
    product.b_matrix_count = b.shape.rank() > 2 ? b.shape.element_count(0, b.shape.rank() - 2) : 1;
    product.groups = product.b_matrix_count == 1 ? 1 : geometry.batch_count();
    product.group_rows = product.groups == 1 ? geometry.batch_count() * geometry.m : geometry.m;
    // One matrix b for a that broadcasts to more batches than it has: its rows repeat.
    const bool repeats_a =
        product.groups == 1 && a.shape.element_count() != product.group_rows * geometry.k;
    if (repeats_a || geometry.k > INT32_MAX || !a.is_row_major() || !b.is_row_major() ||
        !context.outputs[0].is_row_major() || !read_parameters(context, product)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(auto packed, pack_b(context, product));
    return std::unique_ptr<CpuKernel>(
        std::make_unique<IntegerProductKernel>(product, std::move(packed)));
}

constexpr std::array<CpuKernelEntry, 2> kMatmulIntegerCpuKernels = {
    {{"MatMulInteger", &make_integer_product}, {"QLinearMatMul", &make_integer_product}}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> matmul_integer_cpu_kernels() {
    return cpu::kMatmulIntegerCpuKernels;
}

}  // namespace leat
