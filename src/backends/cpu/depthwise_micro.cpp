#include "backends/cpu/depthwise_micro.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/depthwise_micro.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;
constexpr int kLanes = int(hn::MaxLanes(F()));

// A whole vector of channels of x and y.
struct WholeVector {
    V load(const float* from) const { return hn::LoadU(F(), from); }
    void store(V value, float* to) const { hn::StoreU(value, F(), to); }
};
// The last channels.
struct PartVector {
    int64_t count;

    V load(const float* from) const {
        alignas(64) float lanes[kLanes] = {};
        std::copy_n(from, count, lanes);
        return hn::Load(F(), lanes);
    }
    void store(V value, float* to) const {
        alignas(64) float lanes[kLanes];
        hn::Store(value, F(), lanes);
        std::copy_n(lanes, count, to);
    }
};

template <class Access>
HWY_INLINE void finish(
    const DepthwiseRow& row, const Access& access, int64_t channel, V sum, float* y) {
    const F d;
    if (row.bias != nullptr) {
        sum = hn::Add(sum, hn::LoadU(d, row.bias + channel));
    }
    if (row.clip) {
        // The sum is the second operand: x86 returns that one when either is NaN.
        sum = hn::Min(hn::Set(d, row.high), hn::Max(hn::Set(d, row.low), sum));
    }
    access.store(sum, y);
}

// Adds the input vector at position p of a tile to the results whose windows hold it.
template <int Taps, int Stride, int Width>
HWY_INLINE void add_position(int p, V x, const V (&w)[Taps], V (&sums)[Width]) {
#pragma GCC unroll 16
    for (int t = 0; t < Taps; ++t) {
        if ((p - t) >= 0 && (p - t) % Stride == 0 && (p - t) / Stride < Width) {
            sums[(p - t) / Stride] = hn::MulAdd(x, w[t], sums[(p - t) / Stride]);
        }
    }
}

// Results [begin, begin + count) of a row for a vector of channels, count <= Width. Taps and stride
// are constants, so an input vector is read once for all the results that it is part of. kInside:
// every input position lies inside and count == Width.
template <int Taps, int Stride, int Width, bool kInside, class Access>
HWY_INLINE void fixed_tile(
    const DepthwiseRow& row, const Access& access, int64_t channel, int64_t begin, int64_t count) {
    constexpr int kPositions = (Width - 1) * Stride + Taps;
    const F d;
    V sums[Width];
#pragma GCC unroll 16
    for (int o = 0; o < Width; ++o) {
        sums[o] = hn::Zero(d);
    }
    const int64_t first = begin * Stride - row.pad;
    for (int64_t r = 0; r < row.row_count; ++r) {
        const float* weights = row.weights[r] + channel;
        V w[Taps];
#pragma GCC unroll 16
        for (int t = 0; t < Taps; ++t) {
            w[t] = hn::LoadU(d, weights + t * row.weight_stride);
        }
        const int64_t offset = row.x_rows[r] + channel;
#pragma GCC unroll 32
        for (int p = 0; p < kPositions; ++p) {
            const int64_t position = first + p;
            if (!kInside && (position < 0 || position >= row.width)) {
                continue;
            }
            const V x = access.load(row.x + (offset + position * row.x_stride));
            add_position<Taps, Stride, Width>(p, x, w, sums);
        }
    }
    float* y = row.y + begin * row.y_stride + channel;
#pragma GCC unroll 16
    for (int o = 0; o < Width; ++o) {
        if (kInside || o < count) {
            finish(row, access, channel, sums[o], y + o * row.y_stride);
        }
    }
}

// Any taps, stride and dilation: one result at a time.
template <class Access>
HWY_INLINE void any_result(const DepthwiseRow& row,
                           const Access& access,
                           int64_t channel,
                           int64_t o) {
    V sum = hn::Zero(F());
    const int64_t first = o * row.stride - row.pad;
    for (int64_t r = 0; r < row.row_count; ++r) {
        const float* weights = row.weights[r] + channel;
        for (int64_t t = 0; t < row.taps; ++t) {
            const int64_t position = first + t * row.dilation;
            if (position >= 0 && position < row.width) {
                const V x =
                    access.load(row.x + (row.x_rows[r] + channel + position * row.x_stride));
                sum = hn::MulAdd(x, hn::LoadU(F(), weights + t * row.weight_stride), sum);
            }
        }
    }
    finish(row, access, channel, sum, row.y + o * row.y_stride + channel);
}

template <class OnChannels>
HWY_INLINE void for_channels(const DepthwiseRow& row, const OnChannels& f) {
    int64_t channel = 0;
    for (; channel + kLanes <= row.channels; channel += kLanes) {
        f(WholeVector(), channel);
    }
    if (channel < row.channels) {
        f(PartVector{row.channels - channel}, channel);
    }
}

template <int Taps, int Stride, int Width>
void fixed_row(const DepthwiseRow& row) {
    // Tiles of nearly equal width.
    const int64_t tiles = (row.y_width + Width - 1) / Width;
    for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t begin = tile * row.y_width / tiles;
        const int64_t count = (tile + 1) * row.y_width / tiles - begin;
        const int64_t first = begin * Stride - row.pad;
        const bool inside =
            count == Width && first >= 0 && first + int64_t{Width - 1} * Stride + Taps <= row.width;
        for_channels(row, [&](const auto& access, int64_t channel) HWY_ATTR {
            if (inside) {
                fixed_tile<Taps, Stride, Width, true>(row, access, channel, begin, count);
            } else {
                fixed_tile<Taps, Stride, Width, false>(row, access, channel, begin, count);
            }
        });
    }
}

void any_row(const DepthwiseRow& row) {
    for (int64_t o = 0; o < row.y_width; ++o) {
        for_channels(row, [&](const auto& access, int64_t channel)
                              HWY_ATTR { any_result(row, access, channel, o); });
    }
}

// Width: sums, the taps' weights and one input vector fit 16 registers.
DepthwiseKernel find_kernel(int64_t taps, int64_t stride, int64_t dilation) {
    if (dilation != 1 || stride > 2) {
        return &any_row;
    }
    switch (taps * 2 + stride - 1) {
        case 6:
            return &fixed_row<3, 1, 8>;
        case 7:
            return &fixed_row<3, 2, 7>;
        case 10:
            return &fixed_row<5, 1, 7>;
        case 11:
            return &fixed_row<5, 2, 7>;
        case 14:
            return &fixed_row<7, 1, 7>;
        case 15:
            return &fixed_row<7, 2, 7>;
        default:
            return &any_row;
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace leat::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat::cpu {

HWY_EXPORT(find_kernel);

DepthwiseKernel find_depthwise_kernel(int64_t taps, int64_t stride, int64_t dilation) {
    return HWY_DYNAMIC_DISPATCH(find_kernel)(taps, stride, dilation);
}

}  // namespace leat::cpu
#endif
