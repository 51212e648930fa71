// DynamicProgram: the dynamic gear's compiled form: nodes with the nodes that follow them.
//
// Nodes are the tasks, in their own numbers, and nodes without a body: one where every run enters,
// one that ends it, and trees that cut fans of more than 64 edges, so that neither one worker
// releases all of a fan nor all workers meet at one counter.
// Thread safety: immutable once made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gears/compact_dag.h"

namespace leat::scheduler {

// An edge as its source stores it: where it leads, and whether that node has no other predecessor,
// so that nothing has to be counted.
class DynamicEdge {
  public:
    DynamicEdge() = default;
    DynamicEdge(int32_t node, bool is_only) : bits_((uint32_t(node) << 1) | uint32_t(is_only)) {}

    int32_t node() const { return int32_t(bits_ >> 1); }
    bool is_only() const { return (bits_ & 1) != 0; }

  private:
    uint32_t bits_ = 0;
};

struct DynamicNode {
    static constexpr uint8_t kCaller = 1;  // worker 0 only
    static constexpr uint8_t kTiled = 2;   // more or fewer tiles than one
    static constexpr uint8_t kWaits = 4;   // for points
    static constexpr uint8_t kWished = 8;  // in a domain: see DynamicProgram::wished_domains

    DynamicEdge first;         // to the successor with the longest way to the end
    int32_t others_begin = 0;  // the other successors, from the shortest way to the longest
    int32_t join = 0;          // predecessors and points that it waits for
    uint16_t others_count = 0;
    uint8_t level = 0;  // of priority, 0 first
    uint8_t traits = 0;
};

struct DynamicProgram {
    static constexpr int kMaxFan = 64;
    static constexpr int kMaxLevels = 3;

    struct TiledTask {
        int32_t node;
        int64_t tile_count;
        int64_t tiles_a_claim;
    };
    // `node` waits until its point has reached `value`.
    struct PointWait {
        int64_t value;
        int32_t node;
    };

    // `worker_domains`: as in CompileOptions.
    static DynamicProgram make(const CompactDag& dag, std::span<const int> worker_domains);

    // No priorities, tiles, points, wished domains or tasks for the calling thread.
    bool is_plain() const {
        return level_count == 1 && tiled.empty() && point_count() == 0 && !has_caller_tasks &&
               !has_wishes();
    }
    bool has_wishes() const { return !wished_domains.empty(); }
    // -1: unknown.
    int domain_of(int worker) const {
        return size_t(worker) < worker_domains.size() ? worker_domains[size_t(worker)] : -1;
    }
    int domain_count() const;
    int32_t point_count() const { return int32_t(waits_begin.size()) - 1; }
    const TiledTask& tiled_task(int32_t node) const;
    int64_t bytes() const;

    std::vector<DynamicNode> nodes;
    std::vector<DynamicEdge> edges;
    std::vector<TiledTask> tiled;            // ascending by node
    std::vector<PointWait> point_waits;      // of each point in turn, ascending by value
    std::vector<int32_t> waits_begin = {0};  // by point, and one more
    std::vector<int32_t> wished_domains;     // by task; empty: no wish has an effect
    std::vector<int> worker_domains;         // where there are wishes
    int32_t task_count = 0;                  // lower nodes are tasks
    int32_t entry = 0;
    int32_t final = 0;
    int level_count = 1;
    bool has_caller_tasks = false;
    bool starts_long = false;  // the first task is known to take longer than a wake-up
};

}  // namespace leat::scheduler
