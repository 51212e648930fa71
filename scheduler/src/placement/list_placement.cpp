#include "placement/list_placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace leat::scheduler {
namespace {

// The lanes that a task may be in.
class AllowedLanes {
  public:
    AllowedLanes(const CompactDag& dag, int workers, std::span<const int> worker_domains)
        : all_(static_cast<size_t>(workers)) {
        std::iota(all_.begin(), all_.end(), 0);
        for (size_t lane = 0; lane < worker_domains.size(); ++lane) {
            const auto domain = size_t(std::max(worker_domains[lane], 0));
            of_domain_.resize(std::max(of_domain_.size(), domain + 1));
            of_domain_[domain].push_back(int(lane));
        }
        for (const auto& [task, properties] : dag.special) {
            const int32_t domain = properties.domain;
            if (domain >= 0 && size_t(domain) < of_domain_.size() &&
                !of_domain_[size_t(domain)].empty()) {
                domain_.resize(size_t(dag.task_count()), Task::kAnyDomain);
                domain_[size_t(task)] = domain;
            }
        }
    }
    bool is_bound(int32_t task) const {
        return !domain_.empty() && domain_[size_t(task)] != Task::kAnyDomain;
    }
    std::span<const int> of(int32_t task) const {
        return is_bound(task) ? of_domain_[size_t(domain_[size_t(task)])] : all_;
    }

  private:
    std::vector<int> all_;
    std::vector<std::vector<int>> of_domain_;
    std::vector<int32_t> domain_;  // by task; empty: no task is bound
};

// Earliest-finish-time placement of single tasks; what both rules share.
class LaneClock {
  public:
    LaneClock(const CompactDag& dag,
              int workers,
              const AllowedLanes& allowed,
              ListPlacement& placement)
        : dag_(dag),
          allowed_(allowed),
          placement_(placement),
          ready_ns_(size_t(workers), 0),
          finish_ns_(size_t(dag.task_count()), 0),
          votes_(size_t(workers), 0) {}

    // The lane of most predecessors; the lowest of several, lane 0 without any.
    int preferred_lane(int32_t task) {
        int best = 0;
        int most = 0;
        const auto preds = dag_.predecessors(task);
        for (const int32_t pred : preds) {
            const uint16_t lane = placement_.lane[size_t(pred)];
            if (lane != ListPlacement::kDivided && ++votes_[lane] > most) {
                most = votes_[lane];
                best = lane;
            }
        }
        for (const int32_t pred : preds) {
            const uint16_t lane = placement_.lane[size_t(pred)];
            if (lane != ListPlacement::kDivided) {
                votes_[lane] = 0;
            }
        }
        return best;
    }

    void place_where_it_ends_first(int32_t task) {
        const std::span<const int> lanes = allowed_.of(task);
        int best = preferred_lane(task);
        if (std::find(lanes.begin(), lanes.end(), best) == lanes.end()) {
            best = lanes.front();
        }
        double best_start = start_ns(task, best);
        for (const int lane : lanes) {
            const double start = start_ns(task, lane);
            if (start < best_start) {
                best_start = start;
                best = lane;
            }
        }
        put(task, best, best_start);
    }
    // At the end of the lane.
    void append(int32_t task, int lane) { put(task, lane, ready_ns_[size_t(lane)]); }
    void divide(int32_t task, int lanes, double cost_ns) {
        double start = *std::min_element(ready_ns_.begin(), ready_ns_.begin() + lanes);
        for (const int32_t pred : dag_.predecessors(task)) {
            start = std::max(start, finish_ns_[size_t(pred)] + kTransferNs);
        }
        const double share = cost_ns / lanes;
        double end = 0;
        for (int lane = 0; lane < lanes; ++lane) {
            double& ready = ready_ns_[size_t(lane)];
            ready = std::max(ready, start) + share;
            end = std::max(end, ready);
        }
        placement_.lane[size_t(task)] = ListPlacement::kDivided;
        finish_ns_[size_t(task)] = float(end);
    }

    double ready_ns(int lane) const { return ready_ns_[size_t(lane)]; }
    double end_ns() const { return *std::max_element(ready_ns_.begin(), ready_ns_.end()); }

  private:
    double start_ns(int32_t task, int lane) const {
        double start = ready_ns_[size_t(lane)];
        for (const int32_t pred : dag_.predecessors(task)) {
            const double arrival = double(finish_ns_[size_t(pred)]) +
                                   (placement_.lane[size_t(pred)] == lane ? 0 : kTransferNs);
            start = std::max(start, arrival);
        }
        return start;
    }
    void put(int32_t task, int lane, double start) {
        const double end = start + assumed_cost_ns(dag_.costs_ns[size_t(task)]);
        placement_.lane[size_t(task)] = uint16_t(lane);
        ready_ns_[size_t(lane)] = end;
        finish_ns_[size_t(task)] = float(end);
    }

