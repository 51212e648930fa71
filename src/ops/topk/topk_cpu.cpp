// TopK of all types: a bound that at least k elements of a line reach, from the maxima of groups of
// them; then only blocks that have such an element are read again, and a few of them are sorted.
// Where k is a large part of the line all of it is sorted.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/unit_kernel.h"
#include "ops/element.h"
#include "ops/topk/topk.h"

#ifndef LEAT_TOPK_CPU_ONCE
#define LEAT_TOPK_CPU_ONCE
namespace leat {
namespace {

constexpr int64_t kTopkAlignment = 64;

// Where the parts of a worker's scratch begin. Elements of a part are 4 or 8 bytes, or x's.
struct TopkScratch {
    int64_t lines = 0;    // elements of the columns of a unit, one after the other
    int64_t scores = 0;   // of one line
    int64_t maxima = 0;   // of the lanes of its blocks
    int64_t groups = 0;   // of blocks that were put together
    int64_t entries = 0;  // candidates
    int64_t sorted = 0;   // room to move them
    int64_t bytes = 0;
};

struct TopkParams {
    AxisSplit split;
    int64_t k = 0;
    int64_t block_vectors = 0;  // of a block that has maxima; 0: everything is sorted
    int64_t capacity = 0;       // entries
    cpu::Blocks columns;        // that a unit does
    TopkScratch scratch;
};

}  // namespace
}  // namespace leat
#endif  // LEAT_TOPK_CPU_ONCE

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/topk/topk_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/topk/topk_entries-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

// Lines whose elements are compared as they are. A line of floats may have no NaN.
template <bool kLargest, class T>
struct TopkFloatLine {
    using Lane = T;
    using Int = TopkScore<T>;
    using Tag = hn::ScalableTag<T>;
    static constexpr bool kMayHaveNan = true;

    HWY_INLINE hn::Vec<Tag> vector(int64_t i) const {
        const auto v = hn::LoadU(Tag(), x + i);
        return kLargest ? v : hn::Neg(v);
    }
    HWY_INLINE Int score(int64_t i) const { return score_of<kLargest>(x[i]); }
    static HWY_INLINE Int score_of_lane(T lane) { return score_of<true>(lane); }
    // No float is between the two zeros.
    static HWY_INLINE T lane_of_score(Int score) { return std::bit_cast<T>(float_order(score)); }

    const T* x;
};
template <class T>
struct TopkScoreLine {
    using Lane = T;
    using Int = T;
    using Tag = hn::ScalableTag<T>;
    static constexpr bool kMayHaveNan = false;

    HWY_INLINE hn::Vec<Tag> vector(int64_t i) const { return hn::LoadU(Tag(), x + i); }
    HWY_INLINE Int score(int64_t i) const { return x[i]; }
    static HWY_INLINE Int score_of_lane(T lane) { return lane; }
    static HWY_INLINE T lane_of_score(Int score) { return score; }

    const T* x;
};

// The search in one line.
template <class Line>
class TopkSearch {
  public:
    using Int = typename Line::Int;
    using Lane = typename Line::Lane;
    using Tag = typename Line::Tag;

    TopkSearch(const TopkParams& params, const Line& line, std::byte* scratch)
        : line_(line),
          extent_(params.split.extent),
          k_(params.k),
          block_(params.block_vectors * kLanes),
          blocks_(block_ == 0 ? 0 : extent_ / block_),
          capacity_(params.capacity),
          maxima_(reinterpret_cast<Lane*>(scratch + params.scratch.maxima)),
          groups_(reinterpret_cast<Int*>(scratch + params.scratch.groups)),
          entries_(reinterpret_cast<TopkEntry<Int>*>(scratch + params.scratch.entries)),
          room_(reinterpret_cast<TopkEntry<Int>*>(scratch + params.scratch.sorted)) {}

    // The k best, in order. Null: the line has a NaN, and cannot be searched as floats.
    HWY_NOINLINE const TopkEntry<Int>* best() {
        if (blocks_ * kLanes < k_) {
            for (int64_t i = 0; i < extent_; ++i) {
                add(line_.score(i), i);
            }
        } else {
            if (!find_maxima()) {
                return nullptr;
            }
            find_bound();
            collect();
        }
        return sort_entries<Int>(entries_, room_, count_);
    }

  private:
    static constexpr Tag kTag = Tag();
    static constexpr int64_t kLanes = int64_t(hn::MaxLanes(Tag()));

