#include "unit_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "queue_operations.h"

namespace leat::queues {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int32_t kFineParts = 8;    // of weights of units
constexpr int32_t kCoarseParts = 4;  // of weights of units and copies

}  // namespace

UnitBounds::UnitBounds(const PartitionProblem& problem)
    : problem_(problem),
      inputs_(size_t(problem.task_count)),
      readers_(problem.values.size()),
      tails_ns_(size_t(problem.task_count) * problem.units.size()),
      ends_ns_(tails_ns_.size(), kInfinity),
      margins_ns_(size_t(lane_count(problem))),
      unit_of_task_(size_t(problem.task_count)),
      parts_(tails_ns_.size()),
      loads_ns_(margins_ns_.size()) {
    for (const scheduler::PlacementUse& use : problem.uses) {
        inputs_[size_t(use.reader)].push_back(use.value);
        readers_[size_t(use.value)].push_back(use.reader);
    }
    find_passing_times();
    find_tails();
    find_margins();
    Weights weights;
    weights.of_lane.resize(margins_ns_.size());
    add_weights(margins_ns_.size(), kCoarseParts, kCoarseParts, weights);
    add_weights(problem.units.size(), kFineParts, kFineParts, weights);
}

double UnitBounds::passing_ns(int32_t value, int32_t from, int32_t to) const {
    return passing_ns_[(size_t(value) * problem_.units.size() + size_t(from)) *
                           problem_.units.size() +
                       size_t(to)];
}

// From the end of its producer to the first task of a part of another unit that reads it.
double UnitBounds::find_passing_ns(int32_t value,
                                   const PartitionUnit& from,
                                   const PartitionUnit& to) const {
    const int64_t bytes = problem_.values[size_t(value)].bytes;
    const auto& callers = problem_.callers_values;
    double passing = to.runs_parts ? to.submit_ns : 0;
    if (from.domain != to.domain) {
        passing +=
            download_ns(problem_, from.domain, bytes) + upload_ns(problem_, to.domain, bytes);
    }
    if (to.runs_parts && to.domain == kHostDomain &&
        std::find(callers.begin(), callers.end(), value) != callers.end()) {
        passing += arena_copy_ns(problem_, bytes);
    }
    return passing;
}

void UnitBounds::find_passing_times() {
    for (int32_t value = 0; value < int32_t(problem_.values.size()); ++value) {
        for (const PartitionUnit& from : problem_.units) {
            for (const PartitionUnit& to : problem_.units) {
                passing_ns_.push_back(&from == &to ? 0 : find_passing_ns(value, from, to));
            }
        }
    }
}

// The least of a reader and what is behind it, where the value is made by `unit`.
double UnitBounds::tail_by(int32_t reader, int32_t value, int32_t unit) const {
    double least = kInfinity;
    for (int32_t to = 0; to < units(); ++to) {
        least = std::min(least, passing_ns(value, unit, to) + problem_.cost(reader, to) +
                                    tails_ns_[at(reader, to)]);
    }
    return least;
}

void UnitBounds::find_tails() {
    for (int32_t task = problem_.task_count; task-- > 0;) {
        for (int32_t unit = 0; unit < units(); ++unit) {
            for (const int32_t value : inputs_[size_t(task)]) {
                double& tail = tails_ns_[at(problem_.values[size_t(value)].producer, unit)];
                tail = std::max(tail, tail_by(task, value, unit));
            }
        }
    }
}

void UnitBounds::find_ends(int32_t task, int32_t unit) {
    double begin = 0;
    for (const int32_t value : inputs_[size_t(task)]) {
        const int32_t producer = problem_.values[size_t(value)].producer;
        double least = kInfinity;
        for (int32_t from = 0; from < units(); ++from) {
            least = std::min(least, end_ns(producer, from) + passing_ns(value, from, unit));
        }
        begin = std::max(begin, least);
    }
    end_ns(task, unit) = begin + problem_.cost(task, unit);
}

// If a lane is used at all, it begins with something and ends with something. What one task alone
// takes with both is no more than the bound of paths, so that this holds for idle ones, too.
void UnitBounds::find_margins() {
    double path_ns = 0;
    for (int32_t task = 0; task < problem_.task_count; ++task) {
        double least = kInfinity;
        for (int32_t unit = 0; unit < units(); ++unit) {
            find_ends(task, unit);
            least = std::min(least, end_ns(task, unit) + tails_ns_[at(task, unit)]);
        }
        path_ns = std::max(path_ns, least);
    }
    for (int32_t unit = 0; unit < units(); ++unit) {
        const PartitionUnit& own = problem_.units[size_t(unit)];
        double head = kInfinity;
        double tail = kInfinity;
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            const double cost = problem_.cost(task, unit);
            if (std::isfinite(cost)) {
                // The submission is part of the load.
                const double submit = own.runs_parts ? own.submit_ns : 0;
                head = std::min(head, end_ns(task, unit) - cost - submit);
                tail = std::min(tail, tails_ns_[at(task, unit)]);
            }
        }
        const double margin = std::max(head, 0.0) + tail;
        margins_ns_[size_t(unit)] = margin <= path_ns ? margin : 0;
    }
}