    const CompactDag& dag_;
    const AllowedLanes& allowed_;
    ListPlacement& placement_;
    std::vector<double> ready_ns_;  // by lane
    std::vector<float> finish_ns_;  // by task
    std::vector<int> votes_;        // by lane
};

// Tasks sorted by the length of the longest path to them; `begin` has one entry per level and one
// more.
struct Levels {
    std::vector<int32_t> order;
    std::vector<int32_t> begin;
};

Levels sort_by_level(const CompactDag& dag) {
    const int32_t count = dag.task_count();
    std::vector<int32_t> level(static_cast<size_t>(count), 0);
    Levels levels;
    levels.begin.assign(2, 0);
    for (int32_t place = 0; place < count; ++place) {
        const int32_t task = dag.at(place);
        int32_t own = 0;
        for (const int32_t pred : dag.predecessors(task)) {
            own = std::max(own, level[size_t(pred)] + 1);
        }
        level[size_t(task)] = own;
        if (size_t(own) + 2 > levels.begin.size()) {
            levels.begin.resize(size_t(own) + 2, 0);
        }
        ++levels.begin[size_t(own) + 1];
    }
    std::partial_sum(levels.begin.begin(), levels.begin.end(), levels.begin.begin());
    levels.order.resize(size_t(count));
    std::vector<int32_t> next(levels.begin.begin(), levels.begin.end() - 1);
    for (int32_t place = 0; place < count; ++place) {
        const int32_t task = dag.at(place);
        levels.order[size_t(next[size_t(level[size_t(task)])]++)] = task;
    }
    return levels;
}

// More important tasks first within each level.
void sort_levels_by_priority(const CompactDag& dag, Levels& levels) {
    std::vector<uint8_t> rank(size_t(dag.task_count()), uint8_t(Priority::kNormal));
    bool differ = false;
    for (const auto& [task, properties] : dag.special) {
        rank[size_t(task)] = uint8_t(properties.priority);
        differ = differ || properties.priority != Priority::kNormal;
    }
    for (size_t level = 0; differ && level + 1 < levels.begin.size(); ++level) {
        std::stable_sort(levels.order.begin() + levels.begin[level],
                         levels.order.begin() + levels.begin[level + 1],
                         [&](int32_t a, int32_t b) { return rank[size_t(a)] < rank[size_t(b)]; });
    }
}

// Cuts one level into a part for each lane so that all lanes are ready at about the same time.
class LevelCut {
  public:
    LevelCut(const CompactDag& dag, int workers, const AllowedLanes& allowed, LaneClock& clock)
        : dag_(dag),
          workers_(workers),
          allowed_(allowed),
          clock_(clock),
          by_lane_(static_cast<size_t>(workers)) {}

    void cut(std::span<const int32_t> level) {
        for (std::vector<int32_t>& tasks : by_lane_) {
            tasks.clear();
        }
        double level_ns = 0;
        for (const int32_t task : level) {
            if (allowed_.is_bound(task)) {
                clock_.place_where_it_ends_first(task);
                continue;
            }
            by_lane_[size_t(clock_.preferred_lane(task))].push_back(task);
            level_ns += assumed_cost_ns(dag_.costs_ns[size_t(task)]);
        }
        const double common_end = common_end_ns(level_ns);
        int lane = 0;
        for (const std::vector<int32_t>& tasks : by_lane_) {
            for (const int32_t task : tasks) {
                const double half = assumed_cost_ns(dag_.costs_ns[size_t(task)]) / 2;
                while (lane + 1 < workers_ && clock_.ready_ns(lane) + half > common_end) {
                    ++lane;
                }
                clock_.append(task, lane);
            }
        }
    }

  private:
    // When all lanes end if the level's work fills them up evenly.
    double common_end_ns(double work_ns) {
        ready_.clear();
        for (int lane = 0; lane < workers_; ++lane) {
            ready_.push_back(clock_.ready_ns(lane));
        }
        std::sort(ready_.begin(), ready_.end());
        double sum = 0;
        double end = 0;
        for (size_t lanes = 1; lanes <= ready_.size(); ++lanes) {
            sum += ready_[lanes - 1];
            const double even = (sum + work_ns) / double(lanes);
            if (lanes == ready_.size() || even <= ready_[lanes]) {
                end = even;
                break;
            }
        }
        return end;
    }