    bool find_maxima();
    void find_bound();
    void collect();
    void collect_vector(int64_t i, hn::Vec<Tag> bound);
    void drop_all_but_k();

    HWY_INLINE void add(Int score, int64_t index) {
        if (count_ == capacity_) {
            drop_all_but_k();
        }
        entries_[count_++] = entry_of(score, index);
    }

    Line line_;
    int64_t extent_;
    int64_t k_;
    int64_t block_;  // elements
    int64_t blocks_;
    int64_t capacity_;
    Lane* maxima_;
    Int* groups_;
    TopkEntry<Int>* entries_;
    TopkEntry<Int>* room_;
    int64_t count_ = 0;
    Int bound_ = std::numeric_limits<Int>::min();  // what is below is not among the k best
};

// By block, a vector of the maxima of its lanes. False: there is a NaN, or infinities of both
// signs, whose sum is one.
template <class Line>
bool TopkSearch<Line>::find_maxima() {
    [[maybe_unused]] auto sum = hn::Zero(kTag);
    for (int64_t block = 0; block < blocks_; ++block) {
        const int64_t begin = block * block_;
        auto even = line_.vector(begin);
        auto odd = line_.vector(begin + kLanes);
        [[maybe_unused]] auto own_sum = hn::Add(even, odd);
        for (int64_t i = begin + 2 * kLanes; i < begin + block_; i += 2 * kLanes) {
            const auto x = line_.vector(i);
            const auto y = line_.vector(i + kLanes);
            even = hn::Max(even, x);
            odd = hn::Max(odd, y);
            if constexpr (Line::kMayHaveNan) {
                own_sum = hn::Add(own_sum, hn::Add(x, y));
            }
        }
        hn::Store(hn::Max(even, odd), kTag, maxima_ + block * kLanes);
        if constexpr (Line::kMayHaveNan) {
            sum = hn::Add(sum, own_sum);
        }
    }
    if constexpr (Line::kMayHaveNan) {
        int64_t i = blocks_ * block_;
        for (; i + kLanes <= extent_; i += kLanes) {
            sum = hn::Add(sum, line_.vector(i));
        }
        bool has_nan = !hn::AllFalse(kTag, hn::IsNaN(sum));
        for (; i < extent_; ++i) {
            has_nan |= std::isnan(line_.x[i]);
        }
        return !has_nan;
    }
    return true;
}

// The groups that decide are not more than four times k, or a vector: several blocks each. For k =
// 1 all blocks are one.
template <class Line>
void TopkSearch<Line>::find_bound() {
    const int64_t joined =
        k_ == 1 ? blocks_ : std::clamp<int64_t>(blocks_ * kLanes / (2 * k_), 1, blocks_);
    int64_t count = 0;
    HWY_ALIGN Lane lanes[hn::MaxLanes(Tag())];
    for (int64_t first = 0; first < blocks_; first += joined) {
        const int64_t end = std::min(first + joined, blocks_);
        auto largest = hn::Load(kTag, maxima_ + first * kLanes);
        for (int64_t block = first + 1; block < end; ++block) {
            largest = hn::Max(largest, hn::Load(kTag, maxima_ + block * kLanes));
        }
        if (k_ == 1) {
            bound_ = Line::score_of_lane(hn::GetLane(hn::MaxOfLanes(kTag, largest)));
            return;
        }
        hn::Store(largest, kTag, lanes);
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            groups_[count + lane] = Line::score_of_lane(lanes[lane]);
        }
        count += kLanes;
    }
    bound_ = common_bound(groups_, count, k_);
}

template <class Line>
void TopkSearch<Line>::collect() {
    auto bound = hn::Set(kTag, Line::lane_of_score(bound_));
    Int former = bound_;
    const auto update = [&] {
        if (former != bound_) {
            former = bound_;
            bound = hn::Set(kTag, Line::lane_of_score(bound_));
        }
    };
    for (int64_t block = 0; block < blocks_; ++block) {
        const auto reaches = is_at_least(hn::Load(kTag, maxima_ + block * kLanes), bound);
        if (hn::AllFalse(kTag, reaches)) {
            continue;
        }
        for (int64_t i = block * block_; i < (block + 1) * block_; i += kLanes) {
            collect_vector(i, bound);
        }
        update();
    }
    int64_t i = blocks_ * block_;
    for (; i + kLanes <= extent_; i += kLanes) {
        collect_vector(i, bound);
    }
    for (; i < extent_; ++i) {
        if (line_.score(i) >= bound_) {
            add(line_.score(i), i);
        }
    }
}

