#include "placement_sequence.h"

#include <algorithm>
#include <limits>

namespace leat::scheduler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
      start_(size_t(model.tasks) + size_t(model.values) * size_t(model.domains), 0),
      finish_(start_.size(), 0),
      before_(start_.size(), kNone),
      arrival_(size_t(model.values) * size_t(model.domains), 0),
      lane_free_(size_t(model.lanes)),
      link_free_(model.links.size()),
      lane_last_(size_t(model.lanes)),
      link_last_(model.links.size()) {}

double SequenceTimes::evaluate(const Sequence& sequence, double limit_ns) {
    std::fill(lane_free_.begin(), lane_free_.end(), 0.0);
    std::fill(link_free_.begin(), link_free_.end(), 0.0);
    std::fill(lane_last_.begin(), lane_last_.end(), kNone);
    std::fill(link_last_.begin(), link_last_.end(), kNone);
    double makespan = 0;
    last_task_ = kNone;
    for (const int32_t op : sequence.ops) {
        if (!is_task(model_, op)) {
            run_transfer(op, sequence);
            continue;
        }
        const double finish = run_task(op, sequence.lane_of_task[size_t(op)]);
        if (finish + tail_ns_[size_t(op)] > limit_ns) {
            return kInfinity;
        }
        if (finish >= makespan) {
            makespan = finish;
            last_task_ = op;
        }
    }
    return makespan;
}

double SequenceTimes::run_task(int32_t task, int32_t lane) {
    const int32_t domain = model_.domain_of_lane[size_t(lane)];
    double start = lane_free_[size_t(lane)];
    for (const int32_t value : model_.inputs[task]) {
        start = std::max(start, arrival_[size_t(value) * size_t(model_.domains) + size_t(domain)]);
    }
    const double finish = start + model_.cost(task, lane);
    start_[size_t(task)] = start;
    finish_[size_t(task)] = finish;
    before_[size_t(task)] = lane_last_[size_t(lane)];
    lane_last_[size_t(lane)] = task;
    lane_free_[size_t(lane)] = finish;
    for (const int32_t value : model_.outputs[task]) {
        const size_t row = size_t(value) * size_t(model_.domains);
        for (int32_t to = 0; to < model_.domains; ++to) {
            // Where a transfer is needed, it stands later in the sequence and writes its finish.
            arrival_[row + size_t(to)] = finish;
        }
    }
    return finish;
}

void SequenceTimes::run_transfer(int32_t op, const Sequence& sequence) {
    const int32_t value = value_of(model_, op);
    const int32_t to = to_domain_of(model_, op);
    const int32_t producer = model_.producer[size_t(value)];
    const int32_t lane = sequence.lane_of_task[size_t(producer)];
    const int32_t from = model_.domain_of_lane[size_t(lane)];
    const auto link = size_t(model_.link(from, to));
    const bool is_exclusive = model_.links[link].is_exclusive;
    double start = finish_[size_t(producer)];
    before_[size_t(op)] = kNone;
    if (is_exclusive) {
        start = std::max(start, link_free_[link]);
        before_[size_t(op)] = link_last_[link];
    }
    const double finish = start + model_.transfer(value, from, to);
    start_[size_t(op)] = start;
    finish_[size_t(op)] = finish;
    link_free_[link] = finish;
    link_last_[link] = op;
    arrival_[size_t(value) * size_t(model_.domains) + size_t(to)] = finish;
}

int32_t SequenceTimes::critical_parent(const Sequence& sequence, int32_t op) const {
    const double start = start_[size_t(op)];
    if (start <= 0) {
        return kNone;
    }
    const int32_t before = before_[size_t(op)];
    if (before != kNone && finish_[size_t(before)] >= start) {
        return before;
    }
    if (!is_task(model_, op)) {
        return model_.producer[size_t(value_of(model_, op))];
    }
    const int32_t domain = model_.domain_of_lane[size_t(sequence.lane_of_task[size_t(op)])];
    for (const int32_t value : model_.inputs[op]) {
        const size_t slot = size_t(value) * size_t(model_.domains) + size_t(domain);
        if (arrival_[slot] >= start) {
            const int32_t producer = model_.producer[size_t(value)];
            const int32_t lane = sequence.lane_of_task[size_t(producer)];
            return needs_transfer(model_, model_.domain_of_lane[size_t(lane)], domain)
                       ? transfer_op(model_, value, domain)
                       : producer;
        }
    }
    return kNone;
}

Schedule make_schedule(const PlacementModel& model, const Sequence& sequence) {
    SequenceTimes times(model);
    Schedule schedule;
    schedule.makespan_ns = times.evaluate(sequence, kInfinity);
    schedule.lane_of_task = sequence.lane_of_task;
    schedule.start_ns.resize(size_t(model.tasks));
    schedule.finish_ns.resize(size_t(model.tasks));
    schedule.order_of_lane.resize(size_t(model.lanes));
    for (const int32_t op : sequence.ops) {
        if (is_task(model, op)) {
            const int32_t lane = sequence.lane_of_task[size_t(op)];
            schedule.start_ns[size_t(op)] = times.start(op);
            schedule.finish_ns[size_t(op)] = times.finish(op);
            schedule.order_of_lane[size_t(lane)].push_back(op);
            continue;
        }
        Transfer transfer;
        transfer.value = value_of(model, op);
        transfer.to_domain = to_domain_of(model, op);
        const int32_t producer = model.producer[size_t(transfer.value)];
        transfer.from_domain =
            model.domain_of_lane[size_t(sequence.lane_of_task[size_t(producer)])];
        transfer.link = model.link(transfer.from_domain, transfer.to_domain);
        transfer.start_ns = times.start(op);
        transfer.finish_ns = times.finish(op);
        schedule.transfers.push_back(transfer);
    }
    std::stable_sort(schedule.transfers.begin(), schedule.transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.start_ns < b.start_ns; });
    return schedule;
}

}  // namespace leat::scheduler