void UnitBounds::find_rest(Weights& weights) const {
    weights.rest_ns.assign(size_t(problem_.task_count) + 1, 0);
    for (int32_t task = problem_.task_count; task-- > 0;) {
        double least = kInfinity;
        for (int32_t unit = 0; unit < units(); ++unit) {
            const double cost = problem_.cost(task, unit);
            if (std::isfinite(cost)) {
                least = std::min(least, weights.of_lane[size_t(unit)] * cost);
            }
        }
        weights.rest_ns[size_t(task)] = weights.rest_ns[size_t(task) + 1] + least;
    }
}

void UnitBounds::add_weights(size_t lane, int32_t left, int32_t parts_of_one, Weights& weights) {
    if (lane-- == 1) {
        weights.of_lane[0] = double(left) / parts_of_one;
        find_rest(weights);
        weights_.push_back(weights);
        return;
    }
    for (int32_t own = 0; own <= left; ++own) {
        weights.of_lane[lane] = double(own) / parts_of_one;
        add_weights(lane, left - own, parts_of_one, weights);
    }
    weights.of_lane[lane] = 0;
}

void UnitBounds::decide(int32_t task, int32_t unit) {
    for (int32_t other = 0; other < units(); ++other) {
        end_ns(task, other) = kInfinity;
    }
    find_ends(task, unit);
    unit_of_task_[size_t(task)] = unit;
    count_parts(task);
}

// A unit that comes again behind another one does so with another part.
void UnitBounds::count_parts(int32_t task) {
    const int32_t unit = unit_of_task_[size_t(task)];
    for (int32_t other = 0; other < units(); ++other) {
        int32_t most = 0;
        for (const int32_t value : inputs_[size_t(task)]) {
            const int32_t producer = problem_.values[size_t(value)].producer;
            const bool is_new = other == unit && unit_of_task_[size_t(producer)] != unit;
            most = std::max(most, parts_[at(producer, other)] + (is_new ? 1 : 0));
        }
        parts_[at(task, other)] = most;
    }
}

void UnitBounds::count_copies(int32_t value, int32_t last) {
    const auto& [producer, bytes] = problem_.values[size_t(value)];
    if (producer > last) {
        return;
    }
    const auto copies = [&](int32_t domain) -> double& {
        return loads_ns_[problem_.units.size() + size_t(domain)];
    };
    const int32_t home = problem_.units[size_t(unit_of_task_[size_t(producer)])].domain;
    uint64_t there = uint64_t{1} << home;
    for (const int32_t reader : readers_[size_t(value)]) {
        if (reader > last) {
            continue;
        }
        const int32_t domain = problem_.units[size_t(unit_of_task_[size_t(reader)])].domain;
        if ((there >> domain & 1U) != 0) {
            continue;
        }
        if ((there & 1U) == 0) {
            copies(home) += download_ns(problem_, home, bytes);
        }
        copies(domain) += upload_ns(problem_, domain, bytes);
        there |= uint64_t{1} << domain | 1U;
    }
}

void UnitBounds::count_loads(int32_t last) {
    std::fill(loads_ns_.begin(), loads_ns_.end(), 0);
    std::vector<int32_t> parts(problem_.units.size());
    for (int32_t task = 0; task <= last; ++task) {
        const int32_t unit = unit_of_task_[size_t(task)];
        loads_ns_[size_t(unit)] += problem_.cost(task, unit);
        parts[size_t(unit)] = std::max(parts[size_t(unit)], parts_[at(task, unit)]);
    }
    for (size_t unit = 0; unit < parts.size(); ++unit) {
        const PartitionUnit& own = problem_.units[unit];
        loads_ns_[unit] += own.runs_parts ? own.submit_ns * parts[unit] : 0;
    }
    for (int32_t value = 0; value < int32_t(problem_.values.size()); ++value) {
        count_copies(value, last);
    }
}

double UnitBounds::bound_ns(int32_t last) {
    double bound = 0;
    for (int32_t task = 0; task < problem_.task_count; ++task) {
        double least = kInfinity;
        for (int32_t unit = 0; unit < units(); ++unit) {
            if (task > last) {
                find_ends(task, unit);
            }
            least = std::min(least, end_ns(task, unit) + tails_ns_[at(task, unit)]);
        }
        bound = std::max(bound, least);
    }
    count_loads(last);
    for (const Weights& weights : weights_) {
        double sum = weights.rest_ns[size_t(last) + 1];
        for (size_t lane = 0; lane < loads_ns_.size(); ++lane) {
            sum += weights.of_lane[lane] * (loads_ns_[lane] + margins_ns_[lane]);
        }
        bound = std::max(bound, sum);
    }
    return bound;
}

}  // namespace leat::queues
