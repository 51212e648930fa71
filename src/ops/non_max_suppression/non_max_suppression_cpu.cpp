// NonMaxSuppression: the boxes of a batch and class are sorted once; each is compared with all that
// were selected before it, a vector of them at a time.
#include <array>
#include <atomic>
#include <memory>

#include "backends/cpu/cpu_kernel.h"
#include "base/parts.h"
#include "ops/non_max_suppression/nms_list.h"
#include "ops/open_result.h"
#include "ops/radix_sort.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/non_max_suppression/non_max_suppression_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

int64_t collect_all(const NmsList& list) {
    for (int64_t i = 0; i < list.spatial; ++i) {
        list.entries[i] = {nms_rank(list.scores[i]), uint32_t(i)};
    }
    return list.spatial;
}

// Entries of the boxes whose scores are larger than the threshold; their number.
int64_t collect_better(const NmsList& list) {
    const float threshold = list.limits.score;
    const FloatVec thresholds = hn::Set(kFloats, threshold);
    int64_t count = 0;
    const auto collect = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            // There is room: no more boxes were collected than looked at.
            list.entries[count] = {nms_rank(list.scores[i]), uint32_t(i)};
            count += list.scores[i] > threshold ? 1 : 0;
        }
    };
    int64_t i = 0;
    for (; i + kFloatLanes <= list.spatial; i += kFloatLanes) {
        const auto is_better = hn::Gt(hn::LoadU(kFloats, list.scores + i), thresholds);
        if (!hn::AllFalse(kFloats, is_better)) {
            collect(i, i + kFloatLanes);
        }
    }
    collect(i, list.spatial);
    return count;
}

struct BoxVectors {
    FloatVec y_begin;
    FloatVec x_begin;
    FloatVec y_end;
    FloatVec x_end;
    FloatVec area;
};

struct Areas {
    FloatVec common;
    FloatVec both;
};

// Of a box and of those kept from `at` on.
HWY_INLINE Areas areas_of(const BoxVectors& box, const NmsKept& kept, int64_t at) {
    const FloatVec zero = hn::Zero(kFloats);
    const FloatVec height = hn::Sub(hn::Min(box.y_end, hn::LoadU(kFloats, kept.y_end + at)),
                                    hn::Max(box.y_begin, hn::LoadU(kFloats, kept.y_begin + at)));
    const FloatVec width = hn::Sub(hn::Min(box.x_end, hn::LoadU(kFloats, kept.x_end + at)),
                                   hn::Max(box.x_begin, hn::LoadU(kFloats, kept.x_begin + at)));
    const auto overlaps = hn::And(hn::Gt(height, zero), hn::Gt(width, zero));
    // What the mask lies between, no compiler joins to one operation with one rounding: see the
    // card.
    const FloatVec common = hn::IfThenElseZero(overlaps, hn::Mul(width, height));
    const FloatVec areas = hn::Add(box.area, hn::LoadU(kFloats, kept.area + at));
    return {common, hn::Sub(areas, common)};
}

// True if none of the first `count` kept boxes suppresses it, which has an area.
bool is_free(const NmsKept& kept, int64_t count, const NmsBox& box, float iou_threshold) {
    const BoxVectors vectors{hn::Set(kFloats, box.y_begin), hn::Set(kFloats, box.x_begin),
                             hn::Set(kFloats, box.y_end), hn::Set(kFloats, box.x_end),
                             hn::Set(kFloats, box.area)};
    const FloatVec zero = hn::Zero(kFloats);
    const FloatVec threshold = hn::Set(kFloats, iou_threshold);
    // Less than the threshold by more than roundings: most boxes need no division.
    const FloatVec lower = hn::Set(kFloats, iou_threshold * (1 - 0x1p-20F));
    for (int64_t i = 0; i < count; i += 2 * kFloatLanes) {
        const Areas first = areas_of(vectors, kept, i);
        const Areas second = areas_of(vectors, kept, i + kFloatLanes);
        const auto may_be = [&](const Areas& areas) {
            return hn::And(hn::Gt(areas.common, zero),
                           hn::Ge(areas.common, hn::Mul(lower, areas.both)));
        };
        if (hn::AllFalse(kFloats, hn::Or(may_be(first), may_be(second)))) {
            continue;
        }
        const auto is_more = [&](const Areas& areas) {
            return hn::Gt(hn::Div(areas.common, areas.both), threshold);
        };
        if (!hn::AllFalse(kFloats, hn::Or(is_more(first), is_more(second)))) {
            return false;
        }
    }
    return true;
}

