// Einsum of two f32 operands as a batch of products on the microkernel. Labels fall into four
// groups: batch (both operands and the result), rows (a alone), columns (b alone) and depth (both,
// summed). Operands are read by tables of offsets, so no order of axes needs a transposed copy.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/gemm.h"
#include "ops/einsum/einsum.h"

namespace leat {
namespace cpu {
namespace {

// Products with fewer columns waste most of a panel.
constexpr int64_t kFewestEinsumColumns = 4;

// An operand or the result: strides by label, 0 where it lacks one, or has extent 1.
struct EinsumView {
    EinsumLabelSet labels;
    EinsumExtents strides{};
};

std::optional<EinsumView> einsum_view(const TensorArg& arg,
                                      const std::vector<EinsumLabel>& labels) {
    EinsumView view;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
        if (arg.shape[int(axis)] == 1) {
            continue;
        }
        if (view.labels[labels[axis]]) {
            return std::nullopt;  // a diagonal
        }
        view.labels.set(labels[axis]);
        view.strides[labels[axis]] = arg.strides[axis];
    }
    return view;
}

using EinsumLabels = std::vector<EinsumLabel>;

// Of each combination of indices, the last label innermost.
std::vector<int64_t> einsum_offsets(const EinsumLabels& labels,
                                    const EinsumExtents& extents,
                                    const EinsumView& view) {
    std::vector<int64_t> offsets = {0};
    for (const EinsumLabel label : labels) {
        std::vector<int64_t> next;
        next.reserve(offsets.size() * size_t(extents[label]));
        for (const int64_t offset : offsets) {
            for (int64_t i = 0; i < extents[label]; ++i) {
                next.push_back(offset + i * view.strides[label]);
            }
        }
        offsets = std::move(next);
    }
    return offsets;
}

// The distance of neighbours, if it is the same for all; -1: it is not.
int64_t common_einsum_stride(const std::vector<int64_t>& offsets) {
    const int64_t stride = offsets.size() < 2 ? 1 : offsets[1];
    for (size_t i = 0; i < offsets.size(); ++i) {
        if (offsets[i] != int64_t(i) * stride) {
            return -1;
        }
    }
    return stride;
}

struct EinsumProduct {
    size_t a = 0;  // which operand gives the rows
    EinsumLabels batch;
    EinsumLabels rows;
    EinsumLabels columns;
    EinsumLabels depth;
    int64_t y_column_stride = 1;
    int64_t column_count = 1;
};

// Columns are the last labels of the result that only b has, as long as they lie in one stride;
// what is left of b's own labels counts as batch. The first label of the result may be that of the
// rows of a shard, whose number must not decide which kernel runs: it makes no columns.
void choose_einsum_columns(EinsumProduct& product,
                           EinsumLabel first_label,
                           const EinsumExtents& extents,
                           const EinsumView& y) {
    EinsumLabels& columns = product.columns;
    size_t first = columns.size();
    while (first > 0 && columns[first - 1] != first_label) {
        const EinsumLabel label = columns[first - 1];
        if (first == columns.size()) {
            product.y_column_stride = y.strides[label];
        } else if (y.strides[label] != product.y_column_stride * product.column_count) {
            break;
        }
        product.column_count *= extents[label];
        --first;
    }
    product.batch.insert(product.batch.end(), columns.begin(),
                         columns.begin() + std::ptrdiff_t(first));
    columns.erase(columns.begin(), columns.begin() + std::ptrdiff_t(first));
}

// With operand `a` for the rows; nothing where a label has to be summed before. The order of sums
// is the same for both.
std::optional<EinsumProduct> einsum_product(const EinsumEquation& equation,
                                            const EinsumExtents& extents,
                                            const std::array<EinsumView, 2>& operands,
                                            const EinsumView& y,
                                            size_t a) {
    const EinsumLabelSet in_a = operands[a].labels;
    const EinsumLabelSet in_b = operands[1 - a].labels;
    if (((in_a ^ in_b) & ~y.labels).any() || equation.output.empty()) {
        return std::nullopt;
    }
    EinsumProduct product;
    product.a = a;
    for (const EinsumLabel label : equation.output) {
        if (y.labels[label]) {
            (!in_b[label]  ? product.rows
             : in_a[label] ? product.batch
                           : product.columns)
                .push_back(label);
        }
    }
    for (const EinsumLabel label : equation.operands[0]) {
        if (in_a[label] && in_b[label] && !y.labels[label]) {
            product.depth.push_back(label);
        }
    }
    choose_einsum_columns(product, equation.output[0], extents, y);
    return product;
}

class EinsumKernel final : public CpuKernel {
  public:
    EinsumKernel(const EinsumProduct& product,
                 const EinsumExtents& extents,
                 const std::array<EinsumView, 2>& operands,
                 const EinsumView& y);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

