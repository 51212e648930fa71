#include "placement/list_scheduling.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "base/check.h"
#include "placement/infinity.h"

namespace leat::scheduler {
namespace {

// What one lane or link does, in order of time.
class Timeline {
  public:
    struct Gap {
        double start = 0;
        size_t next = 0;  // what follows it
    };
    // The first gap that holds `duration` at or after `ready`.
    Gap first_gap(double ready, double duration) const {
        size_t next = first_after(ready);
        double start = ready;
        for (; next < busy_.size() && busy_[next].start < start + duration; ++next) {
            start = std::max(start, busy_[next].finish);
        }
        return {start, next};
    }
    void add(const Gap& gap, double finish) {
        busy_.insert(busy_.begin() + int64_t(gap.next), {gap.start, finish});
    }
    void remove(double start, double finish) {
        const Busy busy{start, finish};
        busy_.erase(std::lower_bound(busy_.begin(), busy_.end(), busy));
    }

  private:
    struct Busy {
        double start = 0;
        double finish = 0;
        bool operator<(const Busy& other) const {
            return start != other.start ? start < other.start : finish < other.finish;
        }
    };
    // The first that finishes after `time`: most often it is among the last.
    size_t first_after(double time) const {
        constexpr size_t kLast = 8;
        size_t next = busy_.size();
        const size_t near = next > kLast ? next - kLast : 0;
        while (next > near && busy_[next - 1].finish > time) {
            --next;
        }
        if (next > near || near == 0) {
            return next;
        }
        const auto found = std::lower_bound(busy_.begin(), busy_.begin() + int64_t(next), time,
                                            [](const Busy& b, double t) { return b.finish <= t; });
        return size_t(found - busy_.begin());
    }

    std::vector<Busy> busy_;
};

struct TimedOp {
    double start = 0;
    double finish = 0;
    int32_t op = 0;
};

class ListScheduler {
  public:
    explicit ListScheduler(const PlacementModel& model)
        : model_(model),
          lanes_(size_t(model.lanes)),
          links_(model.links.size()),
          arrival_(size_t(model.values) * size_t(model.domains), kMissing),
          lane_of_task_(size_t(model.tasks), -1),
          only_domain_(size_t(model.tasks)) {
        for (int32_t task = 0; task < model.tasks; ++task) {
            only_domain_[size_t(task)] = only_domain_of(task);
        }
    }

    void schedule(int32_t task, const ListRule& rule) {
        const int32_t only = only_domain_[size_t(task)];
        const int32_t domain = !rule.domain_of_task.empty() ? rule.domain_of_task[size_t(task)]
                               : only != kSeveral           ? only
                                                            : best_domain(task, rule);
        const double ready = bring_inputs(task, domain);
        const Choice choice = best_lane(task, domain, ready);
        const int32_t lane = choice.lane;
        LEAT_CHECK(lane >= 0, "task {} has no lane in domain {}", task, domain);
        for (const TimedOp& transfer : brought_) {
            timed_.push_back(transfer);
            arrival_[size_t(transfer.op - model_.tasks)] = transfer.finish;
        }
        const double finish = choice.finish_ns;
        lanes_[size_t(lane)].add(choice.gap, finish);
        timed_.push_back({choice.gap.start, finish, task});
        lane_of_task_[size_t(task)] = lane;
        for (const int32_t value : model_.outputs[task]) {
            for (int32_t to = 0; to < model_.domains; ++to) {
                if (!needs_transfer(model_, domain, to)) {
                    arrival_[slot(value, to)] = finish;
                }
            }
        }
        ready_ns_ = finish;
    }
    double last_finish() const { return ready_ns_; }

    Sequence take() && {
        // Of two that start together the shorter goes first: it may be empty and the other not.
        std::stable_sort(timed_.begin(), timed_.end(), [](const TimedOp& a, const TimedOp& b) {
            return a.start != b.start ? a.start < b.start : a.finish < b.finish;
        });
        Sequence sequence;
        sequence.lane_of_task = std::move(lane_of_task_);
        sequence.ops.reserve(timed_.size());
        for (const TimedOp& timed : timed_) {
            sequence.ops.push_back(timed.op);
        }
        return sequence;
    }

  private:
    static constexpr double kMissing = -1;
    static constexpr int32_t kSeveral = -1;

    size_t slot(int32_t value, int32_t domain) const {
        return size_t(value) * size_t(model_.domains) + size_t(domain);
    }

    struct Choice {
        int32_t lane = -1;
        double finish_ns = kInfinity;
        Timeline::Gap gap;
    };

    // Where it can run; kSeveral: that is to be chosen.
    int32_t only_domain_of(int32_t task) const {
        int32_t only = kSeveral;
        for (int32_t lane = 0; lane < model_.lanes; ++lane) {
            const int32_t domain = model_.domain_of_lane[size_t(lane)];
            if (!std::isfinite(model_.cost(task, lane)) || domain == only) {
                continue;
            }
            if (only != kSeveral) {
                return kSeveral;
            }
            only = domain;
        }
        return only;
    }

