#include "backends/cpu/gemm_micro.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm_micro.cpp"
#include "backends/cpu/simd.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/quad-inl.h"

#ifndef LEAT_GEMM_MICRO_ONCE
#define LEAT_GEMM_MICRO_ONCE
namespace leat::cpu {
// What a padded tap reads.
alignas(64) inline constexpr float kZeros[kMaxSegmentElements] = {};
constexpr int64_t kLineFloats = 16;
}  // namespace leat::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace leat::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;
constexpr int64_t kLanes = int64_t(hn::MaxLanes(F()));
constexpr int kColumns = 2 * kLanes;
// Accumulators that fit beside two vectors of B and one or two of A: 32 registers, or 16.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 14;
constexpr int kAccumulators = 28;
constexpr std::string_view kName = "gemm_f32_14x32";
#else
constexpr int kRows = 6;
constexpr int kAccumulators = 12;
constexpr std::string_view kName = kLanes == 8 ? "gemm_f32_6x16" : "gemm_f32_6x8";
#endif
// Steps of K that the reading of B runs ahead in streaming (few rows) calls: 1 to 2 KiB a panel.
constexpr int64_t kStreamAhead = 16;

constexpr int wide_panels(int rows) {
    const int fit = kAccumulators / (2 * rows);
    return fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

// Where the lanes of a call's last vector of columns are not all there. Without masks that leave
// the memory behind a row alone, callers take whole panels and copy.
constexpr bool kHasTails = HWY_TARGET <= HWY_AVX2;

// Adds `steps` steps of K for rows at a[0..MR)[k..] to acc, of NV vectors of columns; kAhead: with
// a cache line prefetched each, or one of each panel.
template <int MR, int NV, bool kAhead>
HWY_INLINE void add_steps(const MicroCall& call,
                          const float* const (&a)[MR],
                          int64_t k,
                          int64_t end,
                          const float*& b_rows,
                          const float*& ahead,
                          V (&acc)[MR][NV]) {
    const F d;
    const int64_t row_stride = call.b_row_stride;
    const int64_t panel_stride = call.b_panel_stride;
    const float* HWY_RESTRICT b = b_rows;
    for (; k < end; ++k) {
        V columns[NV];
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) {
            columns[j] = hn::LoadU(d, b + j / 2 * panel_stride + j % 2 * kLanes);
        }
        if constexpr (NV > 2 && kAhead) {
#pragma GCC unroll 8
            for (int j = 0; j < NV; j += 2) {
                hwy::Prefetch(b + j / 2 * panel_stride + kStreamAhead * row_stride);
            }
        } else if constexpr (kAhead) {
            // To L2. Not in a function of its own: GCC 12 takes it for one without effect.
            __builtin_prefetch(ahead, 0, 2);
            ahead += kLineFloats;
        }
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
            const V x = hn::Set(d, a[r][k]);
#pragma GCC unroll 8
            for (int j = 0; j < NV; ++j) {
                acc[r][j] = hn::MulAdd(x, columns[j], acc[r][j]);
            }
        }
        b += row_stride;
    }
    b_rows = b;
}

// kTail: the last vector of columns has call.tail_columns.
template <int MR, int NV, bool kTail>
HWY_INLINE void finish(const MicroCall& call, V (&acc)[MR][NV]) {
    const F d;
    const auto tail = hn::FirstN(d, kTail ? size_t(call.tail_columns) : size_t(kLanes));
    if (call.bias != nullptr) {
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) {
            const V bias = hn::LoadU(d, call.bias + j * kLanes);
#pragma GCC unroll 16
            for (int r = 0; r < MR; ++r) {
                acc[r][j] = hn::Add(acc[r][j], bias);
            }
        }
    }
    if (call.residual != nullptr) {
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
            const float* residual = call.residual + call.rows[r].row * call.residual_stride;
#pragma GCC unroll 8
            for (int j = 0; j < NV; ++j) {
                const float* from = residual + j * kLanes;
                const V other =
                    kTail && j + 1 == NV ? hn::MaskedLoad(tail, d, from) : hn::LoadU(d, from);
                acc[r][j] = hn::Add(acc[r][j], other);
            }
        }
    }
    if (call.clip) {
        const V low = hn::Set(d, call.low);
        const V high = hn::Set(d, call.high);
        // The sum is the second operand: x86 returns that one when either is NaN.
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
            for (int j = 0; j < NV; ++j) {
                acc[r][j] = hn::Min(high, hn::Max(low, acc[r][j]));
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) {
        float* dst =
            call.dst + (call.dst_stride >= 0 ? r * call.dst_stride : call.rows[r].dst_offset);
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) {
            if (kTail && j + 1 == NV) {
                hn::BlendedStore(acc[r][j], tail, d, dst + j * kLanes);
            } else {
                hn::StoreU(acc[r][j], d, dst + j * kLanes);
            }
        }
    }
}

