#include "memory/plan.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

// Work is counted in visits of conflicting buffers; a million take about 20 ms. Real networks need
// a few thousand per order, so these limits only matter where almost everything is alive together.
constexpr int64_t kGreedyWork = 2'000'000;
constexpr int64_t kSearchWork = 200'000;
constexpr int kSearchMoves = 1'000;

using Order = std::vector<int32_t>;

int64_t round_up(int64_t value, int64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

bool takes_place(const PlannedBuffer& buffer) {
    return buffer.size_bytes > 0;
}

Status check_input(std::span<const PlannedBuffer> buffers, int64_t& unplanned_bytes) {
    int64_t padded = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
        const PlannedBuffer& buffer = buffers[i];
        const int64_t alignment = buffer.alignment_bytes;
        if (buffer.size_bytes < 0 || alignment <= 0 || (alignment & (alignment - 1)) != 0 ||
            buffer.end_step <= buffer.begin_step) {
            return invalid_argument("buffer {} has {} bytes, alignment {} and steps [{}, {})", i,
                                    buffer.size_bytes, alignment, buffer.begin_step,
                                    buffer.end_step);
        }
        // Twice: offsets are below the padded sum, and rounding one up must not overflow either.
        if (__builtin_add_overflow(padded, buffer.size_bytes, &padded) ||
            __builtin_add_overflow(padded, alignment, &padded) ||
            padded > std::numeric_limits<int64_t>::max() / 2) {
            return out_of_memory("the buffers of the plan are more than {} bytes",
                                 std::numeric_limits<int64_t>::max() / 2);
        }
        unplanned_bytes += buffer.size_bytes;
    }
    return {};
}

// Every buffer's offset is a multiple of the least alignment, so in each step all but the topmost
// buffer take their size rounded up to it.
int64_t lower_bound(std::span<const PlannedBuffer> buffers) {
    int64_t grain = std::numeric_limits<int64_t>::max();
    for (const PlannedBuffer& buffer : buffers) {
        grain = takes_place(buffer) ? std::min(grain, buffer.alignment_bytes) : grain;
    }
    struct Event {
        int32_t step;
        int32_t buffer;
        bool is_begin;
    };
    std::vector<Event> events;
    for (size_t i = 0; i < buffers.size(); ++i) {
        if (takes_place(buffers[i])) {
            events.push_back({buffers[i].begin_step, int32_t(i), true});
            events.push_back({buffers[i].end_step, int32_t(i), false});
        }
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.step != b.step ? a.step < b.step : a.is_begin < b.is_begin;
    });
    int64_t alive = 0;
    int64_t bound = 0;
    std::multiset<int64_t> paddings;
    for (const Event& event : events) {
        const int64_t size_bytes = buffers[size_t(event.buffer)].size_bytes;
        const int64_t rounded = round_up(size_bytes, grain);
        if (event.is_begin) {
            alive += rounded;
            paddings.insert(rounded - size_bytes);
            bound = std::max(bound, alive - *paddings.rbegin());
        } else {
            alive -= rounded;
            paddings.erase(paddings.find(rounded - size_bytes));
        }
    }
    return bound;
}

enum class Fit : uint8_t { kFirst, kBest };

// Places buffers one after the other in a given order, each in a gap between those that conflict
// with it.
class Placer {
  public:
    explicit Placer(std::span<const PlannedBuffer> buffers)
        : buffers_(buffers), offsets_(buffers.size(), -1) {
        for (size_t i = 0; i < buffers.size(); ++i) {
            if (takes_place(buffers[i])) {
                by_begin_.push_back(int32_t(i));
            }
        }
        std::stable_sort(by_begin_.begin(), by_begin_.end(), [&](int32_t a, int32_t b) {
            return buffer(a).begin_step < buffer(b).begin_step;
        });
        find_conflicts();
    }

