// MatMul and Gemm of f32 on the microkernel: constant B is packed once; other B are packed by each
// tile, or read in place when few rows would reuse them. Those with a vector have a kernel of their
// own (vector_product_cpu.h).
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/former_kernel.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/packing.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/vector_product_cpu.h"
#include "ops/type_checks.h"
#include "ops/window.h"

namespace leat {

namespace cpu {
namespace {

constexpr int64_t kAlignmentFloats = 16;

int64_t aligned(int64_t floats) {
    return round_up(floats, kAlignmentFloats);
}

// What MatMul and Gemm have in common: y[row, :] = a[row, :] b(row), rows in logical order of y
// without its columns. Every group_rows rows share one matrix of b.
struct Product {
    int64_t rows = 0;
    int64_t n = 0;
    int64_t k = 0;
    int64_t group_rows = 0;
    RowView a;  // columns are k
    RowView y;
    RowView b;  // by group: offset of its matrix
    int64_t groups = 1;
    int64_t b_matrix_count = 1;
    // One of them is 1, or its extent.
    int64_t b_k_stride = 0;
    int64_t b_column_stride = 1;
};

class ProductKernel final : public CpuKernel {
  public:
    ProductKernel(const Product& product,
                  std::shared_ptr<const PanelGemm> gemm,
                  std::shared_ptr<const std::byte> packed);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

    const Product& product() const { return product_; }
    const std::shared_ptr<const PanelGemm>& gemm() const { return gemm_; }
    const std::shared_ptr<const std::byte>& packed() const { return packed_; }

  private:
    struct Scratch {
        float* gemm;
        float* a;  // rows with contiguous k
        float* b;  // panels
        GemmRow* rows;
    };
    Scratch divide_scratch(std::byte* base) const;
    Status run_tile(const KernelArgs& args, int64_t tile, const Scratch& scratch) const;
    void bind_b(const KernelArgs& args,
                int64_t group,
                int64_t first_panel,
                float* scratch,
                PanelGemm::Block& block) const;
    // Copies rows of a with k contiguous.
    void gather_a(const float* a, int64_t first_row, std::span<GemmRow> rows, float* to) const;

    const GemmTable& table_ = gemm_table();
    Product product_;
    std::shared_ptr<const PanelGemm> gemm_;
    GemmBlocking blocking_;
    std::shared_ptr<const std::byte> packed_;  // null: b is read at run time
    bool gather_a_ = false;
    bool pack_b_ = false;
    std::array<int64_t, 4> scratch_floats_{};  // gemm, a, b, rows
};

ProductKernel::ProductKernel(const Product& product,
                             std::shared_ptr<const PanelGemm> gemm,
                             std::shared_ptr<const std::byte> packed)
    : product_(product),
      gemm_(std::move(gemm)),
      blocking_(GemmBlocking::choose(
          product_.groups, product_.group_rows, product_.n, product_.k, table_)),
      packed_(std::move(packed)) {
    gather_a_ = product_.k > 1 && product_.a.column_stride() != 1;
    // A row tile that passes once over b gains nothing from a copy.
    pack_b_ = packed_ == nullptr && (product_.group_rows > table_.max_rows ||
                                     (product_.n > 1 && product_.b_column_stride != 1));
    scratch_floats_[0] = aligned(gemm_->scratch_floats(blocking_.rows, blocking_.panels));
    scratch_floats_[1] = gather_a_ ? aligned(blocking_.rows * product_.k) : 0;
    if (packed_ == nullptr) {
        scratch_floats_[2] = (pack_b_ ? blocking_.panels : 1) * product_.k * table_.nr;
    }
    scratch_floats_[3] = blocking_.rows * int64_t{sizeof(GemmRow) / sizeof(float)};
    kernel_name = table_.name;
    tile_count = product_.groups * blocking_.row_blocks * blocking_.panel_blocks;
    for (const int64_t floats : scratch_floats_) {
        scratch_bytes += floats * int64_t{sizeof(float)};
    }
    const double matrix = double(product_.n) * double(product_.k);
    cost_ns = gemm_cost_ns(2.0 * double(product_.rows) * matrix,
                           double(product_.groups) * matrix * double(sizeof(float)));
}

ProductKernel::Scratch ProductKernel::divide_scratch(std::byte* base) const {
    auto* floats = reinterpret_cast<float*>(base);
    float* a = floats + scratch_floats_[0];
    float* b = a + scratch_floats_[1];
    return {floats, a, b, reinterpret_cast<GemmRow*>(b + scratch_floats_[2])};
}

Status ProductKernel::run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const {
    const Scratch scratch = divide_scratch(args.scratch);
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        LEAT_RETURN_IF_ERROR(run_tile(args, tile, scratch));
    }
    return {};
}

Status ProductKernel::run_tile(const KernelArgs& args, int64_t tile, const Scratch& scratch) const {
    // Neighbours share panels: weights are larger than a block of rows.
    const int64_t row_block = tile % blocking_.row_blocks;
    const int64_t panel_block = tile / blocking_.row_blocks % blocking_.panel_blocks;
    const int64_t group = tile / (blocking_.row_blocks * blocking_.panel_blocks);
    const int64_t begin = part_begin(product_.group_rows, blocking_.row_blocks, row_block);
    const int64_t end = part_begin(product_.group_rows, blocking_.row_blocks, row_block + 1);
    const int64_t first_row = group * product_.group_rows + begin;
    const std::span<GemmRow> rows(scratch.rows, size_t(end - begin));
    for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t row = first_row + int64_t(i);
        rows[i] = {product_.a.offset(row), ~0ULL, product_.y.offset(row), int32_t(row), 0};
    }
    cut_tiles(rows, table_.max_rows);

