// Attention in f32: a unit is a block of queries of one head, which passes once over the blocks of
// keys that it may read. No memory holds all scores, and past keys are read where they lie.
// One pass for the largest score and the sum: Milakov & Gimelshein, arXiv:1805.02867.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "backends/cpu/unit_kernel.h"
#include "ops/attention/attention.h"

#ifndef LEAT_ATTENTION_BLOCK
#define LEAT_ATTENTION_BLOCK
namespace leat {

constexpr int64_t kBlockQueries = 16;
constexpr int64_t kBlockKeys = 64;

// Vectors of one key head, of which the first `past` lie elsewhere.
struct AttentionVectors {
    const float* past = nullptr;
    const float* now = nullptr;
    int64_t past_stride = 0;
    int64_t now_stride = 0;
};

// Queries [first, first + rows) of a head.
struct AttentionBlock {
    const AttentionGeometry& geometry;
    const TensorArg* mask = nullptr;
    const TensorArg* nonpad = nullptr;
    int64_t sequence = 0;
    int64_t head = 0;
    int64_t first = 0;
    int64_t rows = 0;
    const float* q = nullptr;
    float* y = nullptr;      // null: nobody reads it
    float* shown = nullptr;  // the block's rows of qk_matmul_output, or null
    int64_t mode = 0;        // of these
    AttentionVectors keys = {};
    AttentionVectors values = {};
};

using AttendBlock = void (*)(const AttentionBlock& block);

}  // namespace leat
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

constexpr float kMaskedScore = -std::numeric_limits<float>::infinity();
constexpr int kTileRows = 4;

// Keys [first, first + count), whose vectors lie in one place.
struct KeyBlock {
    int64_t first;
    int64_t count;
    const float* keys;
    int64_t key_stride;
    const float* values;
    int64_t value_stride;
};

// By [query][key].
using Scores = std::array<std::array<float, kBlockKeys>, kBlockQueries>;

template <class Body>
void for_each_key_block(const AttentionBlock& block, const KeyRange& range, const Body& body) {
    const int64_t past = block.geometry.past;
    for (int64_t key = range.begin; key < range.end;) {
        const bool is_past = key < past;
        const int64_t end =
            std::min(is_past ? std::min(past, range.end) : range.end, key + kBlockKeys);
        const auto place = [&](const AttentionVectors& vectors) {
            return is_past ? vectors.past + key * vectors.past_stride
                           : vectors.now + (key - past) * vectors.now_stride;
        };
        body(KeyBlock{key, end - key, place(block.keys),
                      is_past ? block.keys.past_stride : block.keys.now_stride, place(block.values),
                      is_past ? block.values.past_stride : block.values.now_stride});
        key = end;
    }
}

// Products of kRows queries and kKeys keys; each is one chain of vectors, whatever the tile.
template <int kRows, int kKeys>
HWY_INLINE void multiply_tile(const float* q,
                              int64_t q_stride,
                              const float* k,
                              int64_t k_stride,
                              int64_t depth,
                              float scale,
                              std::array<float, kBlockKeys>* scores,
                              int64_t column) {
    FloatVec sums[kRows][kKeys];
    for (auto& row : sums) {
        for (FloatVec& sum : row) {
            sum = hn::Zero(kFloats);
        }
    }
    for_each_vector(depth, [&](int64_t e, auto at) HWY_ATTR {
        FloatVec keys[kKeys];
#pragma GCC unroll 4
        for (int c = 0; c < kKeys; ++c) {
            keys[c] = at.load(k + c * k_stride + e);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
            const FloatVec query = at.load(q + r * q_stride + e);
#pragma GCC unroll 4
            for (int c = 0; c < kKeys; ++c) {
                sums[r][c] = hn::MulAdd(query, keys[c], sums[r][c]);
            }
        }
    });
    for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kKeys; ++c) {
            scores[r][size_t(column + c)] = sum_of_lanes(sums[r][c]) * scale;
        }
    }
}

template <int kRows>
HWY_INLINE void multiply_rows(const AttentionBlock& block,
                              const KeyBlock& keys,
                              int64_t row,
                              Scores& scores) {
    constexpr int kTileKeys = 4;
    const AttentionGeometry& geometry = block.geometry;
    const float* q = block.q + row * geometry.q.token;
    int64_t c = 0;
    for (; c + kTileKeys <= keys.count; c += kTileKeys) {
        multiply_tile<kRows, kTileKeys>(q, geometry.q.token, keys.keys + c * keys.key_stride,
                                        keys.key_stride, geometry.head_size, geometry.scale,
                                        &scores[size_t(row)], c);
    }
    for (; c < keys.count; ++c) {
        multiply_tile<kRows, 1>(q, geometry.q.token, keys.keys + c * keys.key_stride,
                                keys.key_stride, geometry.head_size, geometry.scale,
                                &scores[size_t(row)], c);
    }
}