template <class Line>
HWY_INLINE void TopkSearch<Line>::collect_vector(int64_t i, hn::Vec<Tag> bound) {
    const auto reaches = is_at_least(line_.vector(i), bound);
    if (hn::AllFalse(kTag, reaches)) {
        return;
    }
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(kTag, reaches, bytes);
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, sizeof(bits));
    for (; bits != 0; bits &= bits - 1) {
        const int64_t index = i + std::countr_zero(bits);
        add(line_.score(index), index);
    }
}

// Keeps the order of indices. From now on an element has to be better than the last that is kept,
// because equal ones follow it. Lines that ascend, or have many equal elements, come here.
template <class Line>
HWY_NOINLINE void TopkSearch<Line>::drop_all_but_k() {
    std::copy_n(entries_, count_, room_);
    std::nth_element(room_, room_ + k_ - 1, room_ + count_);
    const TopkEntry<Int> last = room_[k_ - 1];
    const auto end = std::copy_if(entries_, entries_ + count_, entries_,
                                  [last](const TopkEntry<Int>& entry) { return entry <= last; });
    count_ = end - entries_;
    const Int score = score_of_entry<Int>(last);
    bound_ = score == std::numeric_limits<Int>::max() ? score : score + 1;
}

template <class T>
struct TopkResult {
    const T* line;
    T* values;         // null: not wanted
    int64_t* indices;  // null: not wanted
    int64_t stride;    // of both
};

template <class T>
void write_entries(const TopkEntry<TopkScore<T>>* best, int64_t k, const TopkResult<T>& result) {
    if (result.values != nullptr) {
        for (int64_t i = 0; i < k; ++i) {
            result.values[i * result.stride] = result.line[uint32_t(best[i])];
        }
    }
    if (result.indices != nullptr) {
        for (int64_t i = 0; i < k; ++i) {
            result.indices[i * result.stride] = int64_t(uint32_t(best[i]));
        }
    }
}

template <bool kLargest, class T>
void search_scores(const TopkParams& params, std::byte* scratch, const TopkResult<T>& result) {
    const TopkScore<T>* scores = nullptr;
    if constexpr (kLargest && std::is_same_v<T, TopkScore<T>>) {
        scores = result.line;
    } else {
        auto* own = reinterpret_cast<TopkScore<T>*>(scratch + params.scratch.scores);
        for (int64_t i = 0; i < params.split.extent; ++i) {
            own[i] = score_of<kLargest>(result.line[i]);
        }
        scores = own;
    }
    const TopkScoreLine<TopkScore<T>> line{scores};
    write_entries<T>(TopkSearch(params, line, scratch).best(), params.k, result);
}

template <bool kLargest, class T>
void search_line(const TopkParams& params, std::byte* scratch, const TopkResult<T>& result) {
    if constexpr (std::is_floating_point_v<T>) {
        const TopkFloatLine<kLargest, T> line{result.line};
        if (const auto* best = TopkSearch(params, line, scratch).best()) {
            write_entries<T>(best, params.k, result);
            return;
        }
    }
    search_scores<kLargest>(params, scratch, result);
}

// A unit is a line, or some columns of an inner axis, which become lines.
template <bool kLargest, class T>
void run_topk_units(const TopkParams& params,
                    const cpu::KernelArgs& args,
                    int64_t begin,
                    int64_t end) {
    const AxisSplit& split = params.split;
    const TensorArg* values = find_arg(args.outputs, 0);
    const TensorArg* indices = find_arg(args.outputs, 1);
    auto* lines = reinterpret_cast<T*>(args.scratch + params.scratch.lines);
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t outer = unit / params.columns.count();
        const int64_t block = unit % params.columns.count();
        const T* x = args.inputs[0].as<const T>() + outer * split.extent * split.inner;
        const int64_t first = params.columns.begin(block);
        const int64_t last = params.columns.end(block);
        for (int64_t i = 0; split.inner > 1 && i < split.extent; ++i) {
            for (int64_t c = first; c < last; ++c) {
                lines[(c - first) * split.extent + i] = x[i * split.inner + c];
            }
        }
        for (int64_t c = first; c < last; ++c) {
            const int64_t to = outer * params.k * split.inner + c;
            const TopkResult<T> result{split.inner > 1 ? lines + (c - first) * split.extent : x,
                                       values == nullptr ? nullptr : values->as<T>() + to,
                                       indices == nullptr ? nullptr : indices->as<int64_t>() + to,
                                       split.inner};
            search_line<kLargest>(params, args.scratch, result);
        }
    }
}

}  // namespace

