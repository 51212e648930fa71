// What no order and no parts of tasks are below, while the units of the first tasks are decided
// and those of the others are not. No code of the library.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/partition_problem.h"

namespace leat::queues {

class UnitBounds {
  public:
    explicit UnitBounds(const PartitionProblem& problem);

    // Tasks are decided in their order; what was decided of later ones is forgotten.
    void decide(int32_t task, int32_t unit);
    // Of the makespan, when tasks up to this one are decided.
    double bound_ns(int32_t last);

  private:
    // Times of one lane after the other count as much as its weight; the weights are 1 together.
    struct Weights {
        std::vector<double> of_lane;
        std::vector<double> rest_ns;  // by task: it and all later ones, where that is least
    };

    double& end_ns(int32_t task, int32_t unit) { return ends_ns_[at(task, unit)]; }
    size_t at(int32_t task, int32_t unit) const {
        return size_t(task) * problem_.units.size() + size_t(unit);
    }
    int32_t units() const { return int32_t(problem_.units.size()); }
    double passing_ns(int32_t value, int32_t from, int32_t to) const;
    double find_passing_ns(int32_t value, const PartitionUnit& from, const PartitionUnit& to) const;
    void find_passing_times();
    double tail_by(int32_t reader, int32_t value, int32_t unit) const;
    void find_tails();
    void find_ends(int32_t task, int32_t unit);
    void find_margins();
    void find_rest(Weights& weights) const;
    void add_weights(size_t lane, int32_t left, int32_t parts_of_one, Weights& weights);
    void count_loads(int32_t last);
    void count_copies(int32_t value, int32_t last);
    void count_parts(int32_t task);

    const PartitionProblem& problem_;
    std::vector<std::vector<int32_t>> inputs_;   // values, by task
    std::vector<std::vector<int32_t>> readers_;  // tasks, by value
    std::vector<double> passing_ns_;             // [value][from][to]
    std::vector<double> tails_ns_;               // [task][unit]: behind its end
    std::vector<double> ends_ns_;                // [task][unit]; infinite: decided otherwise
    std::vector<double> margins_ns_;             // by lane: when it is idle, at the begin and end
    std::vector<Weights> weights_;
    std::vector<int32_t> unit_of_task_;
    std::vector<int32_t> parts_;    // [task][unit]: that are one behind the other up to the task
    std::vector<double> loads_ns_;  // by lane
};

}  // namespace leat::queues
