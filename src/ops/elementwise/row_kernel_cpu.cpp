#include "ops/elementwise/row_kernel_cpu.h"

#include <algorithm>

namespace leat::cpu {
namespace {

// A tile of about 10 us is long enough to hide the cost of handing it to a worker (0.1 us) and
// keeps its operands in the L1 or L2 cache.
constexpr double kTileNs = 10000;
constexpr int64_t kMaxTileBytes = int64_t{64} * 1024;
constexpr int64_t kMinTileBytes = int64_t{16} * 1024;
constexpr int64_t kTileGranule =
    64;  // elements: tiles begin on cache lines of the output if it does

using Axis = RowLoops::Axis;

// True if stepping the outer axis continues the inner one, for every operand.
bool continues(const Axis& outer, const Axis& inner, int input_count) {
    if (outer.output_stride != inner.output_stride * inner.extent) {
        return false;
    }
    for (int i = 0; i < input_count; ++i) {
        if (outer.input_strides[size_t(i)] != inner.input_strides[size_t(i)] * inner.extent) {
            return false;
        }
    }
    return true;
}

class RowKernel : public CpuKernel {
  public:
    RowKernel(const RowKernelSpec& spec, const TensorArg& output, std::span<const TensorArg> inputs)
        : loops_(make_row_loops(output, inputs)),
          function_(spec.function),
          state_(spec.state),
          output_bytes_(bits_of(output.dtype) / 8) {
        kernel_name = spec.name;
        int64_t element_bytes = output_bytes_;
        for (size_t i = 0; i < inputs.size(); ++i) {
            input_bytes_[i] = bits_of(inputs[i].dtype) / 8;
            element_bytes += input_bytes_[i];
        }
        const int64_t by_time = int64_t(kTileNs / spec.ns_per_element) * element_bytes;
        const int64_t tile_bytes = std::clamp(by_time, kMinTileBytes, kMaxTileBytes);
        tile_elements_ =
            std::max(tile_bytes / element_bytes / kTileGranule, int64_t{1}) * kTileGranule;
        // A last tile of up to half the size joins the one before.
        tile_count =
            std::max<int64_t>(1, (loops_.element_count + tile_elements_ / 2) / tile_elements_);
        cost_ns = spec.ns_per_element * double(loops_.element_count);
        const Axis& inner = loops_.axes.back();
        takes_rows_ = spec.takes_rows && inner.output_stride == 1 &&
                      std::all_of(inner.input_strides.begin(), inner.input_strides.end(),
                                  [](int64_t stride) { return stride == 0 || stride == 1; });
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        int64_t position = tile_begin * tile_elements_;
        const int64_t end = end_of(tile_end);
        const Axis* const axes = loops_.axes.data();
        const int inner = int(loops_.axes.size()) - 1;
        std::array<int64_t, kMaxRank> index{};
        int64_t rest = position;
        for (int axis = inner; axis >= 0 && rest > 0; --axis) {
            index[size_t(axis)] = rest % axes[axis].extent;
            rest /= axes[axis].extent;
        }
        Row row{};
        row.input_strides = axes[inner].input_strides.data();
        row.output_stride = axes[inner].output_stride;
        row.input_count = loops_.input_count;
        row.state = state_.get();
        // With one axis only there is one row, and a stride means nothing.
        const Axis& outer = axes[std::max(inner - 1, 0)];
        row.input_row_strides = outer.input_strides.data();
        row.output_row_stride = outer.output_stride;
        while (position < end) {
            const int64_t extent = axes[inner].extent;
            row.count = std::min(end - position, extent - index[size_t(inner)]);
            // Whole rows as far as the axis around them goes.
            const int64_t rows = inner > 0 && row.count == extent
                                     ? std::min((end - position) / extent,
                                                axes[inner - 1].extent - index[size_t(inner) - 1])
                                     : 1;
            place(args, index, row);
            run_rows(row, rows);
            position += rows * row.count;
            index[size_t(inner)] += row.count;
            for (int axis = inner; axis > 0 && index[size_t(axis)] == axes[axis].extent; --axis) {
                index[size_t(axis)] = 0;
                index[size_t(axis) - 1] += axis == inner ? rows : 1;
            }
        }
        return {};
    }

