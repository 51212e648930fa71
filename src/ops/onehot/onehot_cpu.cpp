// OneHot by units: lines of the new axis where it is the innermost, else rows at one index of it.
#include <algorithm>
#include <cmath>

#include "backends/cpu/unit_kernel.h"
#include "ops/onehot/onehot.h"

namespace leat {
namespace {

constexpr double kBytesPerNs = 8;  // written, to memory

// Sixteen bytes, which no number has.
struct Wide {
    uint64_t halves[2];
};

// The whole number that an index is; beyond every extent if it is none.
template <class Index>
int64_t whole(Index index) {
    if constexpr (std::is_floating_point_v<Index>) {
        constexpr auto kBeyond = Index(0x1p62);
        return index > -kBeyond && index < kBeyond ? int64_t(index) : INT64_MAX;
    } else {
        return index;
    }
}

// Units are (outer).
template <class T, class Index>
void fill_lines(const AxisSplit& loop, const cpu::KernelArgs& args, int64_t begin, int64_t end) {
    const auto* indices = args.inputs[0].as<const Index>();
    const auto* values = args.inputs[2].as<const T>();
    T* const y = args.outputs[0].as<T>();
    std::fill(y + begin * loop.extent, y + end * loop.extent, values[0]);
    for (int64_t line = begin; line < end; ++line) {
        const int64_t index = whole(indices[line]);
        if (index >= -loop.extent && index < loop.extent) {
            y[line * loop.extent + (index < 0 ? index + loop.extent : index)] = values[1];
        }
    }
}

// Units are (outer, d).
template <class T, class Index>
void fill_rows(const AxisSplit& loop, const cpu::KernelArgs& args, int64_t begin, int64_t end) {
    const auto* values = args.inputs[2].as<const T>();
    T* y = args.outputs[0].as<T>() + begin * loop.inner;
    for (int64_t row = begin; row < end; ++row, y += loop.inner) {
        const auto* indices = args.inputs[0].as<const Index>() + row / loop.extent * loop.inner;
        const int64_t d = row % loop.extent;
        for (int64_t i = 0; i < loop.inner; ++i) {
            const int64_t index = whole(indices[i]);
            y[i] = values[index == d || index == d - loop.extent ? 1 : 0];
        }
    }
}

using FillOnehot = cpu::UnitFunction<AxisSplit>;

template <class T, class Index>
FillOnehot fill_of(bool is_innermost) {
    return is_innermost ? fill_lines<T, Index> : fill_rows<T, Index>;
}

template <class T>
FillOnehot fill_of(DType indices, bool is_innermost) {
    switch (indices) {
        case DType::kInt64:
            return fill_of<T, int64_t>(is_innermost);
        case DType::kInt32:
            return fill_of<T, int32_t>(is_innermost);
        case DType::kFloat32:
            return fill_of<T, float>(is_innermost);
        default:
            return nullptr;
    }
}

FillOnehot fill_of(DType values, DType indices, bool is_innermost) {
    switch (values == DType::kString ? 0 : bits_of(values)) {
        case 8:
            return fill_of<uint8_t>(indices, is_innermost);
        case 16:
            return fill_of<uint16_t>(indices, is_innermost);
        case 32:
            return fill_of<uint32_t>(indices, is_innermost);
        case 64:
            return fill_of<uint64_t>(indices, is_innermost);
        case 128:
            return fill_of<Wide>(indices, is_innermost);
        default:
            return nullptr;
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_onehot(cpu::PrepareContext& context) {
    const TensorArg& y = context.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, onehot_loop(context.node, y.shape));
    const bool is_innermost = loop.inner == 1;
    const FillOnehot fill = fill_of(y.dtype, context.inputs[0].dtype, is_innermost);
    if (fill == nullptr) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const int64_t units = is_innermost ? loop.outer : loop.outer * loop.extent;
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<AxisSplit>>(
        is_innermost ? "onehot_lines" : "onehot_rows", fill, loop, units,
        double(y.byte_count()) / kBytesPerNs));
}

constexpr cpu::CpuKernelEntry kOnehotCpuKernels[] = {{"OneHot", make_onehot}};

}  // namespace

std::span<const cpu::CpuKernelEntry> onehot_cpu_kernels() {
    return kOnehotCpuKernels;
}

}  // namespace leat