template <int MR, int NV, bool kTail>
void micro(const MicroCall& call) {
    const F d;
    V acc[MR][NV];
    if (call.partial_in == nullptr) {
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
            for (int j = 0; j < NV; ++j) {
                acc[r][j] = hn::Zero(d);
            }
        }
    } else {
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
            for (int j = 0; j < NV; ++j) {
                acc[r][j] = hn::LoadU(d, call.partial_in + r * call.partial_stride + j * kLanes);
            }
        }
    }
    const float* b = call.b;
    const float* ahead = call.prefetch;
    // Where panels lie side by side, one stream of memory, the machine sees by itself what comes
    // next: a prefetch of part of the lines then costs a fifth (docs/measurements/recurrent.md).
    const bool is_one_stream = call.b_panel_stride == kColumns &&
                               call.b_row_stride <= int64_t{kMaxPanelsPerCall} * kColumns;
    int64_t ahead_steps = NV <= 2         ? call.prefetch_lines
                          : is_one_stream ? 0
                                          : std::numeric_limits<int64_t>::max();
    for (int64_t s = 0; s < call.segment_count; ++s) {
        const GemmSegment& segment = call.segments[s];
        const float* a[MR];
        uint64_t any = 0;
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
            const uint64_t inside = (call.rows[r].taps >> segment.tap) & 1;
            a[r] = inside != 0 ? call.a + (call.rows[r].a_offset + segment.offset) : kZeros;
            any |= inside;
        }
        if (any == 0) {
            b += segment.length * call.b_row_stride;
            continue;
        }
        const int64_t with_prefetch = std::min<int64_t>(ahead_steps, segment.length);
        ahead_steps -= with_prefetch;
        add_steps<MR, NV, true>(call, a, 0, with_prefetch, b, ahead, acc);
        add_steps<MR, NV, false>(call, a, with_prefetch, segment.length, b, ahead, acc);
    }
    if (call.partial_out == nullptr) {
        finish<MR, NV, kTail>(call, acc);
        return;
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) {
            hn::StoreU(acc[r][j], d, call.partial_out + r * call.partial_stride + j * kLanes);
        }
    }
}

void pack_rows(const float* b, int64_t b_row_stride, int64_t k, int64_t columns, float* panels) {
    const F d;
    int64_t column = 0;
    for (; column + kColumns <= columns; column += kColumns) {
        const float* from = b + column;
        for (int64_t i = 0; i < k; ++i, from += b_row_stride, panels += kColumns) {
            hn::StoreU(hn::LoadU(d, from), d, panels);
            hn::StoreU(hn::LoadU(d, from + kLanes), d, panels + kLanes);
        }
    }
    const int64_t tail = columns - column;
    for (int64_t i = 0; tail > 0 && i < k; ++i, panels += kColumns) {
        const float* from = b + column + i * b_row_stride;
        for (int64_t j = 0; j < kColumns; ++j) {
            panels[j] = j < tail ? from[j] : 0.0F;
        }
    }
}

#if HWY_TARGET != HWY_SCALAR

// Four steps of K of as many columns as D has lanes.
template <class D>
HWY_INLINE void pack_four_steps(const float* b, int64_t b_column_stride, float* panel) {
    const Quad<D> quad(b, b_column_stride);
#pragma GCC unroll 4
    for (int64_t step = 0; step < 4; ++step) {
        hn::StoreU(quad.column[step], D(), panel + step * kColumns);
    }
}

#endif

// Of one panel: columns four by four, as short attention has few keys, or the last steps of K.
void pack_some_columns(
    const float* b, int64_t b_column_stride, int64_t k, int64_t columns, float* panel) {
    int64_t quad_steps = 0;
    int64_t quad_columns = 0;
#if HWY_TARGET != HWY_SCALAR
    quad_steps = k / 4 * 4;
    quad_columns = columns / 4 * 4;
    for (int64_t i = 0; i < quad_steps; i += 4) {
        for (int64_t j = 0; j < quad_columns; j += 4) {
            pack_four_steps<hn::FixedTag<float, 4>>(b + j * b_column_stride + i, b_column_stride,
                                                    panel + i * kColumns + j);
        }
    }
#endif
    for (int64_t i = 0; i < k; ++i, panel += kColumns) {
        for (int64_t j = i < quad_steps ? quad_columns : 0; j < columns; ++j) {
            panel[j] = b[j * b_column_stride + i];
        }
        std::fill(panel + columns, panel + kColumns, 0.0F);
    }
}

void pack_columns(
    const float* b, int64_t b_column_stride, int64_t k, int64_t columns, float* panels) {
    for (; columns > 0; columns -= kColumns, panels += k * kColumns) {
        int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
        for (; columns >= kColumns && i + 4 <= k; i += 4) {
            for (int64_t half = 0; half < kColumns; half += kLanes) {
                pack_four_steps<F>(b + half * b_column_stride + i, b_column_stride,
                                   panels + i * kColumns + half);
            }
        }
#endif
        pack_some_columns(b + i, b_column_stride, k - i, std::min<int64_t>(columns, kColumns),
                          panels + i * kColumns);
        b += kColumns * b_column_stride;
    }
}

template <int MR>
void add_kernels(GemmTable& table) {
    if constexpr (MR > 0) {
        table.single[MR] = &micro<MR, 2, false>;
        table.wide_panels[MR] = wide_panels(MR);
        table.wide[MR] = &micro<MR, 2 * wide_panels(MR), false>;
        if constexpr (kHasTails) {
            table.tails[0][MR] = &micro<MR, 1, true>;
            table.tails[1][MR] = &micro<MR, 2, true>;
        }
        add_kernels<MR - 1>(table);
    }
}

GemmTable make_table() {
    GemmTable table;
    table.name = kName;
    table.nr = kColumns;
    table.max_rows = kRows;
    add_kernels<kRows>(table);
    table.pack_rows = &pack_rows;
    table.pack_columns = &pack_columns;
    return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat::cpu {

HWY_EXPORT(make_table);

const GemmTable& gemm_table() {
    static const GemmTable kTable = HWY_DYNAMIC_DISPATCH(make_table)();
    return kTable;
}

}  // namespace leat::cpu
#endif