// What overlaps nothing.
void begin_block(const NmsKept& kept, int64_t at) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    std::fill_n(kept.y_begin + at, kNmsBlock, kLargest);
    std::fill_n(kept.x_begin + at, kNmsBlock, kLargest);
    std::fill_n(kept.y_end + at, kNmsBlock, -kLargest);
    std::fill_n(kept.x_end + at, kNmsBlock, -kLargest);
    std::fill_n(kept.area + at, kNmsBlock, 1.0F);
}

void keep(const NmsKept& kept, int64_t at, const NmsBox& box) {
    if (at % kNmsBlock == 0) {
        begin_block(kept, at);
    }
    kept.y_begin[at] = box.y_begin;
    kept.x_begin[at] = box.x_begin;
    kept.y_end[at] = box.y_end;
    kept.x_end[at] = box.x_end;
    kept.area[at] = box.area;
}

// The number of boxes selected.
int64_t select_boxes(const NmsList& list) {
    if (list.limits.most_boxes == 0) {
        return 0;
    }
    const int64_t count = list.limits.has_score ? collect_better(list) : collect_all(list);
    const RankedIndex<uint32_t>* const entries = sort_ranked(list.entries, list.room, count);
    int64_t selected = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < count && selected < list.limits.most_boxes; ++i) {
        const int64_t index = entries[i].index;
        const NmsBox box = nms_box(list.boxes + index * 4, list.is_center);
        if (box.has_area()) {
            if (!is_free(list.kept, kept, box, list.limits.iou)) {
                continue;
            }
            keep(list.kept, kept++, box);
        }
        list.selected[selected++] = int32_t(index);
    }
    return selected;
}

}  // namespace

