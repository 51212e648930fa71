#include "placement/placement_sequence.h"

#include <algorithm>

#include "placement/infinity.h"

namespace leat::scheduler {
namespace {

// Least time from the finish of each task to the end, with no transfer and every later task on its
// fastest lane.
std::vector<double> least_tails(const PlacementModel& model) {
    std::vector<double> tail(size_t(model.tasks), 0);
    for (size_t i = model.topological.size(); i-- > 0;) {
        const int32_t task = model.topological[i];
        double least = kInfinity;
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            least = std::min(least, model.cost(task, lane));
        }
        for (const int32_t value : model.inputs[task]) {
            double& before = tail[size_t(model.producer[size_t(value)])];
            before = std::max(before, tail[size_t(task)] + least);
        }
    }
    return tail;
}

}  // namespace

SequenceTimes::SequenceTimes(const PlacementModel& model)
    : model_(model),
      tail_ns_(least_tails(model)),
      arrival_(size_t(model.values) * size_t(model.domains), 0),
      trial_arrival_(arrival_),
      resources_(size_t(model.lanes) + model.links.size()),
      group_of_(model.pool_of_lane),
      groups_(size_t(model.pools) + model.links.size()) {
    for (int32_t link = 0; link < int32_t(model.links.size()); ++link) {
        group_of_.push_back(model.pools + link);
    }
    for (int32_t pool = 0; pool < model.pools; ++pool) {
        groups_[size_t(pool)].lanes = double(model.lanes_of_pool[pool].size());
    }
}

std::vector<double> SequenceTimes::loads(const Sequence& sequence) const {
    std::vector<double> load_ns(groups_.size(), 0);
    for (const int32_t op : sequence.ops) {
        if (is_task(model_, op)) {
            const int32_t lane = sequence.lane_of_task[size_t(op)];
            load_ns[size_t(model_.pool_of_lane[size_t(lane)])] += model_.cost(op, lane);
            continue;
        }
        const int32_t value = value_of(model_, op);
        const int32_t lane = sequence.lane_of_task[size_t(model_.producer[size_t(value)])];
        const int32_t from = model_.domain_of_lane[size_t(lane)];
        const int32_t to = to_domain_of(model_, op);
        const auto link = size_t(model_.link(from, to));
        if (model_.links[link].is_exclusive) {
            load_ns[size_t(model_.pools) + link] += model_.transfer(value, from, to);
        }
    }
    return load_ns;
}

double SequenceTimes::evaluate(const Sequence& sequence) {
    const double makespan = try_change(sequence, 0, {}, kInfinity);
    keep(sequence);
    return makespan;
}

double SequenceTimes::try_change(const Sequence& changed,
                                 size_t first,
                                 std::span<const double> load_ns,
                                 double limit_ns) {
    trial_.resize(changed.ops.size());
    first_ = first;
    resume(first);
    // Loads are sums of changes, whose rounding must not exclude a makespan that equals the limit.
    constexpr double kRounding = 1 + 1e-9;
    for (size_t group = 0; group < groups_.size(); ++group) {
        groups_[group].room_ns = load_ns.empty()
                                     ? kInfinity
                                     : groups_[group].lanes * limit_ns * kRounding - load_ns[group];
    }
    const auto length = int32_t(changed.ops.size());
    for (auto position = int32_t(first); position < length; ++position) {
        const int32_t op = changed.ops[size_t(position)];
        const bool is_within =
            is_task(model_, op) ? run_task(position, op, changed.lane_of_task[size_t(op)], limit_ns)
                                : run_transfer(position, op, changed);
        if (!is_within) {
            copy_arrivals({changed.ops.data() + first, changed.ops.data() + position + 1}, arrival_,
                          trial_arrival_);
            return kInfinity;
        }
    }
    double makespan = 0;
    for (int32_t lane = 0; lane < model_.lanes; ++lane) {
        makespan = std::max(makespan, resources_[size_t(lane)].free_ns);
    }
    return makespan;
}

void SequenceTimes::keep(const Sequence& changed) {
    times_.resize(trial_.size());
    std::copy(trial_.begin() + int64_t(first_), trial_.end(), times_.begin() + int64_t(first_));
    copy_arrivals({changed.ops.data() + first_, changed.ops.data() + changed.ops.size()},
                  trial_arrival_, arrival_);
}

// What the operations before `first` leave of resources and groups.
void SequenceTimes::resume(size_t first) {
    std::fill(resources_.begin(), resources_.end(), Resource());
    for (Group& group : groups_) {
        group.idle_ns = 0;
    }
    size_t missing = resources_.size();
    for (size_t i = first; i-- > 0 && missing > 0;) {
        const OpTimes& op = times_[i];
        if (op.resource == kNone || resources_[size_t(op.resource)].last != kNone) {
            continue;
        }
        resources_[size_t(op.resource)] = {op.finish_ns, int32_t(i)};
        double& idle = groups_[size_t(group_of_[size_t(op.resource)])].idle_ns;
        idle = std::max(idle, op.idle_ns);
        --missing;
    }
}

bool SequenceTimes::run_task(int32_t position, int32_t task, int32_t lane, double limit_ns) {
    const auto domain = size_t(model_.domain_of_lane[size_t(lane)]);
    double ready = 0;
    for (const int32_t value : model_.inputs[task]) {
        ready = std::max(ready, trial_arrival_[size_t(value) * size_t(model_.domains) + domain]);
    }
    const int32_t free = free_lane(lane, ready);
    const double start = std::max(ready, resources_[size_t(free)].free_ns);
    const double finish = start + model_.cost(task, lane);
    for (const int32_t value : model_.outputs[task]) {
        // Where a transfer is needed, it stands later in the sequence and writes its finish.
        double* arrivals = &trial_arrival_[slot(value, 0)];
        for (int32_t to = 0; to < model_.domains; ++to) {
            arrivals[to] = finish;
        }
    }
    return book(position, free, start, finish) && finish + tail_ns_[size_t(task)] <= limit_ns;
}