    int32_t best_domain(int32_t task, const ListRule& rule) {
        int32_t best = -1;
        double best_score = kInfinity;
        for (int32_t domain = 0; domain < model_.domains; ++domain) {
            const Choice choice = best_lane(task, domain, bring_inputs(task, domain));
            take_back();
            const size_t cell = size_t(task) * size_t(model_.domains) + size_t(domain);
            const double score = choice.finish_ns + (rule.bias_ns.empty() ? 0 : rule.bias_ns[cell]);
            if (score < best_score) {
                best_score = score;
                best = domain;
            }
        }
        LEAT_CHECK(best >= 0, "task {} has no lane among {}", task, model_.lanes);
        return best;
    }

    Choice best_lane(int32_t task, int32_t domain, double ready) const {
        Choice best;
        for (int32_t lane = 0; lane < model_.lanes; ++lane) {
            const double cost = model_.cost(task, lane);
            if (model_.domain_of_lane[size_t(lane)] != domain || !std::isfinite(cost)) {
                continue;
            }
            const Timeline::Gap gap = lanes_[size_t(lane)].first_gap(ready, cost);
            if (gap.start + cost < best.finish_ns) {
                best = {lane, gap.start + cost, gap};
            }
        }
        return best;
    }

    // Books the transfers that `task` misses in `domain`, listed in brought_; returns when its last
    // input is there.
    double bring_inputs(int32_t task, int32_t domain) {
        brought_.clear();
        double ready = 0;
        for (const int32_t value : model_.inputs[task]) {
            const double arrival = arrival_[slot(value, domain)];
            ready = std::max(ready, arrival);
            if (arrival == kMissing) {
                const int32_t lane = lane_of_task_[size_t(model_.producer[size_t(value)])];
                const int32_t from = model_.domain_of_lane[size_t(lane)];
                const double written = arrival_[slot(value, from)];
                brought_.push_back({written, 0, transfer_op(model_, value, domain)});
            }
        }
        const auto is_before = [](const TimedOp& a, const TimedOp& b) { return a.start < b.start; };
        if (!std::is_sorted(brought_.begin(), brought_.end(), is_before)) {
            std::stable_sort(brought_.begin(), brought_.end(), is_before);
        }
        for (TimedOp& transfer : brought_) {
            const int32_t value = value_of(model_, transfer.op);
            const int32_t lane = lane_of_task_[size_t(model_.producer[size_t(value)])];
            const int32_t from = model_.domain_of_lane[size_t(lane)];
            const double duration = model_.transfer(value, from, domain);
            const auto link = size_t(model_.link(from, domain));
            if (model_.links[link].is_exclusive) {
                const Timeline::Gap gap = links_[link].first_gap(transfer.start, duration);
                links_[link].add(gap, gap.start + duration);
                transfer.start = gap.start;
            }
            transfer.finish = transfer.start + duration;
            ready = std::max(ready, transfer.finish);
        }
        return ready;
    }

    void take_back() {
        for (const TimedOp& transfer : brought_) {
            const int32_t value = value_of(model_, transfer.op);
            const int32_t lane = lane_of_task_[size_t(model_.producer[size_t(value)])];
            const auto link = size_t(model_.link(model_.domain_of_lane[size_t(lane)],
                                                 to_domain_of(model_, transfer.op)));
            if (model_.links[link].is_exclusive) {
                links_[link].remove(transfer.start, transfer.finish);
            }
        }
        brought_.clear();
    }

    const PlacementModel& model_;
    std::vector<Timeline> lanes_;
    std::vector<Timeline> links_;
    std::vector<double> arrival_;  // [value][domain], kMissing before it is there
    std::vector<int32_t> lane_of_task_;
    std::vector<int32_t> only_domain_;  // [task]
    std::vector<TimedOp> timed_;
    std::vector<TimedOp> brought_;
    double ready_ns_ = 0;
};

// Mean over the ordered pairs of different lanes.
std::vector<double> mean_transfers(const PlacementModel& model) {
    std::vector<double> lanes_in(size_t(model.domains), 0);
    for (const int32_t domain : model.domain_of_lane) {
        lanes_in[size_t(domain)] += 1;
    }
    const double pairs = std::max(1.0, double(model.lanes) * double(model.lanes - 1));
    std::vector<double> means;
    for (int32_t value = 0; value < model.values; ++value) {
        double sum = 0;
        for (int32_t from = 0; from < model.domains; ++from) {
            for (int32_t to = 0; to < model.domains; ++to) {
                sum +=
                    lanes_in[size_t(from)] * lanes_in[size_t(to)] * model.transfer(value, from, to);
            }
        }
        means.push_back(sum / pairs);
    }
    return means;
}

double mean_cost(const PlacementModel& model, int32_t task) {
    double sum = 0;
    double count = 0;
    for (int32_t lane = 0; lane < model.lanes; ++lane) {
        if (std::isfinite(model.cost(task, lane))) {
            sum += model.cost(task, lane);
            count += 1;
        }
    }
    return sum / count;
}

// Least time from the finish of the producer in `from` through one reader of `value`, which takes
// least_of_reader[domain] from its start.
double least_through(const PlacementModel& model,
                     int32_t value,
                     int32_t from,
                     const double* least_of_reader) {
    double best = kInfinity;
    for (int32_t to = 0; to < model.domains; ++to) {
        best = std::min(best, least_of_reader[to] + model.transfer(value, from, to));
    }
    return best;
}

// Optimistic cost table [task][domain]: least time from the finish of the task to the end if every
// later task takes its best lane and lanes are never busy.
std::vector<double> optimistic_costs(const PlacementModel& model) {
    const auto domains = size_t(model.domains);
    std::vector<double> table(size_t(model.tasks) * domains, 0);
    std::vector<double> least(size_t(model.tasks) * domains, kInfinity);
    for (size_t i = model.topological.size(); i-- > 0;) {
        const int32_t task = model.topological[i];
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            const size_t cell = size_t(task) * domains + size_t(model.domain_of_lane[size_t(lane)]);
            least[cell] = std::min(least[cell], table[cell] + model.cost(task, lane));
        }
        for (const int32_t value : model.inputs[task]) {
            const auto producer = size_t(model.producer[size_t(value)]);
            for (int32_t from = 0; from < model.domains; ++from) {
                double& cell = table[producer * domains + size_t(from)];
                cell = std::max(
                    cell, least_through(model, value, from, least.data() + size_t(task) * domains));
            }
        }
    }
    return table;
}

}  // namespace

