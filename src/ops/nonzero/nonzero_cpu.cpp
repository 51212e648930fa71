// NonZero: a pass over the elements makes a bit of each, and so their number; then the indices are
// written from the bits, which are in a cache where the elements were not.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "backends/cpu/cpu_kernel.h"
#include "ops/nonzero/nonzero.h"
#include "ops/open_result.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nonzero/nonzero_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/nonzero/nonzero_indices-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The mask of up to 8 lanes, or the bits of more: whole bytes are written, and seven behind them
// may be.
template <class T>
HWY_INLINE void store_bits(const T* x, T significant, uint8_t* bits) {
    const hn::ScalableTag<T> tag;
    constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
    const auto mask = hn::Set(tag, significant);
    const auto zero = hn::Zero(tag);
    const auto is_nonzero = [&](const T* from) {
        return hn::Ne(hn::And(hn::LoadU(tag, from), mask), zero);
    };
    if constexpr (kLanes >= 8) {
        hn::StoreMaskBits(tag, is_nonzero(x), bits);
    } else {
        uint8_t joined = 0;
        for (size_t i = 0; i < 8; i += kLanes) {
            uint8_t part[8] = {};
            hn::StoreMaskBits(tag, is_nonzero(x + i), part);
            joined = uint8_t(joined | part[0] << i);
        }
        *bits = joined;
    }
}

// Bit i: (x[i] & significant) != 0. Behind the last one, to the end of its word, are zeros.
template <class T>
int64_t mark_elements(const std::byte* data, int64_t count, uint64_t significant, uint64_t* words) {
    constexpr int64_t kStep = std::max<int64_t>(8, int64_t(hn::MaxLanes(hn::ScalableTag<T>())));
    const T* const x = reinterpret_cast<const T*>(data);
    auto* const bits = reinterpret_cast<uint8_t*>(words);
    int64_t i = 0;
    for (; i + kStep <= count; i += kStep) {
        store_bits(x + i, T(significant), bits + i / 8);
    }
    std::memset(bits + i / 8, 0, size_t((count + 63) / 64 * 8 - i / 8));
    for (; i < count; ++i) {
        if ((x[i] & T(significant)) != 0) {
            bits[i / 8] = uint8_t(bits[i / 8] | 1U << (i % 8));
        }
    }
    int64_t marked = 0;
    for (int64_t word = 0; word < (count + 63) / 64; ++word) {
        marked += std::popcount(words[word]);
    }
    return marked;
}

}  // namespace

// How many are marked.
int64_t mark_nonzero(
    const std::byte* x, int element_bytes, int64_t count, uint64_t significant, uint64_t* words) {
    switch (element_bytes) {
        case 1:
            return mark_elements<uint8_t>(x, count, significant, words);
        case 2:
            return mark_elements<uint16_t>(x, count, significant, words);
        case 4:
            return mark_elements<uint32_t>(x, count, significant, words);
        default:
            return mark_elements<uint64_t>(x, count, significant, words);
    }
}

void write_nonzero(const uint64_t* words, const Shape& shape, int64_t count, int64_t* y) {
    if (count > 0) {
        NonzeroIndices(words, shape, count, y).write();
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(mark_nonzero);
HWY_EXPORT(write_nonzero);

// Without the signs of floating types: a zero of either sign is zero. Nothing: no integer of up to
// 64 bits.
uint64_t significant_bits(DType dtype) {
    switch (dtype) {
        case DType::kFloat16:
        case DType::kBfloat16:
            return 0x7fff;
        case DType::kFloat32:
            return 0x7fffffff;
        case DType::kFloat64:
            return 0x7fffffffffffffff;
        case DType::kComplex64:
            return 0x7fffffff7fffffff;
        case DType::kComplex128:
        case DType::kString:
            return 0;
        default:
            return ~uint64_t{0};
    }
}

class NonzeroKernel final : public cpu::CpuKernel {
  public:
    NonzeroKernel(const TensorArg& x, uint64_t significant)
        : element_bytes_(bits_of(x.dtype) / 8), significant_(significant) {
        kernel_name = "nonzero_bits";
        // Bits are stored eight bytes at a time, wherever the last one is.
        scratch_bytes = (x.shape.element_count() + 63) / 64 * int64_t{8} + int64_t{64};
    }

    Status run(const cpu::KernelArgs& args, int64_t /*begin*/, int64_t /*end*/) const override {
        const TensorArg& x = args.inputs[0];
        auto* const words = reinterpret_cast<uint64_t*>(args.scratch);
        const int64_t count = HWY_DYNAMIC_DISPATCH(mark_nonzero)(
            x.data, element_bytes_, x.shape.element_count(), significant_, words);
        LEAT_ASSIGN_OR_RETURN(
            int64_t* const y,
            give_shape<int64_t>(args.outputs[0], {int64_t{x.shape.rank()}, count}));
        HWY_DYNAMIC_DISPATCH(write_nonzero)(words, x.shape, count, y);
        return {};
    }

  private:
    int element_bytes_;
    uint64_t significant_;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_nonzero(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const uint64_t significant = significant_bits(x.dtype);
    if (significant == 0) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    return std::unique_ptr<cpu::CpuKernel>(new NonzeroKernel(x, significant));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> nonzero_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{{"NonZero", make_nonzero}}};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