// The lane of the pool that is free last among those free at `ready_ns`: it wastes least. If none
// is, the first to be free.
int32_t SequenceTimes::free_lane(int32_t lane, double ready_ns) const {
    const auto lanes = model_.lanes_of_pool[model_.pool_of_lane[size_t(lane)]];
    if (lanes.size() == 1) {
        return lane;
    }
    int32_t best = lanes[0];
    double best_ns = resources_[size_t(best)].free_ns;
    for (size_t i = 1; i < lanes.size(); ++i) {
        const double free_ns = resources_[size_t(lanes[i])].free_ns;
        const bool is_better =
            best_ns <= ready_ns ? free_ns > best_ns && free_ns <= ready_ns : free_ns < best_ns;
        best = is_better ? lanes[i] : best;
        best_ns = is_better ? free_ns : best_ns;
    }
    return best;
}

bool SequenceTimes::run_transfer(int32_t position, int32_t op, const Sequence& sequence) {
    const int32_t value = value_of(model_, op);
    const int32_t to = to_domain_of(model_, op);
    const int32_t lane = sequence.lane_of_task[size_t(model_.producer[size_t(value)])];
    const int32_t from = model_.domain_of_lane[size_t(lane)];
    const int32_t link = model_.link(from, to);
    double start = trial_arrival_[slot(value, from)];
    bool is_within = true;
    double finish = 0;
    if (model_.links[size_t(link)].is_exclusive) {
        const int32_t resource = model_.lanes + link;
        start = std::max(start, resources_[size_t(resource)].free_ns);
        finish = start + model_.transfer(value, from, to);
        is_within = book(position, resource, start, finish);
    } else {
        finish = start + model_.transfer(value, from, to);
        trial_[size_t(position)] = {start, finish, 0, kNone, kNone};
    }
    trial_arrival_[slot(value, to)] = finish;
    return is_within;
}

// False if the resource's group cannot do the rest of its work within the limit.
bool SequenceTimes::book(int32_t position, int32_t resource, double start_ns, double finish_ns) {
    Resource& booked = resources_[size_t(resource)];
    Group& group = groups_[size_t(group_of_[size_t(resource)])];
    group.idle_ns += start_ns - booked.free_ns;
    trial_[size_t(position)] = {start_ns, finish_ns, group.idle_ns, booked.last, resource};
    booked = {finish_ns, position};
    return group.idle_ns <= group.room_ns;
}

void SequenceTimes::copy_arrivals(std::span<const int32_t> ops,
                                  const std::vector<double>& from,
                                  std::vector<double>& to) const {
    if (4 * ops.size() > from.size()) {
        std::copy(from.begin(), from.end(), to.begin());
        return;
    }
    for (const int32_t op : ops) {
        if (!is_task(model_, op)) {
            to[size_t(op - model_.tasks)] = from[size_t(op - model_.tasks)];
            continue;
        }
        for (const int32_t value : model_.outputs[op]) {
            for (int32_t domain = 0; domain < model_.domains; ++domain) {
                to[slot(value, domain)] = from[slot(value, domain)];
            }
        }
    }
}

int32_t SequenceTimes::last_task() const {
    int32_t last = kNone;
    for (int32_t lane = 0; lane < model_.lanes; ++lane) {
        const int32_t position = resources_[size_t(lane)].last;
        if (position != kNone && (last == kNone || at(position).finish_ns > at(last).finish_ns)) {
            last = position;
        }
    }
    return last;
}

Schedule make_schedule(const PlacementModel& model, const Sequence& sequence) {
    SequenceTimes times(model);
    Schedule schedule;
    schedule.makespan_ns = times.evaluate(sequence);
    schedule.lane_of_task.resize(size_t(model.tasks));
    schedule.start_ns.resize(size_t(model.tasks));
    schedule.finish_ns.resize(size_t(model.tasks));
    schedule.order_of_lane.resize(size_t(model.lanes));
    for (size_t i = 0; i < sequence.ops.size(); ++i) {
        const int32_t op = sequence.ops[i];
        const SequenceTimes::OpTimes& op_times = times.at(int32_t(i));
        if (is_task(model, op)) {
            schedule.lane_of_task[size_t(op)] = op_times.resource;
            schedule.start_ns[size_t(op)] = op_times.start_ns;
            schedule.finish_ns[size_t(op)] = op_times.finish_ns;
            schedule.order_of_lane[size_t(op_times.resource)].push_back(op);
            continue;
        }
        Transfer transfer;
        transfer.value = value_of(model, op);
        transfer.to_domain = to_domain_of(model, op);
        const int32_t producer = model.producer[size_t(transfer.value)];
        transfer.from_domain =
            model.domain_of_lane[size_t(sequence.lane_of_task[size_t(producer)])];
        transfer.link = model.link(transfer.from_domain, transfer.to_domain);
        transfer.start_ns = op_times.start_ns;
        transfer.finish_ns = op_times.finish_ns;
        schedule.transfers.push_back(transfer);
    }
    std::stable_sort(schedule.transfers.begin(), schedule.transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.start_ns < b.start_ns; });
    return schedule;
}

}  // namespace leat::scheduler
