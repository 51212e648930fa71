// Epilogue: what happens to the results of a product or convolution before they are stored.
//
// The steps are a bias and the node's EpilogueSteps, in order. The first ones that have the form
//     y = min(max(x + bias[column] + residual[row, column], low), high)     (each part optional)
// are done in registers by the microkernel. All others run over a tile of results while it is in
// L1: Clip and Relu; Add, Sub, Mul, Div, Min and Max with an operand that broadcasts in any way;
// unary functions of ops/elementwise; anything else through the operator's reference kernel (right,
// slow, allocates).
//
// Thread safety: immutable after make().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/gemm_micro.h"

namespace leat::cpu {

// A tensor that broadcasts to the result, seen as rows x columns: the columns are one axis of the
// result (channels, or the last axis), the rows all others in logical order.
class RowView {
  public:
    RowView() = default;
    // column_axis: of the result; -1: the result has one column and every axis is a row axis.
    RowView(const TensorArg& tensor, const Shape& result, int column_axis);
    // One element for each column.
    static RowView per_column();

    int64_t column_stride() const { return column_stride_; }
    // Offset of a row = row * row_stride() when uniform().
    bool uniform() const { return axis_count_ <= 1; }
    int64_t row_stride() const { return axis_count_ == 0 ? 0 : axes_[0].stride; }
    int64_t offset(int64_t row) const;

  private:
    struct Axis {
        int64_t extent = 1;
        int64_t stride = 0;
    };
    // Of rows, innermost first, merged where possible. The extent of the last one has no effect.
    std::array<Axis, size_t(kMaxRank)> axes_{};
    size_t axis_count_ = 0;
    int64_t column_stride_ = 0;
};

// A bias of the operator itself; input < 0: none.
struct BiasInput {
    int input = -1;
    float factor = 1;         // Gemm's beta
    bool per_column = false;  // of rank 1, an element for each column, wherever the column axis is
};

class Epilogue {
  public:
    // Fails only for operands that do not broadcast. columns: of the whole result.
    static Result<Epilogue> make(const PrepareContext& context,
                                 BiasInput bias,
                                 float scale,  // of the sums, before everything else (Gemm's alpha)
                                 int column_axis);

    // The part done in registers. bias() is null or has kBiasPadding zeros after its last element.
    const float* bias() const { return bias_.empty() ? nullptr : bias_.data(); }
    bool has_residual() const { return residual_input_ >= 0; }
    const float* residual(const KernelArgs& args) const {
        return residual_input_ < 0 ? nullptr : args.inputs[size_t(residual_input_)].as<float>();
    }
    int64_t residual_stride() const { return residual_view_.row_stride(); }
    bool clips() const { return clip_; }
    float low() const { return low_; }
    float high() const { return high_; }
    // True if steps remain for apply().
    bool has_more() const { return !steps_.empty(); }

    // The register part in plain code, for columns [column, column + columns) of one row.
    void apply_first(
        const KernelArgs& args, float* x, int64_t row, int64_t column, int64_t columns) const;
    // The remaining steps on rows x columns results at x, `stride` apart, of the given rows. The
    // elements between `columns` and `stride` are written too, with any value.
    Status apply(const KernelArgs& args,
                 float* x,
                 int64_t stride,
                 std::span<const GemmRow> rows,
                 int64_t column,
                 int64_t columns) const;

    // A call of the microkernel may begin at any column.
    static constexpr int64_t kBiasPadding = int64_t{kMaxPanelColumns} * kMaxPanelsPerCall;

  private:
    struct Step;
    friend struct EpilogueBuilder;

    std::vector<float> bias_;
    int residual_input_ = -1;
    RowView residual_view_;
    bool clip_ = false;
    float low_ = 0;
    float high_ = 0;
    std::vector<std::shared_ptr<const Step>> steps_;
};

}  // namespace leat::cpu