    // All buffers that take a place, by first step.
    const Order& by_begin() const { return by_begin_; }
    const std::vector<int64_t>& offsets() const { return offsets_; }
    int64_t work() const { return work_; }
    const PlannedBuffer& buffer(int32_t index) const { return buffers_[size_t(index)]; }
    int64_t end_of(int32_t index) const {
        return offsets_[size_t(index)] + buffer(index).size_bytes;
    }

    // Height of the result. Gives up, and returns something not below `limit`, when it reaches
    // that.
    int64_t place(const Order& order, Fit fit, int64_t limit) {
        for (const int32_t index : order) {
            offsets_[size_t(index)] = -1;
        }
        int64_t height = 0;
        for (const int32_t index : order) {
            offsets_[size_t(index)] = find_gap(index, fit);
            height = std::max(height, end_of(index));
            if (height >= limit) {
                break;
            }
        }
        return height;
    }

  private:
    struct Taken {
        int64_t begin;
        int64_t end;
    };

    void find_conflicts() {
        conflicts_.resize(buffers_.size());
        std::vector<int32_t> alive;
        for (const int32_t index : by_begin_) {
            const int32_t now = buffer(index).begin_step;
            alive.erase(
                std::remove_if(alive.begin(), alive.end(),
                               [&](int32_t other) { return buffer(other).end_step <= now; }),
                alive.end());
            for (const int32_t other : alive) {
                conflicts_[size_t(index)].push_back(other);
                conflicts_[size_t(other)].push_back(index);
            }
            alive.push_back(index);
        }
    }

    int64_t find_gap(int32_t index, Fit fit) {
        const PlannedBuffer& wanted = buffer(index);
        taken_.clear();
        for (const int32_t other : conflicts_[size_t(index)]) {
            if (offsets_[size_t(other)] >= 0) {
                taken_.push_back({offsets_[size_t(other)], end_of(other)});
            }
        }
        work_ += int64_t(conflicts_[size_t(index)].size()) + 4;
        std::sort(taken_.begin(), taken_.end(),
                  [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
        int64_t cursor = 0;  // end of what is taken so far
        int64_t best = -1;
        int64_t best_gap = std::numeric_limits<int64_t>::max();
        for (const Taken& taken : taken_) {
            const int64_t offset = round_up(cursor, wanted.alignment_bytes);
            const int64_t gap = taken.begin - cursor;
            if (offset + wanted.size_bytes <= taken.begin && gap < best_gap) {
                best = offset;
                best_gap = gap;
                if (fit == Fit::kFirst) {
                    break;
                }
            }
            cursor = std::max(cursor, taken.end);
        }
        return best >= 0 ? best : round_up(cursor, wanted.alignment_bytes);
    }

    std::span<const PlannedBuffer> buffers_;
    Order by_begin_;
    std::vector<std::vector<int32_t>> conflicts_;
    std::vector<int64_t> offsets_;  // -1: not placed yet
    std::vector<Taken> taken_;
    int64_t work_ = 0;
};

struct Candidate {
    std::string_view name;
    Order order;
};

// Largest key first; ties keep the order of first steps.
template <class Key>
Order sorted_by(const Placer& placer, Key key) {
    Order order = placer.by_begin();
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return key(placer.buffer(a)) > key(placer.buffer(b));
    });
    return order;
}

std::vector<Candidate> greedy_orders(const Placer& placer) {
    const auto duration = [](const PlannedBuffer& buffer) {
        return int64_t(buffer.end_step) - buffer.begin_step;
    };
    return {
        {"size", sorted_by(placer, [](const PlannedBuffer& b) { return b.size_bytes; })},
        {"size then duration",
         sorted_by(placer,
                   [&](const PlannedBuffer& b) { return std::pair(b.size_bytes, duration(b)); })},
        {"area", sorted_by(placer,
                           [&](const PlannedBuffer& b) {
                               return double(b.size_bytes) * double(duration(b));
                           })},
        {"duration then size",
         sorted_by(placer,
                   [&](const PlannedBuffer& b) { return std::pair(duration(b), b.size_bytes); })},
        {"first step", placer.by_begin()},
        {"last step", sorted_by(placer, [](const PlannedBuffer& b) { return b.end_step; })},
    };
}

