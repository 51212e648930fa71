#include <algorithm>
#include <array>

#include "backends/cpu/cpu_kernel.h"
#include "base/parts.h"
#include "ops/cumsum/cumsum.h"

namespace leat {
namespace cpu {
namespace {

constexpr int64_t kTileElements = int64_t{16} * 1024;
constexpr int64_t kBlockColumns = 512;

// Tiles are groups of outer indices, so they share nothing. Floats are summed, or multiplied, in
// double along any axis.
template <class T, class Sum, bool kIsProduct>
class CumSumKernel final : public CpuKernel {
  public:
    CumSumKernel(const NodeData& node, const AxisSplit& loop)
        : loop_(loop),
          exclusive_(node.attr("exclusive", int64_t{0}) != 0),
          reverse_(node.attr("reverse", int64_t{0}) != 0) {
        kernel_name = kIsProduct ? "cumprod_lines" : "cumsum_lines";
        const int64_t elements = loop.outer * loop.extent * loop.inner;
        tile_count =
            std::clamp<int64_t>(elements / kTileElements, 1, std::max<int64_t>(loop.outer, 1));
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const int64_t block = loop_.extent * loop_.inner;
        for (int64_t o = first(tile_begin); o < first(tile_end); ++o) {
            const T* x = args.inputs[0].as<T>() + o * block;
            T* y = args.outputs[0].as<T>() + o * block;
            if (loop_.inner == 1) {
                sum_line(x, y);
            } else {
                sum_rows(x, y);
            }
        }
        return {};
    }

  private:
    int64_t first(int64_t tile) const { return part_begin(loop_.outer, tile_count, tile); }
    static Sum next(Sum sum, T element) {
        if constexpr (kIsProduct) {
            return sum * Sum(element);
        } else {
            return sum + Sum(element);
        }
    }
    int64_t place(int64_t k) const { return reverse_ ? loop_.extent - 1 - k : k; }

    void sum_line(const T* x, T* y) const {
        Sum sum = kIsProduct ? 1 : 0;
        for (int64_t k = 0; k < loop_.extent; ++k) {
            const int64_t i = place(k);
            const Sum before = sum;
            sum = next(sum, x[i]);
            y[i] = T(exclusive_ ? before : sum);
        }
    }

    // Blocks of columns, whose sums stay in the first cache.
    void sum_rows(const T* x, T* y) const {
        for (int64_t begin = 0; begin < loop_.inner; begin += kBlockColumns) {
            sum_columns(x + begin, y + begin, std::min(kBlockColumns, loop_.inner - begin));
        }
    }
    void sum_columns(const T* x, T* y, int64_t columns) const {
        std::array<Sum, kBlockColumns> sums{};
        if constexpr (kIsProduct) {
            std::fill_n(sums.begin(), columns, Sum(1));
        }
        for (int64_t k = 0; k < loop_.extent; ++k) {
            const T* from = x + place(k) * loop_.inner;
            T* to = y + place(k) * loop_.inner;
            for (int64_t i = 0; i < columns; ++i) {
                Sum& sum = sums[size_t(i)];
                const Sum before = sum;
                sum = next(sum, from[i]);
                to[i] = T(exclusive_ ? before : sum);
            }
        }
    }

    AxisSplit loop_;
    bool exclusive_;
    bool reverse_;
};

template <class T, class Sum>
std::unique_ptr<CpuKernel> make_cumsum_of(const NodeData& node, const AxisSplit& loop) {
    if (node.op_type == "CumProd") {
        return std::make_unique<CumSumKernel<T, Sum, true>>(node, loop);
    }
    return std::make_unique<CumSumKernel<T, Sum, false>>(node, loop);
}

Result<std::unique_ptr<CpuKernel>> make_cumsum(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (context.inputs[1].data == nullptr || x.shape.element_count() == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, cumsum_loop(x.shape, context.inputs[1]));
    // Integers wrap around, so they are added and multiplied as unsigned ones.
    switch (x.dtype) {
        case DType::kFloat32:
            return make_cumsum_of<float, double>(context.node, loop);
        case DType::kFloat64:
            return make_cumsum_of<double, double>(context.node, loop);
        case DType::kInt32:
        case DType::kUint32:
            return make_cumsum_of<uint32_t, uint32_t>(context.node, loop);
        case DType::kInt64:
        case DType::kUint64:
            return make_cumsum_of<uint64_t, uint64_t>(context.node, loop);
        default:
            return std::unique_ptr<CpuKernel>();
    }
}

constexpr CpuKernelEntry kCumsumCpuKernels[] = {{"CumSum", make_cumsum}, {"CumProd", make_cumsum}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> cumsum_cpu_kernels() {
    return cpu::kCumsumCpuKernels;
}

}  // namespace leat