void multiply_block(const AttentionBlock& block, const KeyBlock& keys, Scores& scores) {
    int64_t row = 0;
    for (; row + kTileRows <= block.rows; row += kTileRows) {
        multiply_rows<kTileRows>(block, keys, row, scores);
    }
    for (; row < block.rows; ++row) {
        multiply_rows<1>(block, keys, row, scores);
    }
}

void cap_scores(float cap, int64_t n, float* scores) {
    const FloatVec caps = hn::Set(kFloats, cap);
    const FloatVec inverse = hn::Set(kFloats, 1 / cap);
    for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
        const FloatVec part = hn::Mul(at.load(scores + i), inverse);
        at.store(hn::Mul(tanh_f32(kFloats, part), caps), scores + i);
    });
}

// Adds what the mask holds for a query, from key `first` on.
void add_mask(const AttentionBlock& block, int64_t query, int64_t first, int64_t n, float* scores) {
    const AttentionGeometry& geometry = block.geometry;
    const int64_t stride = geometry.mask_strides[3];
    const int64_t place = geometry.mask_offset(block.sequence, block.head, query) + first * stride;
    if (block.mask->dtype == DType::kBool) {
        const auto* mask = block.mask->as<const uint8_t>() + place;
        for (int64_t i = 0; i < n; ++i) {
            if (mask[i * stride] == 0) {
                scores[i] = kMaskedScore;
            }
        }
        return;
    }
    const auto* mask = block.mask->as<const float>() + place;
    for (int64_t i = 0; i < n; ++i) {
        const float added = mask[i * stride];
        scores[i] = added == kMaskedScore ? kMaskedScore : scores[i] + added;
    }
}

// Masks of all kinds; `range` is the query's.
void mask_scores(const AttentionBlock& block,
                 const KeyBlock& keys,
                 int64_t query,
                 const KeyRange& range,
                 float* scores) {
    const int64_t begin = std::clamp<int64_t>(range.begin - keys.first, 0, keys.count);
    const int64_t end = std::clamp<int64_t>(range.end - keys.first, begin, keys.count);
    std::fill(scores, scores + begin, kMaskedScore);
    std::fill(scores + end, scores + keys.count, kMaskedScore);
    if (block.mask != nullptr) {
        add_mask(block, query, keys.first + begin, end - begin, scores + begin);
    }
}

float largest_score(const float* scores, int64_t n) {
    const FloatVec lowest = hn::Set(kFloats, kMaskedScore);
    FloatVec largest = lowest;
    for (int64_t i = 0; i < n; i += kFloatLanes) {
        largest = hn::Max(largest, load_up_to(scores + i, n - i, lowest));
    }
    return hn::GetLane(hn::MaxOfLanes(kFloats, largest));
}

// Scores become e^(score - base); the result is their sum. Masked ones become 0.
float exponentiate(float base, int64_t n, float* scores) {
    const FloatVec bases = hn::Set(kFloats, base);
    const FloatVec least = hn::Set(kFloats, -87.0F);
    FloatVec sum = hn::Zero(kFloats);
    for (int64_t i = 0; i < n; i += kFloatLanes) {
        const FloatVec masked = hn::Set(kFloats, kMaskedScore);
        const FloatVec x = hn::Sub(load_up_to(scores + i, n - i, masked), bases);
        const FloatVec power = hn::IfThenZeroElse(
            hn::Lt(x, least), exp_f32(kFloats, hn::IfThenElse(hn::Lt(x, least), least, x)));
        store_up_to(power, scores + i, n - i);
        sum = hn::Add(sum, power);
    }
    return sum_of_lanes(sum);
}

void scale_row(float factor, int64_t n, float* y) {
    const FloatVec factors = hn::Set(kFloats, factor);
    for_each_vector(
        n, [&](int64_t i, auto at) HWY_ATTR { at.store(hn::Mul(at.load(y + i), factors), y + i); });
}