    PanelGemm::Block block;
    block.args = &args;
    block.a = args.inputs[0].as<float>();
    if (gather_a_) {
        gather_a(block.a, first_row, rows, scratch.a);
        block.a = scratch.a;
    }
    block.rows = rows;
    const int64_t first_panel = panel_block * blocking_.panels;
    block.column = first_panel * table_.nr;
    block.columns = std::min(blocking_.panels * table_.nr, product_.n - block.column);
    block.dst = args.outputs[0].as<float>();
    block.scratch = scratch.gemm;
    bind_b(args, group, first_panel, scratch.b, block);
    if (packed_ != nullptr && row_block + 1 == blocking_.row_blocks &&
        panel_block + 1 < blocking_.panel_blocks) {
        block.b_next = block.b + blocking_.panels * block.b_panel_stride;
    }
    return gemm_->run(block);
}

void ProductKernel::bind_b(const KernelArgs& args,
                           int64_t group,
                           int64_t first_panel,
                           float* scratch,
                           PanelGemm::Block& block) const {
    const int64_t nr = table_.nr;
    const int64_t k = product_.k;
    block.b_row_stride = nr;
    block.b_panel_stride = k * nr;
    const int64_t matrix = product_.b.offset(group);
    if (packed_ != nullptr) {
        const auto* panels = reinterpret_cast<const float*>(packed_.get());
        const int64_t size = packed_floats(k, product_.n, nr);
        block.b = panels + (k * product_.n > 0 ? matrix / (k * product_.n) * size : 0) +
                  first_panel * k * nr;
        return;
    }
    const float* b = args.inputs[1].as<float>() + matrix + block.column * product_.b_column_stride;
    if (pack_b_ && product_.b_column_stride == 1) {
        table_.pack_rows(b, product_.b_k_stride, k, block.columns, scratch);
        block.b = scratch;
        return;
    }
    if (pack_b_) {
        table_.pack_columns(b, product_.b_column_stride, k, block.columns, scratch);
        block.b = scratch;
        return;
    }
    block.b = b;
    block.b_row_stride = product_.b_k_stride;
    block.b_panel_stride = nr;
    if (const int64_t tail = block.columns % nr; tail != 0) {
        table_.pack_rows(b + (block.columns - tail), product_.b_k_stride, k, tail, scratch);
        block.b_tail = scratch;
    }
}

void ProductKernel::gather_a(const float* a,
                             int64_t first_row,
                             std::span<GemmRow> rows,
                             float* to) const {
    const int64_t stride = product_.a.column_stride();
    for (size_t i = 0; i < rows.size(); ++i) {
        const float* from = a + product_.a.offset(first_row + int64_t(i));
        rows[i].a_offset = int64_t(i) * product_.k;
        for (int64_t k = 0; k < product_.k; ++k) {
            *to++ = from[k * stride];
        }
    }
}

// The packed copy of constant b, or null if b is not constant.
Result<std::shared_ptr<const std::byte>> pack_b(PrepareContext& context,
                                                const Product& product,
                                                float factor) {
    const Tensor* source = context.constants[1];
    if (source == nullptr) {
        return std::shared_ptr<const std::byte>();
    }
    const int64_t nr = gemm_table().nr;
    const int64_t size = packed_floats(product.k, product.n, nr);
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        std::vector<int64_t> k_offsets(size_t(product.k), 0);
        for (size_t k = 0; k < k_offsets.size(); ++k) {
            k_offsets[k] = int64_t(k) * product.b_k_stride;
        }
        for (int64_t matrix = 0; matrix < product.b_matrix_count; ++matrix) {
            const std::byte* data =
                tensor.bytes() + matrix * product.k * product.n * int64_t{sizeof(float)};
            pack_panels({data, k_offsets, product.n, product.b_column_stride}, nr, factor,
                        reinterpret_cast<float*>(packed) + matrix * size);
        }
    };
    const std::string key =
        fmt::format("panels_f32 nr={} k={} n={} strides={},{} factor={}", nr, product.k, product.n,
                    product.b_k_stride, product.b_column_stride, factor);
    // Tiles go through the matrices and their columns; where rows share one matrix, each reads it.
    const WeightReads reads =
        product.groups == product.b_matrix_count ? WeightReads::kInTileOrder : WeightReads::kWhole;
    LEAT_ASSIGN_OR_RETURN(
        auto packed,
        context.weights.get_or_pack(
            *source, key, product.b_matrix_count * size * int64_t{sizeof(float)}, pack, reads));
    context.packed_inputs |= 2;
    return packed;
}