cpu::UnitFunction<TopkParams> select_topk(DType dtype, bool largest) {
    cpu::UnitFunction<TopkParams> function = nullptr;
    const Status found = dispatch_number(dtype, [&](auto element) {
        using T = typename decltype(element)::type;
        function = largest ? run_topk_units<true, T> : run_topk_units<false, T>;
        return Status();
    });
    return found.ok() ? function : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_topk);

// Vectors of a block, a power of two: so few that there are twice as many maxima as k, in short
// lines fewer, so that there are some blocks, and at most 16, so that few elements are read twice.
// 0: there is no such number, because k is more than a quarter of the line.
int64_t topk_block_vectors(int64_t extent, int64_t k) {
    constexpr int64_t kMost = 16;
    constexpr int64_t kElementsPerVector = 64;
    const int64_t wanted =
        std::min(extent / (2 * k), std::max<int64_t>(extent / kElementsPerVector, 2));
    return wanted < 2 ? 0 : std::min(kMost, int64_t(std::bit_floor(uint64_t(wanted))));
}

TopkParams topk_params(const AxisSplit& split, int64_t k, int64_t element_bytes) {
    // Columns that become lines stay in the second cache.
    constexpr int64_t kMostColumns = 16;
    constexpr int64_t kElementsOfColumns = int64_t{64} * 1024;
    constexpr int64_t kSpareEntries = 512;
    constexpr int64_t kMostLanes = 64;
    TopkParams params;
    params.split = split;
    params.k = k;
    params.block_vectors = topk_block_vectors(split.extent, k);
    params.capacity = params.block_vectors == 0 ? split.extent : 2 * k + kSpareEntries;
    params.columns = {split.inner,
                      std::clamp<int64_t>(kElementsOfColumns / split.extent, 1, kMostColumns)};
    const int64_t score_bytes = element_bytes == 8 ? 8 : 4;
    const int64_t maxima =
        params.block_vectors == 0 ? 0 : split.extent / params.block_vectors + kMostLanes;
    const auto take = [&params](int64_t elements, int64_t bytes) {
        const int64_t begin = params.scratch.bytes;
        params.scratch.bytes +=
            (elements * bytes + kTopkAlignment - 1) / kTopkAlignment * kTopkAlignment;
        return begin;
    };
    params.scratch.lines =
        take(split.inner > 1 ? params.columns.block * split.extent : 0, element_bytes);
    params.scratch.scores = take(split.extent, score_bytes);
    params.scratch.maxima = take(maxima, score_bytes);
    params.scratch.groups = take(maxima, score_bytes);
    params.scratch.entries = take(params.capacity + kMostLanes, 2 * score_bytes);
    params.scratch.sorted = take(params.capacity, 2 * score_bytes);
    return params;
}

// Measured with AVX-512 (docs/measurements/topk.md).
double topk_ns(const TopkParams& params) {
    const AxisSplit& split = params.split;
    const double lines = double(split.outer * split.inner);
    const double elements = lines * double(split.extent);
    const double gathered_ns = split.inner > 1 ? 0.5 * elements : 0.0;
    return gathered_ns + (params.block_vectors == 0
                              ? 5.0 * elements
                              : 0.1 * elements + lines * (50.0 + 8.0 * double(params.k)));
}

Result<std::unique_ptr<cpu::CpuKernel>> make_topk(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node, x.shape.rank(), -1));
    const AxisSplit split = AxisSplit::make(x.shape, axis);
    const int64_t k = context.outputs[0].shape[axis];
    // Indices are 32 bits of a candidate. Nothing to do is left to the reference kernel.
    if (!x.is_row_major() || split.extent > INT32_MAX || k == 0 || x.shape.element_count() == 0) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const bool largest = context.node.attr("largest", int64_t{1}) != 0;
    const int64_t element_bytes = *storage_bytes(x.dtype, 1);
    const TopkParams params = topk_params(split, k, element_bytes);
    const bool sorts = params.block_vectors == 0;
    const int64_t units = split.outer * params.columns.count();
    auto kernel = std::make_unique<cpu::UnitKernel<TopkParams>>(
        sorts ? "topk_sort" : "topk_select", HWY_DYNAMIC_DISPATCH(select_topk)(x.dtype, largest),
        params, units, topk_ns(params));
    kernel->scratch_bytes = params.scratch.bytes;
    return std::unique_ptr<cpu::CpuKernel>(std::move(kernel));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> topk_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{{"TopK", make_topk}}};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
