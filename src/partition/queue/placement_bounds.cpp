#include "partition/queue/placement_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace leat {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// Weights of all units, and of all lanes: as fine as this many permit.
constexpr double kMostWeightings = 60;
constexpr int32_t kFinest = 8;

// In how many ways `parts` equal shares are dealt to the lanes.
double dealings(int32_t parts, size_t lanes) {
    double count = 1;
    for (int32_t i = 1; i <= parts; ++i) {
        count = count * double(lanes - 1 + size_t(i)) / i;
    }
    return count;
}

}  // namespace

PlacementBounds::PlacementBounds(const PartitionProblem& problem)
    : problem_(problem),
      inputs_(size_t(problem.task_count)),
      ends_ns_(problem.cost_ns.size()),
      rests_ns_(problem.cost_ns.size()),
      idle_ns_(lanes()),
      loads_(size_t(problem.task_count) + 1) {
    for (const scheduler::PlacementUse& use : problem.uses) {
        inputs_[size_t(use.reader)].push_back(
            {use.value, problem.values[size_t(use.value)].producer});
    }
    find_handing();
    find_rests();
    find_idle();
    find_weights(units());
    find_weights(lanes());
    loads_[0].ns.resize(lanes());
    loads_[0].memories.resize(problem.values.size());
    loads_[0].parts.resize(units());
    loads_[0].parts_of_task.resize(problem.cost_ns.size());
}

// From a producer's end to the begin of what reads its value in another part.
double PlacementBounds::find_handing_ns(int32_t value,
                                        bool is_callers,
                                        size_t from,
                                        size_t to) const {
    if (from == to) {
        return 0;
    }
    const int32_t source = problem_.units[from].domain;
    const int32_t target = problem_.units[to].domain;
    double handing = submit_ns(to);
    if (source != target) {
        handing += (source == kHostDomain ? 0 : problem_.copy_ns(value, source, kHostDomain)) +
                   (target == kHostDomain ? 0 : problem_.copy_ns(value, kHostDomain, target));
    }
    if (is_callers && problem_.units[to].runs_parts && target == kHostDomain) {
        handing += problem_.arena_copy_ns(value);
    }
    return handing;
}

void PlacementBounds::find_handing() {
    std::vector<bool> is_callers(problem_.values.size());
    for (const int32_t value : problem_.callers_values) {
        is_callers[size_t(value)] = true;
    }
    for (int32_t value = 0; value < int32_t(problem_.values.size()); ++value) {
        for (size_t from = 0; from < units(); ++from) {
            for (size_t to = 0; to < units(); ++to) {
                handing_ns_.push_back(find_handing_ns(value, is_callers[size_t(value)], from, to));
            }
        }
    }
}

// What reads a value that is made there, and what follows that.
double PlacementBounds::rest_by_ns(size_t reader, int32_t value, size_t from) const {
    double least = kUnbounded;
    for (size_t to = 0; to < units(); ++to) {
        least =
            std::min(least, handing_ns(value, from, to) + problem_.cost_ns[reader * units() + to] +
                                rests_ns_[reader * units() + to]);
    }
    return least;
}

void PlacementBounds::find_rests() {
    for (auto task = size_t(problem_.task_count); task-- > 0;) {
        for (const Use& use : inputs_[task]) {
            for (size_t from = 0; from < units(); ++from) {
                double& rest = rests_ns_[size_t(use.producer) * units() + from];
                rest = std::max(rest, rest_by_ns(task, use.value, from));
            }
        }
    }
}

// No task of a unit begins before the least of these ends, and so on. Where both together are no
// more than the longest path, that is true of units without any task, too.
void PlacementBounds::find_idle() {
    const double longest_ns = path_ns(0);
    for (size_t unit = 0; unit < units(); ++unit) {
        double before = kUnbounded;
        double behind = kUnbounded;
        for (size_t at = unit; at < ends_ns_.size(); at += units()) {
            if (std::isfinite(problem_.cost_ns[at])) {
                // Submissions are part of the load.
                before = std::min(before, ends_ns_[at] - problem_.cost_ns[at] - submit_ns(unit));
                behind = std::min(behind, rests_ns_[at]);
            }
        }
        const double idle = std::max(before, 0.0) + behind;
        idle_ns_[unit] = idle <= longest_ns ? idle : 0;
    }
}

// Every dealing of equal shares to the first lanes.
void PlacementBounds::find_weights(size_t lane_count) {
    int32_t parts = kFinest;
    while (parts > 1 && dealings(parts, lane_count) > kMostWeightings) {
        --parts;
    }
    std::vector<int32_t> shares(lane_count);
    shares[0] = parts;
    for (;;) {
        std::vector<double> weights(lanes());
        std::transform(shares.begin(), shares.end(), weights.begin(),
                       [parts](int32_t share) { return double(share) / parts; });
        add_weights(std::move(weights));
        // The next one: a share goes up, and what is below it begins again.
        size_t first = 0;
        while (shares[first] == 0) {
            ++first;
        }
        if (first + 1 == lane_count) {
            return;
        }
        ++shares[first + 1];
        const int32_t left = std::exchange(shares[first], 0) - 1;
        shares[0] = left;
    }
}