// A small generator with a fixed seed: the plan must be the same on every run.
class Sequence {
  public:
    // In [0, bound).
    size_t next(size_t bound) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return size_t(state_ >> 33) % bound;
    }

  private:
    uint64_t state_ = 0x9e3779b97f4a7c15U;
};

class Search {
  public:
    Search(Placer& placer, MemoryPlan& plan) : placer_(placer), plan_(plan) {}

    void try_greedy_orders() {
        for (Candidate& candidate : greedy_orders(placer_)) {
            for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
                if (!is_finished() && improves(candidate.order, fit)) {
                    fit_ = fit;
                    order_ = candidate.order;
                    plan_.algorithm = std::string(candidate.name) +
                                      (fit == Fit::kFirst ? ", first fit" : ", best fit");
                }
            }
        }
    }

    // Moves a buffer that reaches the top to an earlier place in the order, and keeps what is not
    // worse.
    void improve_order() {
        const int64_t end_of_work = placer_.work() + kSearchWork;
        bool has_improved = false;
        for (int move = 0; move < kSearchMoves && placer_.work() < end_of_work; ++move) {
            if (is_optimal() || order_.size() < 2) {
                break;
            }
            Order changed = order_;
            move_one(changed);
            // One more than the best: equal heights are accepted, to get off plateaus.
            const int64_t height = placer_.place(changed, fit_, plan_.height_bytes + 1);
            if (height > plan_.height_bytes) {
                continue;
            }
            has_improved |= height < plan_.height_bytes;
            keep(height);
            order_ = std::move(changed);
        }
        if (has_improved) {
            plan_.algorithm += ", local search";
        }
    }

  private:
    bool is_finished() const { return is_optimal() || placer_.work() > kGreedyWork; }
    bool is_optimal() const { return plan_.height_bytes <= plan_.lower_bound_bytes; }

    bool improves(const Order& order, Fit fit) {
        const int64_t height = placer_.place(order, fit, plan_.height_bytes);
        if (height >= plan_.height_bytes) {
            return false;
        }
        keep(height);
        return true;
    }
    void keep(int64_t height) {
        plan_.height_bytes = height;
        plan_.offsets = placer_.offsets();
    }

    void move_one(Order& order) {
        // Half of the moves take a topmost buffer, the others any, so that the search cannot
        // circle.
        size_t from = sequence_.next(order.size());
        if (sequence_.next(2) == 0) {
            for (size_t turn = 0; turn < order.size(); ++turn) {
                const size_t at = (from + turn) % order.size();
                const auto index = size_t(order[at]);
                if (plan_.offsets[index] + placer_.buffer(order[at]).size_bytes ==
                    plan_.height_bytes) {
                    from = at;
                    break;
                }
            }
        }
        const size_t to = sequence_.next(from + 1);
        std::rotate(order.begin() + ptrdiff_t(to), order.begin() + ptrdiff_t(from),
                    order.begin() + ptrdiff_t(from) + 1);
    }

    Placer& placer_;
    MemoryPlan& plan_;
    Fit fit_ = Fit::kFirst;
    Order order_;
    Sequence sequence_;
};

}  // namespace

Result<MemoryPlan> plan_offsets(std::span<const PlannedBuffer> buffers) {
    MemoryPlan plan;
    LEAT_RETURN_IF_ERROR(check_input(buffers, plan.unplanned_bytes));
    plan.lower_bound_bytes = lower_bound(buffers);
    plan.height_bytes = std::numeric_limits<int64_t>::max();
    Placer placer(buffers);
    if (placer.by_begin().empty()) {
        plan.height_bytes = 0;
        plan.algorithm = "nothing to place";
    } else {
        Search search(placer, plan);
        search.try_greedy_orders();
        search.improve_order();
    }
    plan.offsets.resize(buffers.size(), 0);
    for (int64_t& offset : plan.offsets) {
        offset = std::max<int64_t>(offset, 0);  // what takes no place
    }
    return plan;
}

}  // namespace leat