// With what the former kernel has, as far as it serves.
template <class MakeEpilogue>
Result<std::unique_ptr<CpuKernel>> make_product(PrepareContext& context,
                                                const Product& product,
                                                int column_axis,
                                                float b_factor,
                                                const MakeEpilogue& make_epilogue) {
    const auto* former = former_kernel<ProductKernel>(context);
    if (former != nullptr &&
        (former->product().k != product.k || former->product().n != product.n ||
         former->product().y.column_stride() != product.y.column_stride())) {
        former = nullptr;
    }
    std::shared_ptr<const PanelGemm> gemm;
    if (former != nullptr && keeps_epilogue(context, column_axis, 2)) {
        gemm = former->gemm();
    } else {
        LEAT_ASSIGN_OR_RETURN(Epilogue epilogue, make_epilogue());
        gemm = std::make_shared<const PanelGemm>(PanelGemm::plain_segments(product.k),
                                                 std::move(epilogue),
                                                 product.n == 1 ? 1 : product.y.column_stride());
    }
    std::shared_ptr<const std::byte> packed;
    if (former != nullptr && former->packed() != nullptr) {
        packed = former->packed();
        context.packed_inputs |= 2;
    } else {
        LEAT_ASSIGN_OR_RETURN(packed, pack_b(context, product, b_factor));
    }
    return std::unique_ptr<CpuKernel>(
        std::make_unique<ProductKernel>(product, std::move(gemm), std::move(packed)));
}

bool covers(const PrepareContext& context) {
    return std::all_of(context.inputs.begin(), context.inputs.end(),
                       [](const TensorArg& input) {
                           return !input.present() || input.dtype == DType::kFloat32;
                       }) &&
           (context.inputs[1].is_row_major() || context.inputs[1].lies_as(Layout::kTransposed));
}