// Adds the weighted values of a block to kRows rows of results.
template <int kRows, int kVectors>
HWY_INLINE void weigh_columns(const KeyBlock& keys,
                              const std::array<float, kBlockKeys>* weights,
                              int64_t column,
                              int64_t lanes,
                              float* y,
                              int64_t y_stride) {
    const FloatVec zero = hn::Zero(kFloats);
    FloatVec sums[kRows][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            sums[r][v] = load_column<kVectors>(y + r * y_stride + column, v, lanes, zero);
        }
    }
    for (int64_t k = 0; k < keys.count; ++k) {
        const float* value = keys.values + k * keys.value_stride + column;
        FloatVec values[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            values[v] = load_column<kVectors>(value, v, lanes, zero);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
            const FloatVec weight = hn::Set(kFloats, weights[r][size_t(k)]);
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                sums[r][v] = hn::MulAdd(weight, values[v], sums[r][v]);
            }
        }
    }
    for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) {
            store_column<kVectors>(sums[r][v], y + r * y_stride + column, v, lanes);
        }
    }
}

template <int kRows>
void weigh_rows(const AttentionBlock& block,
                const KeyBlock& keys,
                int64_t row,
                const Scores& weights) {
    constexpr int kVectors = 4;
    const int64_t size = block.geometry.value_size;
    const int64_t stride = block.geometry.y.token;
    float* y = block.y + row * stride;
    int64_t column = 0;
    for (; column + kVectors * kFloatLanes <= size; column += kVectors * kFloatLanes) {
        weigh_columns<kRows, kVectors>(keys, &weights[size_t(row)], column, kFloatLanes, y, stride);
    }
    for (; column < size; column += kFloatLanes) {
        weigh_columns<kRows, 1>(keys, &weights[size_t(row)], column, size - column, y, stride);
    }
}

// What a masked key's value holds counts for nothing, be it infinite.
void weigh_unmasked(const AttentionBlock& block, const KeyBlock& keys, const Scores& weights) {
    for (int64_t row = 0; row < block.rows; ++row) {
        float* y = block.y + row * block.geometry.y.token;
        for (int64_t k = 0; k < keys.count; ++k) {
            const float weight = weights[size_t(row)][size_t(k)];
            const float* value = keys.values + k * keys.value_stride;
            for (int64_t e = 0; weight != 0 && e < block.geometry.value_size; ++e) {
                y[e] += weight * value[e];
            }
        }
    }
}

void weigh_block(const AttentionBlock& block,
                 const KeyBlock& keys,
                 bool has_masked,
                 const Scores& weights) {
    bool is_finite = true;
    for (int64_t k = 0; has_masked && is_finite && k < keys.count; ++k) {
        is_finite = all_are_finite(keys.values + k * keys.value_stride, block.geometry.value_size);
    }
    if (!is_finite) {
        weigh_unmasked(block, keys, weights);
        return;
    }
    int64_t row = 0;
    for (; row + 2 <= block.rows; row += 2) {
        weigh_rows<2>(block, keys, row, weights);
    }
    for (; row < block.rows; ++row) {
        weigh_rows<1>(block, keys, row, weights);
    }
}

// Of each query, over the keys so far. The results are the sums of values weighted by
// e^(score - base).
struct AttentionRows {
    std::array<KeyRange, kBlockQueries> ranges;
    std::array<float, kBlockQueries> largest{};
    std::array<double, kBlockQueries> sums{};
    KeyRange all{std::numeric_limits<int64_t>::max(), 0};

    explicit AttentionRows(const AttentionBlock& block) {
        largest.fill(kMaskedScore);
        sums.fill(0);
        for (int64_t row = 0; row < block.rows; ++row) {
            KeyRange& range = ranges[size_t(row)];
            range = block.geometry.keys_of(block.nonpad, block.sequence, block.first + row);
            if (range.begin < range.end) {
                all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
            }
        }
    }
    // 0 where there are only masked keys.
    float base(int64_t row) const {
        const float value = largest[size_t(row)];
        return value == kMaskedScore ? 0 : value;
    }
};

// Scores up to their masks, as `mode` says.
void score_block(const AttentionBlock& block,
                 const KeyBlock& keys,
                 const AttentionRows& rows,
                 int64_t mode,
                 Scores& scores) {
    multiply_block(block, keys, scores);
    for (int64_t row = 0; row < block.rows; ++row) {
        float* own = scores[size_t(row)].data();
        if (mode >= 1 && block.geometry.softcap > 0) {
            cap_scores(block.geometry.softcap, keys.count, own);
        }
        if (mode >= 2) {
            mask_scores(block, keys, block.first + row, rows.ranges[size_t(row)], own);
        }
    }
}