ListRule heft_rule(const PlacementModel& model) {
    const std::vector<double> transfer = mean_transfers(model);
    ListRule rule;
    rule.priority.resize(size_t(model.tasks), 0);
    for (size_t i = model.topological.size(); i-- > 0;) {
        const int32_t task = model.topological[i];
        double& rank = rule.priority[size_t(task)];
        rank += mean_cost(model, task);
        for (const int32_t value : model.inputs[task]) {
            double& before = rule.priority[size_t(model.producer[size_t(value)])];
            before = std::max(before, transfer[size_t(value)] + rank);
        }
    }
    return rule;
}

ListRule peft_rule(const PlacementModel& model) {
    ListRule rule;
    rule.bias_ns = optimistic_costs(model);
    for (int32_t task = 0; task < model.tasks; ++task) {
        double sum = 0;
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            sum += rule.bias_ns[size_t(task) * size_t(model.domains) +
                                size_t(model.domain_of_lane[size_t(lane)])];
        }
        rule.priority.push_back(sum / double(model.lanes));
    }
    return rule;
}

ListRule domain_rule(const PlacementModel& model, std::vector<int32_t> domain_of_task) {
    ListRule rule;
    rule.domain_of_task = std::move(domain_of_task);
    rule.priority.resize(size_t(model.tasks), 0);
    for (size_t i = model.topological.size(); i-- > 0;) {
        const int32_t task = model.topological[i];
        const int32_t domain = rule.domain_of_task[size_t(task)];
        double least = kInfinity;
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            if (model.domain_of_lane[size_t(lane)] == domain) {
                least = std::min(least, model.cost(task, lane));
            }
        }
        double& rank = rule.priority[size_t(task)];
        rank += least;
        for (const int32_t value : model.inputs[task]) {
            const int32_t producer = model.producer[size_t(value)];
            double& before = rule.priority[size_t(producer)];
            const int32_t from = rule.domain_of_task[size_t(producer)];
            before = std::max(before, model.transfer(value, from, domain) + rank);
        }
    }
    return rule;
}

Sequence list_schedule(const PlacementModel& model, const ListRule& rule) {
    struct Ready {
        double priority = 0;
        int32_t position = 0;  // of the task in topological order, which decides between equals
        bool operator<(const Ready& other) const {
            return priority != other.priority ? priority < other.priority
                                              : position > other.position;
        }
    };
    std::vector<int32_t> position_of(size_t(model.tasks));
    std::vector<int32_t> missing(size_t(model.tasks));
    std::vector<double> inputs_written(size_t(model.tasks), 0);
    std::priority_queue<Ready> ready;
    const auto push = [&](int32_t task) {
        const double priority =
            rule.priority.empty() ? -inputs_written[size_t(task)] : rule.priority[size_t(task)];
        ready.push({priority, position_of[size_t(task)]});
    };
    for (int32_t i = 0; i < model.tasks; ++i) {
        const int32_t task = model.topological[size_t(i)];
        position_of[size_t(task)] = i;
        missing[size_t(task)] = int32_t(model.inputs[task].size());
        if (missing[size_t(task)] == 0) {
            push(task);
        }
    }
    ListScheduler scheduler(model);
    while (!ready.empty()) {
        const int32_t task = model.topological[size_t(ready.top().position)];
        ready.pop();
        scheduler.schedule(task, rule);
        model.for_each_reader(task, [&](int32_t reader) {
            double& written = inputs_written[size_t(reader)];
            written = std::max(written, scheduler.last_finish());
            if (--missing[size_t(reader)] == 0) {
                push(reader);
            }
        });
    }
    return std::move(scheduler).take();
}

}  // namespace leat::scheduler
