#include "memory/order_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "memory/order_bound.h"
#include "memory/order_graph.h"
#include "memory/order_level_search.h"
#include "memory/order_state.h"

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
        : graph_(graph), state_(graph), max_work_(max_work), sequence_(size_t(graph.steps())) {
        std::iota(sequence_.begin(), sequence_.end(), 0);
    }

    StepSequence run() {
        std::vector<Segment> segments = segments_of(graph_);
        std::stable_sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
            return a.peak_bytes > b.peak_bytes;
        });
        // No segment needs to be better than the worst.
        for (const Segment& segment : segments) {
            bound_bytes_ = std::max(bound_bytes_, segment.bound_bytes);
        }
        for (Segment& segment : segments) {
            if (segment.peak_bytes > bound_bytes_ && segment.bound_bytes == 0) {
                segment.bound_bytes = peak_bound_bytes(graph_, segment.begin, segment.end);
                bound_bytes_ = std::max(bound_bytes_, segment.bound_bytes);
            }
        }
        peak_bytes_ = bound_bytes_;
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
    // To the begin of a segment.
    void move_to(int32_t step) {
        state_.undo_until(step);
        for (auto i = int32_t(state_.done().size()); i < step; ++i) {
            state_.execute(sequence_[size_t(i)]);
        }
    }

    // Raises peak_bytes_ to the least of the segment that is found.
    void improve(const Segment& segment) {
        move_to(segment.begin);
        int64_t best = segment.peak_bytes;
        int64_t wanted = peak_bytes_;          // the lowest that would help
        int64_t impossible = peak_bytes_ - 1;  // no order was found that is not above
        bool is_proof = graph_.is_uniform();
        const int64_t budget = (max_work_ - work_) / 2;
        const int64_t work_before = work_;
        while (wanted < best && work_ - work_before < budget) {
            const int64_t found = order_within(
                segment, wanted, (budget - (work_ - work_before)) / 2, impossible, is_proof);
            if (found >= 0) {
                best = found;
            }
            wanted = impossible + 1 + (best - impossible - 1) / 2;
            if (is_proof) {
                bound_bytes_ = std::max(bound_bytes_, impossible + 1);
            }
        }
        peak_bytes_ = std::max(peak_bytes_, best);
    }

    // The peak of the order found; negative: none, then `impossible` rises.
    int64_t order_within(const Segment& segment,
                         int64_t level_bytes,
                         int64_t max_work,
                         int64_t& impossible,
                         bool& is_proof) {
        using Search = OrderLevelSearch;
        constexpr Search::Rule kRules[] = {Search::Rule::kHighestHill, Search::Rule::kLowestValley,
                                           Search::Rule::kFileOrder};
        Search search(state_, segment.end);
        for (const Search::Rule rule : kRules) {
            const Search::Answer answer = search.run(level_bytes, rule, max_work / 3);
            work_ += search.work();
            if (answer == Search::Answer::kFound) {
                std::copy(state_.done().begin() + segment.begin, state_.done().end(),
                          sequence_.begin() + segment.begin);
                state_.undo_until(segment.begin);
                return replayed_peak(segment);
            }
            if (answer == Search::Answer::kImpossible) {
                impossible = std::max(level_bytes,
                                      std::min(search.next_level_bytes() - 1, segment.peak_bytes));
                return -1;
            }
        }
        impossible = level_bytes;
        is_proof = false;
        return -1;
    }

    int64_t replayed_peak(const Segment& segment) {
        int64_t peak = 0;
        for (int32_t i = segment.begin; i < segment.end; ++i) {
            const int32_t step = sequence_[size_t(i)];
            peak = std::max(peak, state_.peak_bytes(step));
            state_.execute(step);
        }
        state_.undo_until(segment.begin);
        return peak;
    }

    const OrderGraph& graph_;
    OrderState state_;
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

int64_t peak_bytes(const OrderProblem& problem, std::span<const int32_t> steps) {
    const OrderGraph graph(problem);
    LEAT_CHECK(int32_t(steps.size()) == graph.steps(), "{} of {} steps are ordered", steps.size(),
               graph.steps());
    OrderState state(graph);
    int64_t peak = 0;
    for (const int32_t step : steps) {
        const auto& ready = state.ready();
        LEAT_CHECK(std::find(ready.begin(), ready.end(), step) != ready.end(),
                   "step {} is not ready", step);
        peak = std::max(peak, state.peak_bytes(step));
        state.execute(step);
    }
    return peak;
}

}  // namespace leat