int64_t run_nms_list(const NmsList& list) {
    return select_boxes(list);
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(run_nms_list);

constexpr int64_t kNmsAlignment = 64;

// How many tiles of a run have not ended.
class NmsCountdown final : public KernelState {
  public:
    explicit NmsCountdown(int64_t tiles) : tiles_(tiles), remaining_(tiles) {}
    void begin_run() noexcept override { remaining_.store(tiles_, std::memory_order_relaxed); }
    // True for exactly one caller, the last one, which sees what all others wrote before.
    bool end_tiles(int64_t count) noexcept {
        return remaining_.fetch_sub(count, std::memory_order_acq_rel) == count;
    }

  private:
    int64_t tiles_;
    std::atomic<int64_t> remaining_;
};

// A tile is some of the lists, which are the boxes of a batch and class. Whoever ends last knows
// how many boxes there are in all, and writes the result.
class NmsKernel final : public cpu::CpuKernel {
  public:
    // most_boxes: of a list, that may be selected.
    NmsKernel(const NodeData& node, const NmsExtents& extents, int64_t most_boxes, int workers)
        : node_(node),
          extents_(extents),
          most_boxes_(most_boxes),
          run_list_(HWY_DYNAMIC_DISPATCH(run_nms_list)),
          is_center_(node.attr("center_point_box", int64_t{0}) != 0) {
        constexpr double kElementNs = 10;
        constexpr double kTileNs = 20e3;
        kernel_name = "nms_sorted";
        names_node = true;
        cost_ns = kElementNs * double(extents.lists() * extents.spatial);
        if (workers > 1) {
            tile_count = std::clamp<int64_t>(int64_t(cost_ns / kTileNs), 1, extents.lists());
        }
        const int64_t kept_floats = (extents.spatial / kNmsBlock + 1) * kNmsBlock;
        kept_bytes_ = kept_floats * int64_t{sizeof(float)};
        entry_bytes_ = aligned_bytes(extents.spatial * int64_t{sizeof(RankedIndex<uint32_t>)});
        list_bytes_ = 2 * entry_bytes_ + 5 * kept_bytes_;
        const int64_t result_bytes =
            extents.lists() * (int64_t{sizeof(int64_t)} + most_boxes * int64_t{sizeof(int32_t)});
        scratch_bytes = list_bytes_ + (is_shared() ? 0 : result_bytes);
        shared_bytes = is_shared() ? result_bytes : 0;
    }

    std::unique_ptr<KernelState> make_host_state() const override {
        return is_shared() ? std::make_unique<NmsCountdown>(tile_count) : nullptr;
    }

    Status run(const cpu::KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        LEAT_ASSIGN_OR_RETURN(const NmsLimits limits, nms_limits(node_, args.inputs));
        NmsList list;
        list.spatial = extents_.spatial;
        list.is_center = is_center_;
        list.limits = limits;
        place(list, args.scratch);
        const int64_t end = part_begin(extents_.lists(), tile_count, tile_end);
        for (int64_t i = part_begin(extents_.lists(), tile_count, tile_begin); i < end; ++i) {
            const int64_t batch = i / extents_.classes;
            list.boxes = args.inputs[kNmsBoxes].as<const float>() + batch * extents_.spatial * 4;
            list.scores = args.inputs[kNmsScores].as<const float>() + i * extents_.spatial;
            list.selected = selected(args, i);
            counts(args)[i] = run_list_(list);
        }
        const bool is_last =
            !is_shared() ||
            static_cast<NmsCountdown*>(args.state)->end_tiles(tile_end - tile_begin);
        return is_last ? write_result(args) : Status();
    }

  private:
    bool is_shared() const { return tile_count > 1; }
    static int64_t aligned_bytes(int64_t bytes) {
        return (bytes + kNmsAlignment - 1) / kNmsAlignment * kNmsAlignment;
    }
    // By list, how many boxes are selected; then which.
    int64_t* counts(const cpu::KernelArgs& args) const {
        return reinterpret_cast<int64_t*>(is_shared() ? args.shared : args.scratch + list_bytes_);
    }
    int32_t* selected(const cpu::KernelArgs& args, int64_t list) const {
        return reinterpret_cast<int32_t*>(counts(args) + extents_.lists()) + list * most_boxes_;
    }

    void place(NmsList& list, std::byte* memory) const {
        const auto take = [&memory](int64_t bytes) {
            return std::exchange(memory, memory + bytes);
        };
        list.entries = reinterpret_cast<RankedIndex<uint32_t>*>(take(entry_bytes_));
        list.room = reinterpret_cast<RankedIndex<uint32_t>*>(take(entry_bytes_));
        for (float** numbers : {&list.kept.y_begin, &list.kept.x_begin, &list.kept.y_end,
                                &list.kept.x_end, &list.kept.area}) {
            *numbers = reinterpret_cast<float*>(take(kept_bytes_));
        }
    }

    Status write_result(const cpu::KernelArgs& args) const {
        const int64_t* const count = counts(args);
        int64_t total = 0;
        for (int64_t i = 0; i < extents_.lists(); ++i) {
            total += count[i];
        }
        LEAT_ASSIGN_OR_RETURN(int64_t * y,
                              give_shape<int64_t>(args.outputs[0], {total, int64_t{3}}));
        for (int64_t i = 0; i < extents_.lists(); ++i) {
            const int32_t* const boxes = selected(args, i);
            for (int64_t k = 0; k < count[i]; ++k, y += 3) {
                y[0] = i / extents_.classes;
                y[1] = i % extents_.classes;
                y[2] = boxes[k];
            }
        }
        return {};
    }

    const NodeData& node_;
    NmsExtents extents_;
    int64_t most_boxes_;
    int64_t (*run_list_)(const NmsList& list);
    bool is_center_;
    int64_t kept_bytes_ = 0;   // of one number of all kept boxes
    int64_t entry_bytes_ = 0;  // of all entries
    int64_t list_bytes_ = 0;   // of what one list needs
};

Result<std::unique_ptr<cpu::CpuKernel>> make_nms(cpu::PrepareContext& context) {
    const NmsExtents extents = nms_extents(context.inputs);
    // Nothing to do is left to the reference kernel.
    if (extents.lists() == 0 || extents.spatial == 0 || extents.spatial > INT32_MAX) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    int64_t most = extents.spatial;
    const TensorArg* const most_boxes = find_arg(context.inputs, kNmsMostBoxes);
    if (most_boxes == nullptr || most_boxes->data != nullptr) {
        most = nms_most_boxes(context.inputs);
    }
    return std::unique_ptr<cpu::CpuKernel>(
        new NmsKernel(context.node, extents, most, context.workers));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> non_max_suppression_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{{"NonMaxSuppression", make_nms}}};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
