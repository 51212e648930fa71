#include <algorithm>
#include <cstring>

#include "base/parts.h"
#include "ops/gather/gather.h"
#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

constexpr int64_t kTileBytes = int64_t{64} * 1024;
// A row costs at least a cache miss, however short it is.
constexpr int64_t kRowBytes = 32;

template <class T>
void copy_one(const std::byte* source, std::byte* destination) {
    T value;
    std::memcpy(&value, source, sizeof(T));
    std::memcpy(destination, &value, sizeof(T));
}

// Copies of rows whose length is one element need no call.
inline void copy_row(const std::byte* source, std::byte* destination, int64_t bytes) {
    switch (bytes) {
        case 1:
            return copy_one<uint8_t>(source, destination);
        case 2:
            return copy_one<uint16_t>(source, destination);
        case 4:
            return copy_one<uint32_t>(source, destination);
        case 8:
            return copy_one<uint64_t>(source, destination);
        default:
            std::memcpy(destination, source, size_t(bytes));
    }
}

// Rows [begin, end) of a result in tiles of about 64 KiB.
class RowKernel : public CpuKernel {
  public:
    RowKernel(const NodeData& node, int64_t rows, int64_t row_bytes) : node_(&node), rows_(rows) {
        const int64_t bytes = rows * std::max(row_bytes, kRowBytes);
        tile_count = std::clamp<int64_t>(bytes / kTileBytes, 1, std::max<int64_t>(rows, 1));
        names_node = true;
    }
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        return run_rows(args, first_row(tile_begin), first_row(tile_end));
    }

  protected:
    virtual Status run_rows(const KernelArgs& args, int64_t begin, int64_t end) const = 0;
    const NodeData& node() const { return *node_; }

  private:
    int64_t first_row(int64_t tile) const { return part_begin(rows_, tile_count, tile); }
    const NodeData* node_;  // for messages
    int64_t rows_;
};

class GatherKernel final : public RowKernel {
  public:
    GatherKernel(
        const NodeData& node, int64_t outer, int64_t extent, int64_t picks, int64_t row_bytes)
        : RowKernel(node, outer * picks, row_bytes),
          extent_(extent),
          picks_(picks),
          row_bytes_(row_bytes) {
        kernel_name = "gather_rows";
    }

  protected:
    Status run_rows(const KernelArgs& args, int64_t begin, int64_t end) const override {
        const TensorArg& indices = args.inputs[1];
        for (int64_t row = begin; row < end;) {
            const int64_t outer = row / picks_;
            const int64_t first = row - outer * picks_;
            const int64_t last = std::min(picks_, first + end - row);
            const std::byte* source = args.inputs[0].data + outer * extent_ * row_bytes_;
            std::byte* destination = args.outputs[0].data + row * row_bytes_;
            for (int64_t pick = first; pick < last; ++pick) {
                const int64_t index = normalize_index(index_at(indices, pick), extent_);
                if (index < 0) {
                    return index_error(node().label(), index_at(indices, pick), extent_);
                }
                copy_row(source + index * row_bytes_, destination, row_bytes_);
                destination += row_bytes_;
            }
            row += last - first;
        }
        return {};
    }

  private:
    int64_t extent_;
    int64_t picks_;
    int64_t row_bytes_;
};

class GatherNdKernel final : public RowKernel {
  public:
    GatherNdKernel(const NodeData& node, const GatherNdLoop& loop, int64_t element)
        : RowKernel(node, loop.batches * loop.picks, loop.slice * element),
          loop_(loop),
          element_bytes_(element) {
        kernel_name = "gather_nd_rows";
    }

