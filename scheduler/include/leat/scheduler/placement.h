// Placement: which lane runs each task, in which order, and when the values between them travel.
//
// Lanes are grouped into domains, memories that their lanes share. A value is written in the domain
// of the lane that ran its producer and is read there for nothing; a lane of another domain reads
// it after one transfer over the link between the two domains, and that transfer serves every
// reader in the domain. A link carries one transfer at a time, each for latency + bytes / rate.
// A value that exists before the run has a producer of cost 0 that can run in one domain only.
//
// Every result is a function of the problem and the options alone: search is bounded by steps,
// never by a clock. Thread safety: plain data and pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "leat/export.h"
#include "leat/status.h"

namespace leat::scheduler {

struct PlacementValue {
    int32_t producer = 0;  // task
    int64_t bytes = 0;     // 0: an order between tasks; a transfer of it costs the latency
};

struct PlacementUse {
    int32_t value = 0;
    int32_t reader = 0;  // task
};

struct PlacementLink {
    double latency_ns = 0;
    double bytes_per_s = std::numeric_limits<double>::infinity();
    bool is_exclusive = true;  // false: any number of transfers at once, each at the full rate
};

struct PlacementProblem {
    static constexpr double kCannotRun = std::numeric_limits<double>::infinity();
    static constexpr int32_t kNoLink = -1;  // no transfer needed: readable at once

    int32_t task_count = 0;
    int32_t domain_count = 1;
    std::vector<int32_t> domain_of_lane = {};  // [lane]
    std::vector<double> cost_ns = {};  // [task][lane], row-major; kCannotRun: not on this lane
    std::vector<PlacementValue> values = {};
    std::vector<PlacementUse> uses = {};
    std::vector<PlacementLink> links = {};
    // [from domain][to domain], row-major: index into links, or kNoLink. Several pairs may name one
    // link and then share it. The diagonal is not read. Empty: no links.
    std::vector<int32_t> link_between = {};

    int32_t lane_count() const { return int32_t(domain_of_lane.size()); }
};

enum class PlacementRule : uint8_t {
    kHeft,            // upward rank, earliest finish (Topcuoglu et al. 2002)
    kPeft,            // optimistic cost table (Arabnejad and Barbosa 2014)
    kEarliestFinish,  // tasks as they become ready, each where it finishes first
    kOneDomain,       // all tasks in the one domain where that is fastest
    kMinCut,          // domains of the serial placement: least sum of task and transfer times
    kLoadBalance,     // loads of domains and links balanced in windows of time, by annealing from
                      // what the other rules find: they run too
};
// Name of a rule in snake case, for example "min_cut".
LEAT_API std::string_view name_of(PlacementRule rule);

struct PlacementOptions {
    static constexpr int64_t kStepsBySize = -1;

    std::vector<PlacementRule> rules = {};  // the starting points; empty: all
    int64_t search_steps = kStepsBySize;    // schedules that local search may evaluate; 0: none
    uint64_t seed = 1;                      // of the local search
    // At last a branch and bound of at most so many steps, for problems of up to 20 tasks; 0: none.
    int64_t exact_steps = 0;
};

struct Transfer {
    int32_t value = 0;
    int32_t from_domain = 0;
    int32_t to_domain = 0;
    int32_t link = 0;
    double start_ns = 0;
    double finish_ns = 0;
};

struct Schedule {
    std::vector<int32_t> lane_of_task = {};
    std::vector<double> start_ns = {};                     // [task]
    std::vector<double> finish_ns = {};                    // [task]
    std::vector<std::vector<int32_t>> order_of_lane = {};  // [lane]: tasks as the lane runs them
    std::vector<Transfer> transfers = {};                  // in order of start
    double makespan_ns = 0;
    PlacementRule rule = PlacementRule::kHeft;  // the best starting point
    double rule_makespan_ns = 0;                // its makespan, before local search
    bool is_optimal = false;                    // the branch and bound proved it
};

// The best schedule of the rules, improved by local search. Never worse than any of the rules.
// Error: sizes that do not match, an index out of range, a cost or rate that is negative or not a
// number, a task that no lane can run, a cycle, rules none of which applies.
LEAT_API Result<Schedule> place(const PlacementProblem& problem,
                                const PlacementOptions& options = {});

// Whether the schedule is one of the problem: every task once, on a lane that can run it, for its
// cost; lanes and exclusive links do one thing at a time; every value arrives before it is read.
// The error names the first violation. Shares no code with place(). Times may differ by rounding:
// 1e-9 of the makespan.
LEAT_API Status check_schedule(const PlacementProblem& problem, const Schedule& schedule);

}  // namespace leat::scheduler
