// What no parts and no orders of the queues make shorter, while only the first tasks have units.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/partition_problem.h"

namespace leat {

class PlacementBounds {
  public:
    // The problem outlives this. At most 64 memories.
    explicit PlacementBounds(const PartitionProblem& problem);

    // Of the makespan, when tasks up to this one run where they are told to, units by task:
    //  - paths: producers, copies and submissions before a task, and what follows it at least;
    //  - loads: for any weights, no lane ends before the weighted mean of what all have to do.
    // Precondition: it was asked about the tasks before, with the same units.
    double bound_ns(int32_t task, const std::vector<int32_t>& unit_of_task);

  private:
    struct Use {
        int32_t value = 0;
        int32_t producer = 0;
    };
    // What lanes have to do by the first tasks, lane by lane: units, then copies of each memory.
    struct Loads {
        std::vector<double> ns;
        std::vector<uint64_t> memories;      // by value: where it is by then
        std::vector<int32_t> parts;          // by unit: one behind the other
        std::vector<int32_t> parts_of_task;  // [task][unit]: up to it
    };

    size_t units() const { return problem_.units.size(); }
    size_t lanes() const { return units() + size_t(problem_.domain_count); }
    double submit_ns(size_t unit) const {
        return problem_.units[unit].runs_parts ? problem_.units[unit].submit_ns : 0;
    }
    double handing_ns(int32_t value, size_t from, size_t to) const {
        return handing_ns_[(size_t(value) * units() + from) * units() + to];
    }
    double find_handing_ns(int32_t value, bool is_callers, size_t from, size_t to) const;
    double rest_by_ns(size_t reader, int32_t value, size_t from) const;
    void find_handing();
    void find_rests();
    void find_idle();
    void find_weights(size_t lane_count);
    void add_weights(std::vector<double> weights);
    double end_ns(size_t task, size_t unit) const;
    double path_ns(size_t first_open);
    void add_task(size_t task, const std::vector<int32_t>& unit_of_task, Loads& loads) const;
    void add_copies(int32_t value, int32_t from, int32_t to, Loads& loads) const;
    double load_ns(size_t task, const Loads& loads) const;

    const PartitionProblem& problem_;
    std::vector<std::vector<Use>> inputs_;  // by task
    std::vector<double> handing_ns_;        // [value][from][to]: units
    std::vector<double> ends_ns_;           // [task][unit]; infinite: it runs elsewhere
    std::vector<double> rests_ns_;          // [task][unit]: behind its end
    std::vector<double> idle_ns_;           // by lane: before its first task and behind its last
    std::vector<double> weights_;           // [weighting][lane], each 1 together
    std::vector<double> open_ns_;           // [weighting][task]: weighted, it and all later ones
    std::vector<Loads> loads_;              // by how many tasks
};

}  // namespace leat