void add_keys(const AttentionBlock& block, const KeyBlock& keys, AttentionRows& rows) {
    Scores scores;  // NOLINT(cppcoreguidelines-pro-type-member-init): 4 KiB that are written
    score_block(block, keys, rows, 2, scores);
    bool has_masked = block.mask != nullptr;
    for (int64_t row = 0; row < block.rows; ++row) {
        const auto r = size_t(row);
        has_masked = has_masked || rows.ranges[r].begin > keys.first ||
                     rows.ranges[r].end < keys.first + keys.count;
        const float before = rows.largest[r];
        rows.largest[r] = std::max(before, largest_score(scores[r].data(), keys.count));
        const float base = rows.base(row);
        const float factor = before == kMaskedScore ? 0 : std::exp(before - base);
        rows.sums[r] = rows.sums[r] * double(factor) +
                       double(exponentiate(base, keys.count, scores[r].data()));
        if (block.y != nullptr && factor != 1) {
            scale_row(factor, block.geometry.value_size, block.y + row * block.geometry.y.token);
        }
    }
    if (block.y != nullptr) {
        weigh_block(block, keys, has_masked, scores);
    }
}

// A second pass, so that results are the same whether somebody reads scores or not.
void show_scores(const AttentionBlock& block, const AttentionRows& rows) {
    const int64_t total = block.geometry.total;
    for_each_key_block(block, {0, total}, [&](const KeyBlock& keys) {
        Scores scores;  // NOLINT(cppcoreguidelines-pro-type-member-init)
        score_block(block, keys, rows, block.mode, scores);
        for (int64_t row = 0; row < block.rows; ++row) {
            float* own = scores[size_t(row)].data();
            if (block.mode == 3) {
                const double sum = rows.sums[size_t(row)];
                exponentiate(rows.base(row), keys.count, own);
                scale_row(sum == 0 ? 0 : float(1 / sum), keys.count, own);
            }
            std::memcpy(block.shown + row * total + keys.first, own,
                        size_t(keys.count) * sizeof(float));
        }
    });
}

void attend_block(const AttentionBlock& block) {
    AttentionRows rows(block);
    const int64_t size = block.geometry.value_size;
    for (int64_t row = 0; block.y != nullptr && row < block.rows; ++row) {
        std::fill_n(block.y + row * block.geometry.y.token, size, 0.0F);
    }
    for_each_key_block(block, rows.all, [&](const KeyBlock& keys) { add_keys(block, keys, rows); });
    for (int64_t row = 0; block.y != nullptr && row < block.rows; ++row) {
        const double sum = rows.sums[size_t(row)];
        if (sum != 0) {
            scale_row(float(1 / sum), size, block.y + row * block.geometry.y.token);
        }
    }
    if (block.shown != nullptr) {
        show_scores(block, rows);
    }
}

}  // namespace

AttendBlock select_attend_block() {
    return attend_block;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_attend_block);

class AttentionKernel final : public cpu::CpuKernel {
  public:
    AttentionKernel(const AttentionGeometry& geometry, int64_t mode, double total_ns)
        : geometry_(geometry), mode_(mode), attend_(HWY_DYNAMIC_DISPATCH(select_attend_block)()) {
        constexpr double kTileNs = 40e3;  // as of UnitKernel
        kernel_name = "attention_f32";
        cost_ns = total_ns;
        blocks_ = std::max<int64_t>(1, (geometry.queries + kBlockQueries - 1) / kBlockQueries);
        tile_count = std::max<int64_t>(1, std::min(units(), int64_t(total_ns / kTileNs)));
    }

    Status run(const cpu::KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        LEAT_RETURN_IF_ERROR(check_nonpad(geometry_, find_arg(args.inputs, kAttentionNonpad)));
        const int64_t end = part_begin(units(), tile_count, tile_end);
        for (int64_t unit = part_begin(units(), tile_count, tile_begin); unit < end; ++unit) {
            run_unit(args, unit);
        }
        return {};
    }

  private:
    // Units are (sequence, query head, block of queries).
    int64_t units() const { return geometry_.batch * geometry_.query_heads * blocks_; }

    AttentionVectors vectors(const cpu::KernelArgs& args,
                             int input,
                             int past_input,
                             const AttentionStrides& strides,
                             int64_t size,
                             int64_t sequence,
                             int64_t key_head) const {
        AttentionVectors vectors;
        vectors.now =
            args.inputs[size_t(input)].as<const float>() + strides.first(sequence, key_head, 0);
        vectors.now_stride = strides.token;
        if (const TensorArg* past = find_arg(args.inputs, past_input)) {
            vectors.past = past->as<const float>() +
                           (sequence * geometry_.key_heads + key_head) * geometry_.past * size;
            vectors.past_stride = size;
        }
        return vectors;
    }