    const CompactDag& dag_;
    const int workers_;
    const AllowedLanes& allowed_;
    LaneClock& clock_;
    std::vector<std::vector<int32_t>> by_lane_;  // tasks of the level by preferred lane
    std::vector<double> ready_;
};

double total_ns(const CompactDag& dag) {
    double sum = 0;
    for (const float cost : dag.costs_ns) {
        sum += assumed_cost_ns(cost);
    }
    return sum;
}

// The caller's own tasks are in its list.
void move_to_caller(const CompactDag& dag, ListPlacement& placement) {
    for (const auto& [task, properties] : dag.special) {
        if (properties.affinity == Affinity::kCaller) {
            placement.lane[size_t(task)] = 0;
        }
    }
}

}  // namespace

int64_t grain_of(const Task& task) {
    const double tiles_a_claim =
        task.cost_ns > 0 ? kMinClaimNs / task.cost_ns * double(task.tile_count) : 1;
    return int64_t(std::clamp(std::ceil(tiles_a_claim), 1.0, double(Task::kMaxTiles)));
}

int lanes_of(const Task& task, int workers) {
    return int(std::clamp<int64_t>(task.tile_count / grain_of(task), 1, workers));
}

ListPlacement place_by_levels(const CompactDag& dag,
                              int workers,
                              std::span<const int> worker_domains) {
    ListPlacement placement;
    placement.serial_ns = total_ns(dag);
    placement.lane.assign(size_t(dag.task_count()), 0);
    Levels levels = sort_by_level(dag);
    sort_levels_by_priority(dag, levels);
    const AllowedLanes allowed(dag, workers, worker_domains);
    LaneClock clock(dag, workers, allowed, placement);
    LevelCut level_cut(dag, workers, allowed, clock);
    for (size_t level = 0; level + 1 < levels.begin.size(); ++level) {
        const std::span<const int32_t> tasks(levels.order.data() + levels.begin[level],
                                             levels.order.data() + levels.begin[level + 1]);
        // Below two tasks a lane the shares of a cut are too uneven.
        if (tasks.size() < 2 * size_t(workers)) {
            for (const int32_t task : tasks) {
                clock.place_where_it_ends_first(task);
            }
        } else {
            level_cut.cut(tasks);
        }
    }
    placement.order = std::move(levels.order);
    placement.parallel_ns = clock.end_ns();
    move_to_caller(dag, placement);
    return placement;
}

ListPlacement place_in_order(const CompactDag& dag,
                             int workers,
                             std::span<const int> worker_domains) {
    ListPlacement placement;
    placement.serial_ns = total_ns(dag);
    placement.order = dag.order;
    placement.lane.assign(size_t(dag.task_count()), 0);
    const AllowedLanes allowed(dag, workers, worker_domains);
    LaneClock clock(dag, workers, allowed, placement);
    for (int32_t place = 0; place < dag.task_count(); ++place) {
        const int32_t index = dag.at(place);
        const Task task = dag.task(index);
        const int lanes = task.affinity == Affinity::kCaller ? 1 : lanes_of(task, workers);
        if (lanes > 1) {
            clock.divide(index, lanes, assumed_cost_ns(float(task.cost_ns)));
        } else {
            clock.place_where_it_ends_first(index);
        }
    }
    placement.parallel_ns = clock.end_ns();
    move_to_caller(dag, placement);
    return placement;
}

ListPlacement place_as_given(const CompactDag& dag,
                             std::span<const int32_t> lanes,
                             std::span<const double> starts_ns) {
    ListPlacement placement;
    placement.serial_ns = total_ns(dag);
    placement.lane.assign(lanes.begin(), lanes.end());
    for (int32_t place = 0; place < dag.task_count(); ++place) {
        placement.order.push_back(dag.at(place));
    }
    std::stable_sort(placement.order.begin(), placement.order.end(), [&](int32_t a, int32_t b) {
        return starts_ns[size_t(a)] < starts_ns[size_t(b)];
    });
    for (int32_t task = 0; task < dag.task_count(); ++task) {
        const double end = starts_ns[size_t(task)] + assumed_cost_ns(dag.costs_ns[size_t(task)]);
        placement.parallel_ns = std::max(placement.parallel_ns, end);
    }
    move_to_caller(dag, placement);
    return placement;
}

ListPlacement place_on_one(const CompactDag& dag) {
    ListPlacement placement;
    placement.serial_ns = placement.parallel_ns = total_ns(dag);
    placement.order = dag.order;
    placement.lane.assign(size_t(dag.task_count()), 0);
    return placement;
}

}  // namespace leat::scheduler
