// Local search over sequences: tasks change pools of lanes, operations change places, mostly on
// the critical path. Threshold accepting: a step may worsen the makespan by a margin that shrinks
// to 0. A change is evaluated from the first place that it touches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/split_mix.h"
#include "gears/exponential_quantiles.h"
#include "placement/placement_model.h"
#include "placement/placement_sequence.h"

namespace leat::scheduler {

class SequenceSearch {
  public:
    SequenceSearch(const PlacementModel& model, uint64_t seed);

    // Continues from this sequence. best() stays the best of all starts.
    void start_from(const Sequence& sequence);
    // Tries one change and keeps it if the makespan stays at most (1 + margin) times the current.
    void step(double margin);

    const Sequence& best() const { return best_; }
    double best_ns() const { return best_ns_; }

  private:
    static constexpr int32_t kAbsent = -1;  // position of what is not in the sequence

    struct Insertion {
        int32_t before = 0;  // position in the current sequence
        int32_t op = 0;
    };
    struct OldLane {
        int32_t task = 0;
        int32_t lane = 0;
    };
    struct OldLoad {
        size_t group = 0;
        double ns = 0;
    };

    void collect_critical_path();
    int32_t critical_parent(int32_t position) const;
    bool propose();
    bool propose_lane(int32_t task);
    void propose_second(int32_t task);
    bool propose_shift();
    bool propose_earlier(int32_t op, int32_t before);
    bool reads(int32_t reader, int32_t op) const;
    void move_inputs(int32_t task, int32_t from, int32_t to);
    void move_outputs(int32_t task, int32_t from, int32_t to);
    bool is_read_elsewhere(int32_t value, int32_t domain, int32_t except) const;
    int32_t first_reader(int32_t value, int32_t domain) const;
    void remove(int32_t op);
    void insert(int32_t before, int32_t op);
    void count_transfer(int32_t value, int32_t from, int32_t to, double sign);
    void add_load(int32_t group, double ns);
    void take_back();
    void build_candidate();
    void copy_current(size_t begin, size_t end);
    void take_operations();
    void need_inputs(int32_t op);
    int32_t position(int32_t op) const { return position_[size_t(op)]; }
    int32_t domain_of(int32_t task) const {
        return model_.domain_of_lane[size_t(lane_of_task()[size_t(task)])];
    }
    const std::vector<int32_t>& lane_of_task() const { return candidate_.lane_of_task; }
    void index_positions(size_t first);

    const PlacementModel& model_;
    SplitMix random_;
    SequenceTimes times_;
    std::vector<int32_t> ops_;     // the current sequence
    std::vector<int32_t> saved_;   // its operations while a pair of changes is drawn
    Sequence candidate_;           // lanes equal the current ones between steps
    size_t first_ = 0;             // operations before it are those of ops_ and not in candidate_
    std::vector<double> load_ns_;  // of candidate_, by group of SequenceTimes
    std::vector<OldLane> old_lanes_;
    std::vector<OldLoad> old_loads_;
    Sequence best_;
    double current_ns_ = 0;
    double best_ns_;
    std::vector<int32_t> critical_;  // operations, from the end of the run to its start
    std::vector<int32_t> blocked_;   // those of critical_ that wait for their lane or link
    std::vector<int32_t> blocker_;   // [i]: what blocked_[i] waits for
    std::vector<int32_t> position_;  // [op] in ops_; -1: not there
    std::vector<Insertion> insertions_;
    std::vector<int32_t> removed_;  // positions
    std::vector<uint32_t> needed_;  // [op]: mark of the last proposal that needed it earlier
    uint32_t mark_ = 0;
    ExponentialQuantiles quantiles_;
};

}  // namespace leat::scheduler
