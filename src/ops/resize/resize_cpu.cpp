// Resize of nearest mode for all types of whole bytes, and of linear and cubic mode for f32, in
// row-major and channels-last alike: both see the axes in the order of memory.
#include <algorithm>
#include <cstring>

#include "base/parts.h"
#include "ops/movement/movement_cpu.h"
#include "ops/resize/resize.h"
#include "ops/resize/resize_rows_cpu.h"

namespace leat {
namespace cpu {
namespace {

constexpr int64_t kTileBytes = int64_t{64} * 1024;
// Taps of all axes but the innermost; only antialias needs more, and then the plain kernel runs.
constexpr int64_t kMaxRowTaps = 64;

// An axis in memory order with its taps; identity axes have one tap each.
struct MemoryAxis {
    int64_t y_extent = 1;
    int64_t x_extent = 1;
    int64_t x_stride = 1;  // in elements
    bool identity = true;
    ResizeTaps taps;
};

struct Geometry {
    std::vector<MemoryAxis> outer;  // outermost first; a row of y for each combination
    MemoryAxis columns;             // of a row
    int64_t inner = 1;              // contiguous elements of a column
    int64_t rows = 1;
};

ResizeTaps identity_taps(int64_t extent) {
    ResizeTaps taps;
    for (int64_t i = 0; i < extent; ++i) {
        taps.indices.push_back(i);
        taps.weights.push_back(1);
    }
    return taps;
}

Geometry geometry_of(const NodeData& node,
                     ResizeMode mode,
                     const std::vector<ResizeAxis>& axes,
                     const TensorArg& x,
                     const TensorArg& y) {
    std::vector<size_t> order(axes.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    // Extents of 1 may have any stride, but then they may be anywhere, too.
    std::stable_sort(order.begin(), order.end(),
                     [&y](size_t a, size_t b) { return y.strides[a] > y.strides[b]; });
    Geometry geometry;
    for (const size_t axis : order) {
        MemoryAxis memory{
            y.shape[int(axis)], x.shape[int(axis)], x.strides[axis], axes[axis].is_identity(), {}};
        memory.taps =
            memory.identity ? identity_taps(memory.y_extent) : resize_taps(node, mode, axes[axis]);
        geometry.outer.push_back(std::move(memory));
    }
    while (!geometry.outer.empty() && geometry.outer.back().identity) {
        geometry.inner *= geometry.outer.back().y_extent;
        geometry.outer.pop_back();
    }
    if (geometry.outer.empty()) {
        geometry.columns.taps = identity_taps(1);
    } else {
        geometry.columns = std::move(geometry.outer.back());
        geometry.outer.pop_back();
    }
    for (const MemoryAxis& axis : geometry.outer) {
        geometry.rows *= axis.y_extent;
    }
    return geometry;
}

// Rows of y in tiles of about 64 KiB.
class RowsKernel : public CpuKernel {
  public:
    explicit RowsKernel(Geometry geometry) : geometry_(std::move(geometry)) {}

  protected:
    void set_tiles(int64_t row_bytes) {
        tile_count =
            std::clamp<int64_t>(geometry_.rows * row_bytes / kTileBytes, 1, geometry_.rows);
    }
    const Geometry& geometry() const { return geometry_; }
    int64_t first_row(int64_t tile) const { return part_begin(geometry_.rows, tile_count, tile); }

  private:
    Geometry geometry_;
};

class NearestKernel final : public RowsKernel {
  public:
    NearestKernel(Geometry geometry_in, int64_t bytes)
        : RowsKernel(std::move(geometry_in)), element_bytes_(bytes) {
        kernel_name = "resize_nearest";
        run_bytes_ = geometry().inner * bytes;
        set_tiles(geometry().columns.y_extent * run_bytes_);
        for (const int64_t index : geometry().columns.taps.indices) {
            column_offsets_.push_back(index * run_bytes_);
        }
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const int64_t row_bytes = geometry().columns.y_extent * run_bytes_;
        const int64_t begin = first_row(tile_begin);
        std::byte* y = args.outputs[0].data + begin * row_bytes;
        const std::byte* last = nullptr;
        for (int64_t row = begin; row < first_row(tile_end); ++row, y += row_bytes) {
            const std::byte* x = args.inputs[0].data + row_offset(row);
            if (x == last) {
                // Growing repeats whole rows.
                std::memcpy(y, y - row_bytes, size_t(row_bytes));
            } else {
                copy_row(x, y);
            }
            last = x;
        }
        return {};
    }

  private:
    int64_t row_offset(int64_t row) const {
        int64_t offset = 0;
        for (size_t i = geometry().outer.size(); i-- > 0;) {
            const MemoryAxis& axis = geometry().outer[i];
            offset += axis.taps.indices[size_t(row % axis.y_extent)] * axis.x_stride;
            row /= axis.y_extent;
        }
        return offset * element_bytes_;
    }

    template <class T>
    void copy_elements_of(const std::byte* x, std::byte* y) const {
        for (const int64_t offset : column_offsets_) {
            T value;
            std::memcpy(&value, x + offset, sizeof(T));
            std::memcpy(y, &value, sizeof(T));
            y += sizeof(T);
        }
    }

    void copy_row(const std::byte* x, std::byte* y) const {
        switch (run_bytes_) {
            case 1:
                return copy_elements_of<uint8_t>(x, y);
            case 2:
                return copy_elements_of<uint16_t>(x, y);
            case 4:
                return copy_elements_of<uint32_t>(x, y);
            case 8:
                return copy_elements_of<uint64_t>(x, y);
            default:
                break;
        }
        for (const int64_t offset : column_offsets_) {
            std::memcpy(y, x + offset, size_t(run_bytes_));
            y += run_bytes_;
        }
    }

    int64_t element_bytes_;
    int64_t run_bytes_ = 1;
    std::vector<int64_t> column_offsets_;
};

// A row of y: rows of x blended into scratch, then sampled along the columns.
class InterpolateKernel final : public RowsKernel {
  public:
    explicit InterpolateKernel(Geometry geometry_in)
        : RowsKernel(std::move(geometry_in)), functions_(resize_rows()) {
        kernel_name = "resize_f32_separable";
        const MemoryAxis& columns = geometry().columns;
        source_elements_ = columns.x_extent * geometry().inner;
        scratch_bytes = source_elements_ * int64_t(sizeof(float));
        set_tiles((columns.y_extent * geometry().inner + source_elements_) *
                  int64_t(sizeof(float)));
        // Tap-major, so that a vector of columns loads its indices at once.
        for (int k = 0; k < columns.taps.count; ++k) {
            for (int64_t c = 0; c < columns.y_extent; ++c) {
                const auto at = size_t(c * columns.taps.count + k);
                indices_.push_back(int32_t(columns.taps.indices[at]));
                weights_.push_back(float(columns.taps.weights[at]));
            }
        }
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const MemoryAxis& columns = geometry().columns;
        const ColumnTaps taps{indices_.data(), weights_.data(), columns.taps.count,
                              columns.y_extent, geometry().inner};
        const int64_t row_elements = columns.y_extent * geometry().inner;
        const int64_t end = first_row(tile_end);
        for (int64_t row = first_row(tile_begin); row < end; ++row) {
            const float* sources[kMaxRowTaps];
            float weights[kMaxRowTaps];
            const int count = row_taps(row, args.inputs[0].as<float>(), sources, weights);
            float* y = args.outputs[0].as<float>() + row * row_elements;
            if (columns.identity) {
                // Nothing to sample: the columns are blended in place.
                functions_.blend(sources, weights, count, row_elements, y);
                continue;
            }
            const float* source = sources[0];
            if (count > 1) {
                auto* blended = reinterpret_cast<float*>(args.scratch);
                functions_.blend(sources, weights, count, source_elements_, blended);
                source = blended;
            }
            functions_.sample(source, taps, y);
        }
        return {};
    }

  private:
    // The rows of x that make a row of y; returns their number.
    int row_taps(int64_t row, const float* x, const float** sources, float* weights) const {
        int count = 1;
        sources[0] = x;
        weights[0] = 1;
        for (size_t i = geometry().outer.size(); i-- > 0;) {
            const MemoryAxis& axis = geometry().outer[i];
            const int64_t index = row % axis.y_extent;
            row /= axis.y_extent;
            const int taps = axis.taps.count;
            // Backwards, so that the first `count` are read before they are overwritten.
            for (int k = taps - 1; k >= 0; --k) {
                const auto at = size_t(index * taps + k);
                const int64_t offset = axis.taps.indices[at] * axis.x_stride;
                for (int j = count - 1; j >= 0; --j) {
                    sources[k * count + j] = sources[j] + offset;
                    weights[k * count + j] = weights[j] * float(axis.taps.weights[at]);
                }
            }
            count *= taps;
        }
        return count;
    }

    ResizeRows functions_;
    int64_t source_elements_ = 0;
    std::vector<int32_t> indices_;
    std::vector<float> weights_;
};

// The axes, or none if an operand is not known before the run.
Result<std::optional<std::vector<ResizeAxis>>> known_axes(const PrepareContext& context) {
    using Axes = std::optional<std::vector<ResizeAxis>>;
    for (size_t i = 2; i < context.inputs.size(); ++i) {
        const TensorArg& operand = context.inputs[i];
        if (operand.present() && operand.shape.element_count() > 0 && operand.data == nullptr) {
            return Axes();
        }
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<ResizeAxis> axes,
                          resize_axes_of(context.node, context.inputs));
    return Axes(std::move(axes));
}

Result<std::unique_ptr<CpuKernel>> make_resize(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const NodeData& node = context.node;
    LEAT_ASSIGN_OR_RETURN(const ResizeMode mode, resize_mode(node));
    const bool covered =
        mode == ResizeMode::kNearest ? has_byte_elements(x.dtype) : x.dtype == DType::kFloat32;
    // Cropping has elements outside, and its roi may be known only when the graph runs.
    if (!covered || y.shape.element_count() == 0 ||
        node.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const auto axes, known_axes(context));
    if (!axes) {
        return std::unique_ptr<CpuKernel>();
    }
    Geometry geometry = geometry_of(node, mode, *axes, x, y);
    if (mode == ResizeMode::kNearest) {
        return std::unique_ptr<CpuKernel>(
            new NearestKernel(std::move(geometry), element_bytes(x.dtype)));
    }
    int64_t row_taps = 1;
    for (const MemoryAxis& axis : geometry.outer) {
        row_taps *= axis.taps.count;
        if (row_taps > kMaxRowTaps) {
            return std::unique_ptr<CpuKernel>();
        }
    }
    if (geometry.columns.x_extent > INT32_MAX) {
        return std::unique_ptr<CpuKernel>();
    }
    return std::unique_ptr<CpuKernel>(new InterpolateKernel(std::move(geometry)));
}

constexpr CpuKernelEntry kResizeCpuKernels[] = {{"Resize", make_resize}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> resize_cpu_kernels() {
    return cpu::kResizeCpuKernels;
}

}  // namespace leat
