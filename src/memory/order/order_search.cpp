#include "memory/order/order_search.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "memory/order/order_bound.h"
#include "memory/order/order_graph.h"
#include "memory/order/order_greedy.h"
#include "memory/order/order_segment.h"
#include "memory/order/order_state.h"

namespace leat {
namespace {

// Steps [begin, end) that in every order come after all before them and before all after them.
struct Segment {
    int32_t begin = 0;
    int32_t end = 0;
    int64_t peak_bytes = 0;  // in the file's order
    int64_t bound_bytes = 0;
};

// Whether each step comes after all earlier ones and before all later ones in every order.
std::vector<uint8_t> cut_steps(const OrderGraph& graph) {
    const int32_t count = graph.steps();
    std::vector<uint8_t> is_cut(size_t(count), 1);
    // Every earlier step leads to `step` if every one leads to another that is at most `step`.
    int32_t reach = -1;
    for (int32_t step = 0; step < count; ++step) {
        is_cut[size_t(step)] &= uint8_t(reach <= step);
        const auto next = graph.successors(step);
        reach = std::max(reach, next.empty() ? count : *std::min_element(next.begin(), next.end()));
    }
    reach = count;
    for (int32_t step = count - 1; step >= 0; --step) {
        is_cut[size_t(step)] &= uint8_t(reach >= step);
        const auto last = graph.predecessors(step);
        reach = std::min(reach, last.empty() ? -1 : *std::max_element(last.begin(), last.end()));
    }
    return is_cut;
}

// Cut steps are segments of their own, whose bound is their peak.
std::vector<Segment> segments_of(const OrderGraph& graph) {
    const std::vector<uint8_t> is_cut = cut_steps(graph);
    std::vector<Segment> segments;
    segments.reserve(is_cut.size());
    OrderState state(graph);
    for (int32_t step = 0; step < graph.steps(); ++step) {
        if (step == 0 || is_cut[size_t(step)] != 0 || is_cut[size_t(step) - 1] != 0) {
            segments.push_back({step, step, 0, 0});
        }
        Segment& segment = segments.back();
        segment.end = step + 1;
        segment.peak_bytes = std::max(segment.peak_bytes, state.peak_bytes(step));
        segment.bound_bytes = segment.end - segment.begin == 1 ? segment.peak_bytes : 0;
        state.execute(step);
    }
    return segments;
}

class OrderSearch {
  public:
    OrderSearch(const OrderGraph& graph, int64_t max_work)
        : graph_(graph),
          forward_(graph),
          backward_(graph, OrderDirection::kBackward),
          max_work_(max_work),
          sequence_(size_t(graph.steps())) {
        std::iota(sequence_.begin(), sequence_.end(), 0);
    }

    StepSequence run() {
        std::vector<Segment> segments = segments_of(graph_);
        const PeakBounds bounds(graph_);
        std::stable_sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
            return a.peak_bytes > b.peak_bytes;
        });
        // No segment needs to be better than the worst.
        for (const Segment& segment : segments) {
            bound_bytes_ = std::max(bound_bytes_, segment.bound_bytes);
        }
        for (Segment& segment : segments) {
            if (segment.peak_bytes > bound_bytes_ && segment.bound_bytes == 0) {
                segment.bound_bytes = bounds.of_segment(segment.begin, segment.end);
                bound_bytes_ = std::max(bound_bytes_, segment.bound_bytes);
            }
        }
        peak_bytes_ = bound_bytes_;
        if (graph_.steps() > kMostStepsInSets) {
            // The states move from segment to segment: not to and fro through so many steps.
            std::sort(segments.begin(), segments.end(),
                      [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
        }
        for (const Segment& segment : segments) {
            if (segment.peak_bytes > peak_bytes_) {
                improve(segment);
            }
        }
        StepSequence result;
        result.steps = std::move(sequence_);
        result.peak_bytes = peak_bytes_;
        result.lower_bound_bytes = bound_bytes_;
        result.is_optimal = peak_bytes_ == bound_bytes_;
        result.work = work_;
        return result;
    }

  private:
    // To the two ends of a segment.
    void move_to(const Segment& segment) {
        forward_.undo_until(segment.begin);
        for (auto i = int32_t(forward_.done().size()); i < segment.begin; ++i) {
            forward_.execute(sequence_[size_t(i)]);
        }
        backward_.undo_until(graph_.steps() - segment.end);
        for (int32_t i = graph_.steps() - int32_t(backward_.done().size()); i > segment.end; --i) {
            backward_.execute(sequence_[size_t(i) - 1]);
        }
    }

    // Raises peak_bytes_ to the least of the segment that is found.
    void improve(const Segment& segment) {
        move_to(segment);
        if (segment.end - segment.begin > kMostStepsInSets) {
            improve_greedily(segment);
            return;
        }
        OrderSegmentSearch search(graph_, forward_, backward_, segment.end - segment.begin);
        search.run(peak_bytes_, segment.peak_bytes, (max_work_ - work_) / 8 * 7);
        work_ += search.work();
        std::copy(search.steps().begin(), search.steps().end(), sequence_.begin() + segment.begin);
        peak_bytes_ = std::max(peak_bytes_, search.peak_bytes());
        bound_bytes_ = std::max(bound_bytes_, search.bound_bytes());
    }

    // A search looks at all ready steps again and again.
    void improve_greedily(const Segment& segment) {
        int64_t peak_bytes = segment.peak_bytes;
        for (const GreedyStep rule :
             {GreedyStep::kLeastGrowth, GreedyStep::kNewest, GreedyStep::kFileOrder}) {
            for (OrderState* state : {&forward_, &backward_}) {
                if (peak_bytes <= peak_bytes_) {
                    break;
                }
                std::vector<int32_t> steps =
                    greedy_order(graph_, *state, segment.end - segment.begin, rule, peak_bytes);
                if (state == &backward_) {
                    std::reverse(steps.begin(), steps.end());
                }
                const int64_t own_bytes = peak_of(steps);
                if (!steps.empty() && own_bytes < peak_bytes) {
                    peak_bytes = own_bytes;
                    std::copy(steps.begin(), steps.end(), sequence_.begin() + segment.begin);
                }
            }
        }
        peak_bytes_ = std::max(peak_bytes_, peak_bytes);
    }

    // From where the forward state is.
    int64_t peak_of(std::span<const int32_t> steps) {
        const auto begin = int32_t(forward_.done().size());
        int64_t peak = 0;
        for (const int32_t step : steps) {
            peak = std::max(peak, forward_.peak_bytes(step));
            forward_.execute(step);
        }
        forward_.undo_until(begin);
        return peak;
    }

    const OrderGraph& graph_;
    OrderState forward_;
    OrderState backward_;
    const int64_t max_work_;
    std::vector<int32_t> sequence_;
    int64_t work_ = 0;
    int64_t bound_bytes_ = 0;
    int64_t peak_bytes_ = 0;  // of the segments that are solved, at least the bound
};

}  // namespace

StepSequence order_for_smallest_peak(const OrderProblem& problem, int64_t max_work) {
    const OrderGraph graph(problem);
    return OrderSearch(graph, max_work).run();
}

}  // namespace leat