Result<std::unique_ptr<CpuKernel>> make_matmul(PrepareContext& context) {
    if (!covers(context)) {
        return std::unique_ptr<CpuKernel>();
    }
    if (const std::optional<VectorProduct> product = matmul_vector_product(context)) {
        LEAT_ASSIGN_OR_RETURN(Epilogue epilogue,
                              Epilogue::make(context, {}, 1, product->column_axis));
        return make_vector_product(*product, std::move(epilogue));
    }
    TensorArg a = context.inputs[0];
    const TensorArg& b = context.inputs[1];
    const TensorArg& y = context.outputs[0];
    const MatMulGeometry geometry = MatMulGeometry::make(a.shape, b.shape);
    if (a.shape.rank() == 1) {
        a.strides = {0, a.strides[0]};
        a.shape = {1, geometry.k};
    }
    Shape a_result = geometry.batch;
    a_result.append(geometry.m);
    a_result.append(geometry.k);
    const int column_axis = b.shape.rank() == 1 ? -1 : y.shape.rank() - 1;

    Product product;
    product.n = geometry.n;
    product.k = geometry.k;
    product.rows = geometry.batch_count() * geometry.m;
    product.a = RowView(a, a_result, a_result.rank() - 1);
    product.y = RowView(y, y.shape, column_axis);
    product.b_k_stride = b.is_row_major() ? geometry.n : 1;
    product.b_column_stride = b.is_row_major() ? 1 : geometry.k;
    const int64_t matrix_floats = geometry.k * geometry.n;
    product.b_matrix_count = b.shape.rank() > 2 ? b.shape.element_count(0, b.shape.rank() - 2) : 1;
    if (product.b_matrix_count == 1) {
        product.group_rows = product.rows;
    } else {
        product.group_rows = geometry.m;
        product.groups = geometry.batch_count();
        TensorArg matrices;
        matrices.shape = geometry.batch;
        for (size_t axis = 0; axis < matrices.strides.size(); ++axis) {
            matrices.strides[axis] = geometry.b_batch_strides[axis] * matrix_floats;
        }
        product.b = RowView(matrices, geometry.batch, -1);
    }
    return make_product(context, product, column_axis, 1,
                        [&] { return Epilogue::make(context, {}, 1, column_axis); });
}

Result<std::unique_ptr<CpuKernel>> make_gemm(PrepareContext& context) {
    if (!covers(context)) {
        return std::unique_ptr<CpuKernel>();
    }
    const TensorArg& a = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const bool has_c = is_own_input(context.node, 2) && find_arg(context.inputs, 2) != nullptr;
    const GemmGeometry geometry = GemmGeometry::make(context.node, a.shape, context.inputs[1].shape,
                                                     has_c ? &context.inputs[2].shape : nullptr);
    const bool constant_b = context.constants[1] != nullptr;
    const BiasInput bias{has_c && geometry.beta != 0 ? 2 : -1, geometry.beta};
    const float scale = constant_b ? 1.0F : geometry.alpha;  // constant b has it already
    if (const std::optional<VectorProduct> product = gemm_vector_product(context, geometry)) {
        LEAT_ASSIGN_OR_RETURN(Epilogue epilogue,
                              Epilogue::make(context, bias, scale, product->column_axis));
        return make_vector_product(*product, std::move(epilogue));
    }
    TensorArg rows = a;
    if (geometry.transpose_a) {
        std::swap(rows.strides[0], rows.strides[1]);
    }
    rows.shape = {geometry.m, geometry.k};

    Product product;
    product.n = geometry.n;
    product.k = geometry.k;
    product.rows = product.group_rows = geometry.m;
    product.a = RowView(rows, rows.shape, 1);
    product.y = RowView(y, y.shape, 1);
    product.b_k_stride = geometry.transpose_b ? 1 : geometry.n;
    product.b_column_stride = geometry.transpose_b ? geometry.k : 1;
    return make_product(context, product, 1, geometry.alpha,
                        [&] { return Epilogue::make(context, bias, scale, 1); });
}

constexpr std::array<CpuKernelEntry, 2> kMatmulCpuKernels = {
    {{"MatMul", &make_matmul}, {"Gemm", &make_gemm}}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> matmul_cpu_kernels() {
    return cpu::kMatmulCpuKernels;
}

}  // namespace leat