void PlacementBounds::add_weights(std::vector<double> weights) {
    const size_t first = open_ns_.size();
    open_ns_.resize(first + size_t(problem_.task_count) + 1);
    for (auto task = size_t(problem_.task_count); task-- > 0;) {
        double least = kUnbounded;
        for (size_t unit = 0; unit < units(); ++unit) {
            const double cost = problem_.cost_ns[task * units() + unit];
            least = std::isfinite(cost) ? std::min(least, cost * weights[unit]) : least;
        }
        open_ns_[first + task] = open_ns_[first + task + 1] + least;
    }
    weights_.insert(weights_.end(), weights.begin(), weights.end());
}

double PlacementBounds::end_ns(size_t task, size_t unit) const {
    double begin = 0;
    for (const Use& use : inputs_[task]) {
        double least = kUnbounded;
        for (size_t from = 0; from < units(); ++from) {
            least = std::min(least, ends_ns_[size_t(use.producer) * units() + from] +
                                        handing_ns(use.value, from, unit));
        }
        begin = std::max(begin, least);
    }
    return begin + problem_.cost_ns[task * units() + unit];
}

double PlacementBounds::path_ns(size_t first_open) {
    double longest = 0;
    for (size_t task = 0; task < size_t(problem_.task_count); ++task) {
        double least = kUnbounded;
        for (size_t unit = 0; unit < units(); ++unit) {
            double& end = ends_ns_[task * units() + unit];
            if (task >= first_open) {
                end = end_ns(task, unit);
            }
            least = std::min(least, end + rests_ns_[task * units() + unit]);
        }
        longest = std::max(longest, least);
    }
    return longest;
}

void PlacementBounds::add_copies(int32_t value, int32_t from, int32_t to, Loads& loads) const {
    uint64_t& memories = loads.memories[size_t(value)];
    const auto is_new = [&memories](int32_t domain) {
        const uint64_t bit = uint64_t{1} << domain;
        return (std::exchange(memories, memories | bit) & bit) == 0;
    };
    is_new(from);
    if (from != to && is_new(kHostDomain)) {
        loads.ns[units() + size_t(from)] += problem_.copy_ns(value, from, kHostDomain);
    }
    if (from != to && is_new(to)) {
        loads.ns[units() + size_t(to)] += problem_.copy_ns(value, kHostDomain, to);
    }
}

void PlacementBounds::add_task(size_t task,
                               const std::vector<int32_t>& unit_of_task,
                               Loads& loads) const {
    const auto own = size_t(unit_of_task[task]);
    int32_t* parts = &loads.parts_of_task[task * units()];
    std::fill(parts, parts + units(), 0);
    for (const Use& use : inputs_[task]) {
        const auto from = size_t(unit_of_task[size_t(use.producer)]);
        add_copies(use.value, problem_.units[from].domain, problem_.units[own].domain, loads);
        for (size_t unit = 0; unit < units(); ++unit) {
            // Who comes back to a unit does so in another part.
            const int32_t before = loads.parts_of_task[size_t(use.producer) * units() + unit];
            parts[unit] = std::max(parts[unit], before + (unit == own && from != own ? 1 : 0));
        }
    }
    loads.ns[own] += problem_.cost_ns[task * units() + own];
    const int32_t more = parts[own] - loads.parts[own];
    if (more > 0) {
        loads.ns[own] += more * submit_ns(own);
        loads.parts[own] = parts[own];
    }
}

double PlacementBounds::load_ns(size_t task, const Loads& loads) const {
    double most = 0;
    const size_t tasks = size_t(problem_.task_count) + 1;
    for (size_t first = 0; first < weights_.size(); first += lanes()) {
        double mean = open_ns_[first / lanes() * tasks + task + 1];
        for (size_t lane = 0; lane < lanes(); ++lane) {
            mean += weights_[first + lane] * (loads.ns[lane] + idle_ns_[lane]);
        }
        most = std::max(most, mean);
    }
    return most;
}

double PlacementBounds::bound_ns(int32_t task, const std::vector<int32_t>& unit_of_task) {
    const auto at = size_t(task);
    const auto own = size_t(unit_of_task[at]);
    for (size_t unit = 0; unit < units(); ++unit) {
        ends_ns_[at * units() + unit] = unit == own ? end_ns(at, unit) : kUnbounded;
    }
    loads_[at + 1] = loads_[at];
    add_task(at, unit_of_task, loads_[at + 1]);
    return std::max(path_ns(at + 1), load_ns(at, loads_[at + 1]));
}

}  // namespace leat