  protected:
    Status run_rows(const KernelArgs& args, int64_t begin, int64_t end) const override {
        const TensorArg& x = args.inputs[0];
        const TensorArg& indices = args.inputs[1];
        const int64_t row_bytes = loop_.slice * element_bytes_;
        for (int64_t row = begin; row < end; ++row) {
            int bad = 0;
            const int64_t offset = gather_nd_offset(loop_, x, indices, row, &bad);
            if (offset < 0) {
                return index_error(node().label(), index_at(indices, row * loop_.depth + bad),
                                   x.shape[loop_.first_axis + bad]);
            }
            const int64_t batch = row / loop_.picks;
            copy_row(x.data + (batch * loop_.batch_elements + offset) * element_bytes_,
                     args.outputs[0].data + row * row_bytes, row_bytes);
        }
        return {};
    }

  private:
    GatherNdLoop loop_;
    int64_t element_bytes_;
};

// Rows are elements; their places follow the axes of indices.
class GatherElementsKernel final : public RowKernel {
  public:
    GatherElementsKernel(const NodeData& node, const TensorArg& x, const Shape& indices, int axis)
        : RowKernel(node, indices.element_count(), element_bytes(x.dtype)),
          shape_(indices),
          axis_(axis),
          element_bytes_(element_bytes(x.dtype)) {
        kernel_name = "gather_elements";
    }

  protected:
    Status run_rows(const KernelArgs& args, int64_t begin, int64_t end) const override {
        const TensorArg& x = args.inputs[0];
        const TensorArg& indices = args.inputs[1];
        const int last = shape_.rank() - 1;
        const int64_t extent = x.shape[axis_];
        const int64_t axis_stride = x.strides[size_t(axis_)];
        const int64_t step = last == axis_ ? 0 : x.strides[size_t(last)];
        for (int64_t i = begin; i < end;) {
            // One line of the innermost axis at a time.
            const int64_t line_end = std::min(end, i - i % shape_[last] + shape_[last]);
            int64_t offset = line_offset(x, i);
            for (; i < line_end; ++i, offset += step) {
                const int64_t index = normalize_index(index_at(indices, i), extent);
                if (index < 0) {
                    return index_error(node().label(), index_at(indices, i), extent);
                }
                copy_row(x.data + (offset + index * axis_stride) * element_bytes_,
                         args.outputs[0].data + i * element_bytes_, element_bytes_);
            }
        }
        return {};
    }

  private:
    int64_t line_offset(const TensorArg& x, int64_t i) const {
        int64_t offset = 0;
        for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
            if (axis != axis_) {
                offset += i % shape_[axis] * x.strides[size_t(axis)];
            }
            i /= shape_[axis];
        }
        return offset;
    }

    Shape shape_;
    int axis_;
    int64_t element_bytes_;
};

Result<std::unique_ptr<CpuKernel>> make_gather(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (!has_byte_elements(x.dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node, x.shape.rank()));
    const int64_t row = x.shape.element_count(axis + 1, x.shape.rank()) * element_bytes(x.dtype);
    // Without anything to copy only the indices are checked, which the reference kernel does.
    if (row == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    context.unaligned_inputs |= 1;
    return std::unique_ptr<CpuKernel>(
        new GatherKernel(context.node, x.shape.element_count(0, axis), x.shape[axis],
                         context.inputs[1].shape.element_count(), row));
}

Result<std::unique_ptr<CpuKernel>> make_gather_nd(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const GatherNdLoop loop = gather_nd_loop(context.node, x, context.inputs[1]);
    if (!has_byte_elements(x.dtype) || loop.slice == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    context.unaligned_inputs |= 1;
    return std::unique_ptr<CpuKernel>(
        new GatherNdKernel(context.node, loop, element_bytes(x.dtype)));
}

Result<std::unique_ptr<CpuKernel>> make_gather_elements(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (!has_byte_elements(x.dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node, x.shape.rank()));
    context.unaligned_inputs |= 1;
    return std::unique_ptr<CpuKernel>(
        new GatherElementsKernel(context.node, x, context.inputs[1].shape, axis));
}

constexpr CpuKernelEntry kGatherCpuKernels[] = {
    {"Gather", make_gather},
    {"GatherElements", make_gather_elements},
    {"GatherND", make_gather_nd},
};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> gather_cpu_kernels() {
    return cpu::kGatherCpuKernels;
}

}  // namespace leat
