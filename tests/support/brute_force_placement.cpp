#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "exact_placement.h"

namespace leat::scheduler {
namespace {

// Tries every lane and every order; each operation starts as soon as it can after those before it.
class BruteForce {
  public:
    explicit BruteForce(const PlacementProblem& problem)
        : problem_(problem),
          lane_of_task_(size_t(problem.task_count), 0),
          finish_(size_t(problem.task_count), -1),
          lane_free_(problem.domain_of_lane.size(), 0),
          link_free_(problem.links.size(), 0),
          arrival_(problem.values.size() * size_t(problem.domain_count), -1) {}

    double run() {
        choose_lane(0);
        return best_ns_;
    }

  private:
    void choose_lane(size_t task) {
        if (task == lane_of_task_.size()) {
            extend(0, 0);
            return;
        }
        const size_t lanes = lane_free_.size();
        for (size_t lane = 0; lane < lanes; ++lane) {
            if (std::isfinite(problem_.cost_ns[task * lanes + lane])) {
                lane_of_task_[task] = lane;
                choose_lane(task + 1);
            }
        }
    }
    int32_t domain_of(int32_t task) const {
        return problem_.domain_of_lane[lane_of_task_[size_t(task)]];
    }

    void extend(size_t done, double makespan) {
        if (done == finish_.size()) {
            best_ns_ = std::min(best_ns_, makespan);
            return;
        }
        for (size_t task = 0; task < finish_.size(); ++task) {
            if (finish_[task] < 0) {
                try_task(task, done, makespan);
            }
        }
        for (size_t value = 0; value < problem_.values.size(); ++value) {
            for (int32_t to = 0; to < problem_.domain_count; ++to) {
                try_transfer(value, to, done, makespan);
            }
        }
    }

    void try_task(size_t task, size_t done, double makespan) {
        const size_t lane = lane_of_task_[task];
        const int32_t domain = problem_.domain_of_lane[lane];
        double start = lane_free_[lane];
        for (const PlacementUse& use : problem_.uses) {
            if (use.reader == int32_t(task)) {
                const int32_t producer = problem_.values[size_t(use.value)].producer;
                const double arrival = is_remote(size_t(use.value), domain)
                                           ? arrival_[slot(size_t(use.value), domain)]
                                           : finish_[size_t(producer)];
                if (arrival < 0) {
                    return;
                }
                start = std::max(start, arrival);
            }
        }
        const double finish = start + problem_.cost_ns[task * lane_free_.size() + lane];
        const double was_free = std::exchange(lane_free_[lane], finish);
        finish_[task] = finish;
        extend(done + 1, std::max(makespan, finish));
        finish_[task] = -1;
        lane_free_[lane] = was_free;
    }

    bool is_remote(size_t value, int32_t to) const {
        const int32_t from = domain_of(problem_.values[value].producer);
        return from != to && !problem_.link_between.empty() && link(from, to) >= 0;
    }
    int32_t link(int32_t from, int32_t to) const {
        return problem_.link_between[size_t(from) * size_t(problem_.domain_count) + size_t(to)];
    }
    size_t slot(size_t value, int32_t to) const {
        return value * size_t(problem_.domain_count) + size_t(to);
    }
    bool is_needed(size_t value, int32_t to) const {
        return std::any_of(problem_.uses.begin(), problem_.uses.end(), [&](const auto& use) {
            return use.value == int32_t(value) && domain_of(use.reader) == to;
        });
    }

    void try_transfer(size_t value, int32_t to, size_t done, double makespan) {
        const int32_t producer = problem_.values[value].producer;
        if (!is_remote(value, to) || finish_[size_t(producer)] < 0 ||
            arrival_[slot(value, to)] >= 0 || !is_needed(value, to)) {
            return;
        }
        const auto over = size_t(link(domain_of(producer), to));
        const PlacementLink& with = problem_.links[over];
        double start = finish_[size_t(producer)];
        if (with.is_exclusive) {
            start = std::max(start, link_free_[over]);
        }
        const double finish =
            start + with.latency_ns + double(problem_.values[value].bytes) * 1e9 / with.bytes_per_s;
        const double was_free = std::exchange(link_free_[over], finish);
        arrival_[slot(value, to)] = finish;
        extend(done, makespan);
        arrival_[slot(value, to)] = -1;
        link_free_[over] = was_free;
    }

    const PlacementProblem& problem_;
    std::vector<size_t> lane_of_task_;
    std::vector<double> finish_;  // [task], -1: not run yet
    std::vector<double> lane_free_;
    std::vector<double> link_free_;
    std::vector<double> arrival_;  // [value][domain], -1: not there
    double best_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double brute_force_makespan_ns(const PlacementProblem& problem) {
    return BruteForce(problem).run();
}

}  // namespace leat::scheduler
