#include "memory/plan_search.h"

#include <algorithm>
#include <utility>

#include "memory/plan_orders.h"

namespace leat {
namespace {

// Work is counted in visits of conflicting buffers; a million take about 20 ms. Real networks need
// a few thousand per order, so these limits only matter where almost everything is alive together.
constexpr int64_t kGreedyWork = 2'000'000;
constexpr int64_t kSearchWork = 200'000;
constexpr int kSearchMoves = 1'000;

}  // namespace

void PlanSearch::keep(int64_t height_bytes) {
    height_bytes_ = height_bytes;
    offsets_ = placer_.offsets();
}

void PlanSearch::try_order(std::string_view name, const std::vector<int32_t>& order) {
    const int64_t height = placer_.place(order, 0, Fit::kFirst, height_bytes_);
    if (height < height_bytes_) {
        keep(height);
        order_ = order;
        fit_ = Fit::kFirst;
        algorithm_ = name;
    }
}

void PlanSearch::try_greedy_orders(int64_t goal_bytes) {
    for (NamedOrder& order : greedy_orders(problem_)) {
        for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
            if (height_bytes_ <= goal_bytes || placer_.work() > kGreedyWork) {
                return;
            }
            const int64_t height = placer_.place(order.items, 0, fit, height_bytes_);
            if (height < height_bytes_) {
                keep(height);
                order_ = order.items;
                fit_ = fit;
                algorithm_ =
                    std::string(order.name) + (fit == Fit::kFirst ? ", first fit" : ", best fit");
            }
        }
    }
}

// Moves a buffer that reaches the top to an earlier place in the order, and keeps what is not
// worse.
void PlanSearch::improve(int64_t goal_bytes) {
    const int64_t end_of_work = placer_.work() + kSearchWork;
    bool has_improved = false;
    for (int move = 0; move < kSearchMoves && placer_.work() < end_of_work; ++move) {
        if (height_bytes_ <= goal_bytes || order_.size() < 2) {
            break;
        }
        std::vector<int32_t> changed = order_;
        const size_t from = choose_place();
        const auto to = size_t(random_.below(int32_t(from) + 1));
        std::rotate(changed.begin() + ptrdiff_t(to), changed.begin() + ptrdiff_t(from),
                    changed.begin() + ptrdiff_t(from) + 1);
        // One more than the best: equal heights are accepted, to get off plateaus.
        const int64_t height = placer_.place(changed, 0, fit_, height_bytes_ + 1);
        if (height > height_bytes_) {
            continue;
        }
        has_improved |= height < height_bytes_;
        keep(height);
        order_ = std::move(changed);
    }
    if (has_improved) {
        algorithm_ += ", local search";
    }
}

// Half of the moves take a topmost buffer, the others any, so that the search cannot circle.
size_t PlanSearch::choose_place() {
    const auto from = size_t(random_.below(int32_t(order_.size())));
    if (random_.below(2) == 0) {
        for (size_t turn = 0; turn < order_.size(); ++turn) {
            const size_t at = (from + turn) % order_.size();
            const int32_t item = order_[at];
            if (offsets_[size_t(item)] + problem_.item(item).size_bytes == height_bytes_) {
                return at;
            }
        }
    }
    return from;
}

}  // namespace leat