    void copy_present(const AttentionVectors& from,
                      int64_t size,
                      int64_t line,
                      const TensorArg* present) const {
        if (present == nullptr || size == 0) {
            return;
        }
        float* to = present->as<float>() + line * geometry_.total * size;
        for (int64_t t = 0; t < geometry_.total; ++t, to += size) {
            const bool is_past = t < geometry_.past;
            std::memcpy(to,
                        is_past ? from.past + t * from.past_stride
                                : from.now + (t - geometry_.past) * from.now_stride,
                        size_t(size) * sizeof(float));
        }
    }

    void run_unit(const cpu::KernelArgs& args, int64_t unit) const {
        const int64_t line = unit / blocks_;
        const int64_t sequence = line / geometry_.query_heads;
        const int64_t head = line % geometry_.query_heads;
        const int64_t key_head = geometry_.key_head(head);
        const int64_t first = unit % blocks_ * kBlockQueries;
        const auto keys = vectors(args, kAttentionK, kAttentionPastKey, geometry_.k,
                                  geometry_.head_size, sequence, key_head);
        const auto values = vectors(args, kAttentionV, kAttentionPastValue, geometry_.v,
                                    geometry_.value_size, sequence, key_head);
        const int64_t group = geometry_.query_heads / geometry_.key_heads;
        if (first == 0 && head % group == 0) {
            const int64_t key_line = sequence * geometry_.key_heads + key_head;
            copy_present(keys, geometry_.head_size, key_line, find_arg(args.outputs, 1));
            copy_present(values, geometry_.value_size, key_line, find_arg(args.outputs, 2));
        }
        const TensorArg& y = args.outputs[0];
        const TensorArg* shown = find_arg(args.outputs, 3);
        attend_(
            {geometry_, find_arg(args.inputs, kAttentionMask),
             find_arg(args.inputs, kAttentionNonpad), sequence, head, first,
             std::min(kBlockQueries, geometry_.queries - first),
             args.inputs[kAttentionQ].as<const float>() + geometry_.q.first(sequence, head, first),
             y.present() ? y.as<float>() + geometry_.y.first(sequence, head, first) : nullptr,
             shown != nullptr
                 ? shown->as<float>() + (line * geometry_.queries + first) * geometry_.total
                 : nullptr,
             mode_, keys, values});
    }

    AttentionGeometry geometry_;
    int64_t mode_;
    int64_t blocks_ = 1;  // of queries of a head
    AttendBlock attend_;
};

bool is_attention_covered(const cpu::PrepareContext& context) {
    for (size_t i = 0; i < context.inputs.size(); ++i) {
        const TensorArg& input = context.inputs[i];
        const bool is_known = input.dtype == DType::kFloat32 ||
                              (i == kAttentionMask && input.dtype == DType::kBool) ||
                              i == kAttentionNonpad;
        if (input.present() && (!is_known || !input.is_row_major())) {
            return false;
        }
    }
    const auto is_row_major = [](const TensorArg& output) {
        return !output.present() || output.is_row_major();
    };
    const int64_t precision = context.node.attr("softmax_precision", int64_t(DType::kFloat32));
    return precision != int64_t(DType::kBfloat16) &&
           std::all_of(context.outputs.begin(), context.outputs.end(), is_row_major);
}

Result<std::unique_ptr<cpu::CpuKernel>> make_attention(cpu::PrepareContext& context) {
    LEAT_ASSIGN_OR_RETURN(const auto geometry,
                          AttentionGeometry::make(context.node, context.inputs));
    if (!is_attention_covered(context) || geometry.query_heads == 0 || geometry.key_heads == 0) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const double scores = double(geometry.batch) * double(geometry.query_heads) *
                          double(geometry.queries) * double(geometry.total);
    const double share = geometry.is_causal && geometry.queries > 1 ? 0.6 : 1.0;
    // Measured with AVX2: 20 flops a ns, and an exponential a score.
    const double total_ns =
        share * scores * (1.0 + 0.1 * (double(geometry.head_size) + double(geometry.value_size)));
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<AttentionKernel>(
        geometry, context.node.attr("qk_matmul_output_mode", int64_t{0}), total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> attention_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"Attention", make_attention},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