  private:
    int64_t end_of(int64_t tile_end) const {
        return tile_end == tile_count ? loops_.element_count : tile_end * tile_elements_;
    }
    // So many rows from `row` on, which is left pointing anywhere.
    void run_rows(Row& row, int64_t rows) const {
        row.rows = takes_rows_ ? rows : 1;
        for (int64_t r = 0; r < rows; r += row.rows) {
            function_(row);
            row.output += row.output_row_stride * output_bytes_;
            for (size_t i = 0; i < size_t(loops_.input_count); ++i) {
                row.inputs[i] += row.input_row_strides[i] * input_bytes_[i];
            }
        }
    }
    // Points the row's operands at the elements of `index`.
    void place(const KernelArgs& args, const std::array<int64_t, kMaxRank>& index, Row& row) const {
        int64_t output = 0;
        std::array<int64_t, kMaxRowInputs> offsets{};
        const Axis* const axes = loops_.axes.data();
        for (size_t axis = 0; axis < loops_.axes.size(); ++axis) {
            output += index[axis] * axes[axis].output_stride;
            for (size_t i = 0; i < size_t(loops_.input_count); ++i) {
                offsets[i] += index[axis] * axes[axis].input_strides[i];
            }
        }
        row.output = args.outputs[0].data + output * output_bytes_;
        for (size_t i = 0; i < size_t(loops_.input_count); ++i) {
            row.inputs[i] = args.inputs[i].data + offsets[i] * input_bytes_[i];
        }
    }

    RowLoops loops_;
    RowFunction function_;
    bool takes_rows_ = false;
    std::shared_ptr<const void> state_;
    int64_t output_bytes_;
    std::array<int64_t, kMaxRowInputs> input_bytes_{};
    int64_t tile_elements_ = 0;
};

}  // namespace

RowLoops make_row_loops(const TensorArg& output, std::span<const TensorArg> inputs) {
    RowLoops loops;
    loops.input_count = int(inputs.size());
    loops.element_count = output.shape.element_count();
    std::array<Axis, kMaxRank> axes{};
    int rank = 0;
    for (int axis = 0; axis < output.shape.rank(); ++axis) {
        if (output.shape[axis] == 1) {
            continue;
        }
        Axis& entry = axes[size_t(rank++)];
        entry.extent = output.shape[axis];
        entry.output_stride = output.strides[size_t(axis)];
        for (size_t i = 0; i < inputs.size(); ++i) {
            const int own = axis - (output.shape.rank() - inputs[i].shape.rank());
            const bool repeats = own < 0 || inputs[i].shape[own] == 1;
            entry.input_strides[i] = repeats ? 0 : inputs[i].strides[size_t(own)];
        }
    }
    const auto is_outer = [](const Axis& a, const Axis& b) {
        return a.output_stride > b.output_stride;
    };
    // Mostly they are in order, and std::stable_sort allocates.
    if (!std::is_sorted(axes.begin(), axes.begin() + rank, is_outer)) {
        std::stable_sort(axes.begin(), axes.begin() + rank, is_outer);
    }
    int merged = 0;
    for (int axis = 0; axis < rank; ++axis) {
        if (merged > 0 &&
            continues(axes[size_t(merged) - 1], axes[size_t(axis)], loops.input_count)) {
            const int64_t extent = axes[size_t(merged) - 1].extent;
            axes[size_t(merged) - 1] = axes[size_t(axis)];
            axes[size_t(merged) - 1].extent *= extent;
        } else {
            axes[size_t(merged++)] = axes[size_t(axis)];
        }
    }
    if (merged == 0) {  // a scalar, or all extents 1
        axes[0] = Axis{1, 1, {}};
        merged = 1;
    }
    loops.axes.assign(axes.begin(), axes.begin() + merged);
    return loops;
}

std::unique_ptr<CpuKernel> make_row_kernel(const RowKernelSpec& spec,
                                           const TensorArg& output,
                                           std::span<const TensorArg> inputs) {
    return std::make_unique<RowKernel>(spec, output, inputs);
}

}  // namespace leat::cpu