  private:
    struct Scratch {
        float* gemm;
        float* a;  // rows with contiguous depth
        float* b;  // panels
        GemmRow* rows;
    };
    Status run_tile(const KernelArgs& args, int64_t tile, const Scratch& scratch) const;
    void bind_rows(const float* a, int64_t first, std::span<GemmRow> rows, float* copy) const;
    void pack_b(const float* b, int64_t first, int64_t columns, float* panels) const;

    int64_t depth() const { return int64_t(a_depth_.size()); }

    const GemmTable& table_ = gemm_table();
    size_t a_;  // operand
    std::vector<int64_t> a_group_;
    std::vector<int64_t> b_group_;
    std::vector<int64_t> y_group_;
    std::vector<int64_t> a_row_;
    std::vector<int64_t> y_row_;
    std::vector<int64_t> b_column_;
    std::vector<int64_t> a_depth_;
    std::vector<int64_t> b_depth_;
    bool copies_a_;
    int64_t b_column_stride_;
    int64_t b_depth_stride_;
    PanelGemm gemm_;
    GemmBlocking blocking_;
    std::array<int64_t, 3> scratch_floats_{};  // gemm, a, b
};

EinsumKernel::EinsumKernel(const EinsumProduct& product,
                           const EinsumExtents& extents,
                           const std::array<EinsumView, 2>& operands,
                           const EinsumView& y)
    : a_(product.a),
      a_group_(einsum_offsets(product.batch, extents, operands[product.a])),
      b_group_(einsum_offsets(product.batch, extents, operands[1 - product.a])),
      y_group_(einsum_offsets(product.batch, extents, y)),
      a_row_(einsum_offsets(product.rows, extents, operands[product.a])),
      y_row_(einsum_offsets(product.rows, extents, y)),
      b_column_(einsum_offsets(product.columns, extents, operands[1 - product.a])),
      a_depth_(einsum_offsets(product.depth, extents, operands[product.a])),
      b_depth_(einsum_offsets(product.depth, extents, operands[1 - product.a])),
      copies_a_(common_einsum_stride(a_depth_) != 1),
      b_column_stride_(common_einsum_stride(b_column_)),
      b_depth_stride_(common_einsum_stride(b_depth_)),
      gemm_(PanelGemm::plain_segments(depth()), Epilogue(), product.y_column_stride),
      blocking_(GemmBlocking::choose(
          int64_t(a_group_.size()),
          int64_t(a_row_.size()),
          int64_t(b_column_.size()),
          depth(),
          table_,
          copies_a_ ? GemmBlocking::Rows::kCopied : GemmBlocking::Rows::kInPlace)) {
    constexpr int64_t kLineFloats = 16;
    scratch_floats_ = {
        round_up(gemm_.scratch_floats(blocking_.rows, blocking_.panels), kLineFloats),
        copies_a_ ? round_up(blocking_.rows * depth(), kLineFloats) : 0,
        blocking_.panels * depth() * table_.nr};
    kernel_name = table_.name;
    tile_count = int64_t(a_group_.size()) * blocking_.row_blocks * blocking_.panel_blocks;
    scratch_bytes =
        (scratch_floats_[0] + scratch_floats_[1] + scratch_floats_[2]) * int64_t{sizeof(float)} +
        blocking_.rows * int64_t{sizeof(GemmRow)};
    const double products = double(a_group_.size()) * double(a_row_.size()) *
                            double(b_column_.size()) * double(depth());
    cost_ns = gemm_cost_ns(2 * products, double(a_group_.size()) * double(b_column_.size()) *
                                             double(depth()) * double(sizeof(float)));
}

Status EinsumKernel::run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const {
    auto* const gemm = reinterpret_cast<float*>(args.scratch);
    float* const a = gemm + scratch_floats_[0];
    float* const b = a + scratch_floats_[1];
    const Scratch scratch = {gemm, a, b, reinterpret_cast<GemmRow*>(b + scratch_floats_[2])};
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        LEAT_RETURN_IF_ERROR(run_tile(args, tile, scratch));
    }
    return {};
}

Status EinsumKernel::run_tile(const KernelArgs& args, int64_t tile, const Scratch& scratch) const {
    const int64_t row_block = tile % blocking_.row_blocks;
    const int64_t panel_block = tile / blocking_.row_blocks % blocking_.panel_blocks;
    const auto group = size_t(tile / (blocking_.row_blocks * blocking_.panel_blocks));
    const auto row_count = int64_t(a_row_.size());
    const int64_t begin = part_begin(row_count, blocking_.row_blocks, row_block);
    const int64_t end = part_begin(row_count, blocking_.row_blocks, row_block + 1);
    const std::span<GemmRow> rows(scratch.rows, size_t(end - begin));
    const float* const a = args.inputs[a_].as<float>() + a_group_[group];
    bind_rows(a, begin, rows, scratch.a);

    PanelGemm::Block block;
    block.args = &args;
    block.a = copies_a_ ? scratch.a : a;
    block.rows = rows;
    block.column = panel_block * blocking_.panels * table_.nr;
    block.columns =
        std::min(blocking_.panels * table_.nr, int64_t(b_column_.size()) - block.column);
    block.b = scratch.b;
    block.b_row_stride = table_.nr;
    block.b_panel_stride = depth() * table_.nr;
    block.dst = args.outputs[0].as<float>() + y_group_[group];
    block.scratch = scratch.gemm;
    pack_b(args.inputs[1 - a_].as<float>() + b_group_[group], block.column, block.columns,
           scratch.b);
    return gemm_.run(block);
}

void EinsumKernel::bind_rows(const float* a,
                             int64_t first,
                             std::span<GemmRow> rows,
                             float* copy) const {
    for (size_t i = 0; i < rows.size(); ++i) {
        const size_t row = size_t(first) + i;
        rows[i] = {a_row_[row], ~0ULL, y_row_[row], int32_t(row), 0};
        if (!copies_a_) {
            continue;
        }
        rows[i].a_offset = int64_t(i) * depth();
        const float* const from = a + a_row_[row];
        float* const to = copy + rows[i].a_offset;
        for (size_t k = 0; k < a_depth_.size(); ++k) {
            to[k] = from[a_depth_[k]];
        }
    }
    cut_tiles(rows, table_.max_rows);
}

void EinsumKernel::pack_b(const float* b, int64_t first, int64_t columns, float* panels) const {
    if (b_column_stride_ == 1 && b_depth_stride_ >= 0) {
        table_.pack_rows(b + b_column_[size_t(first)], b_depth_stride_, depth(), columns, panels);
        return;
    }
    if (b_depth_stride_ == 1 && b_column_stride_ >= 0) {
        table_.pack_columns(b + b_column_[size_t(first)], b_column_stride_, depth(), columns,
                            panels);
        return;
    }
    const int64_t nr = table_.nr;
    for (int64_t panel = 0; panel < columns; panel += nr) {
        for (const int64_t row : b_depth_) {
            for (int64_t j = panel; j < panel + nr; ++j) {
                *panels++ = j < columns ? b[row + b_column_[size_t(first + j)]] : 0;
            }
        }
    }
}

// The product with rows of one operand or the other: whole panels of adjacent results, else the one
// of more columns.
std::optional<EinsumProduct> best_einsum_product(const EinsumEquation& equation,
                                                 const EinsumExtents& extents,
                                                 const std::array<EinsumView, 2>& operands,
                                                 const EinsumView& y) {
    std::optional<EinsumProduct> first = einsum_product(equation, extents, operands, y, 0);
    std::optional<EinsumProduct> second = einsum_product(equation, extents, operands, y, 1);
    if (!first || !second) {
        return std::nullopt;
    }
    const auto rank = [](const EinsumProduct& product) {
        const bool is_whole =
            product.y_column_stride == 1 && product.column_count >= gemm_table().nr / 2;
        return std::make_pair(is_whole, product.column_count);
    };
    return rank(*first) >= rank(*second) ? first : second;
}

Result<std::unique_ptr<CpuKernel>> make_einsum(PrepareContext& context) {
    std::unique_ptr<CpuKernel> none;
    const bool is_covered =
        context.inputs.size() == 2 && context.inputs[0].dtype == DType::kFloat32 &&
        context.inputs[1].dtype == DType::kFloat32 && context.outputs[0].shape.element_count() > 0;
    if (!is_covered) {
        return none;
    }
    const std::array<int, 2> ranks = {context.inputs[0].shape.rank(),
                                      context.inputs[1].shape.rank()};
    LEAT_ASSIGN_OR_RETURN(const EinsumEquation equation,
                          read_einsum(context.node.attr("equation", ""), ranks));
    LEAT_ASSIGN_OR_RETURN(const EinsumExtents extents, einsum_extents(equation, context.inputs));
    const std::optional<EinsumView> a = einsum_view(context.inputs[0], equation.operands[0]);
    const std::optional<EinsumView> b = einsum_view(context.inputs[1], equation.operands[1]);
    const std::optional<EinsumView> y = einsum_view(context.outputs[0], equation.output);
    if (!a || !b || !y) {
        return none;
    }
    const std::array<EinsumView, 2> operands = {*a, *b};
    const std::optional<EinsumProduct> product =
        best_einsum_product(equation, extents, operands, *y);
    if (!product || product->column_count < kFewestEinsumColumns) {
        return none;
    }
    for (const EinsumLabel label : product->depth) {
        if (extents[label] == 0) {
            return none;
        }
    }
    return std::unique_ptr<CpuKernel>(new EinsumKernel(*product, extents, operands, *y));
}

constexpr CpuKernelEntry kEinsumCpuKernels[] = {{"Einsum", make_einsum}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> einsum_cpu_kernels() {
    return cpu::kEinsumCpuKernels;
}

}  // namespace leat
