// TaskDag: what a Program is compiled from: tasks, their costs, and the order they must keep.
//
// Order is given by edges, or derived from the buffers that tasks declare to use, or both. Nothing
// is checked here; Program::compile names what is wrong.
// Thread safety: a value; not to be changed by two threads at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "leat/export.h"

namespace leat::scheduler {

enum class TaskId : int32_t {};
enum class BufferId : int32_t {};
// A counter that something outside the run advances: a device, a timer, another thread.
enum class PointId : int32_t {};

// Of what is ready, what is of a higher one is run first, also between two tiles of a task that is
// of a lower one. For the dynamic gear: the compiled gear has an order of its own.
enum class Priority : uint8_t { kHigh, kNormal, kLow };

// kScratch is a write whose result nobody reads later: it orders like a write.
enum class Access : uint8_t { kRead, kWrite, kScratch };

// Which threads may run a task.
enum class Affinity : uint8_t { kAny, kCaller };

struct Task {
    static constexpr double kUnknownCost = -1;
    static constexpr int32_t kAnyDomain = -1;
    // Upper limit of tile_count.
    static constexpr int64_t kMaxTiles = (int64_t{1} << 40) - 1;

    double cost_ns = kUnknownCost;  // estimate for the whole task on one worker
    int64_t tile_count = 1;         // independent parts that workers may divide among themselves
    Priority priority = Priority::kNormal;
    Affinity affinity = Affinity::kAny;  // kCaller: the thread that called run(); one tile only
    // Index of the compute domain whose workers should run it, as in
    // CompileOptions::worker_domains. A wish: the compiled gear places it there, the dynamic gear
    // offers it to them first, and another worker takes it where those are late or busy. Tasks of
    // several tiles and of the calling thread have none.
    int32_t domain = kAnyDomain;
};

class LEAT_API TaskDag {
  public:
    struct Edge {
        TaskId before;
        TaskId after;
    };
    struct PointWait {
        TaskId task;
        PointId point;
        int64_t value;
    };

    // As costs are kept. What is finite stays finite.
    static float kept_cost_ns(double cost_ns) {
        constexpr double kMost = std::numeric_limits<float>::max();
        return std::isfinite(cost_ns) ? float(std::clamp(cost_ns, -kMost, kMost)) : float(cost_ns);
    }
    TaskId add(const Task& task) {
        costs_ns_.push_back(kept_cost_ns(task.cost_ns));
        if (task.tile_count != 1 || task.priority != Priority::kNormal ||
            task.affinity != Affinity::kAny || task.domain != Task::kAnyDomain) {
            special_.emplace_back(TaskId(costs_ns_.size() - 1), task);
        }
        return TaskId(costs_ns_.size() - 1);
    }
    // `after` starts when `before` has finished.
    void precede(TaskId before, TaskId after) { edges_.push_back({before, after}); }

    BufferId add_buffer() {
        buffers_.emplace_back();
        return BufferId(buffers_.size() - 1);
    }
    // Uses count in the order of these calls: a reader follows the last writer, a writer follows
    // the last writer and all readers since.
    void use(TaskId task, BufferId buffer, Access access);

    PointId add_point() { return PointId(point_count_++); }
    // `task` starts when the point has reached `value`; see ProgramState::signal.
    void wait_for(TaskId task, PointId point, int64_t value) {
        point_waits_.push_back({task, point, value});
    }

    // special: of the tasks, those with more than a cost.
    void reserve(int64_t tasks, int64_t edges, int64_t special = 0) {
        costs_ns_.reserve(size_t(tasks));
        edges_.reserve(size_t(edges));
        special_.reserve(size_t(special));
    }

    int64_t task_count() const { return int64_t(costs_ns_.size()); }
    int32_t point_count() const { return point_count_; }
    std::span<const float> costs_ns() const { return costs_ns_; }
    std::span<const Edge> edges() const { return edges_; }
    std::span<const PointWait> point_waits() const { return point_waits_; }
    // Tasks with more than a cost, ascending.
    std::span<const std::pair<TaskId, Task>> special_tasks() const { return special_; }
    // Uses of a buffer that does not exist.
    std::span<const std::pair<TaskId, BufferId>> bad_uses() const { return bad_uses_; }

  private:
    struct Buffer {
        TaskId writer{-1};            // the last one
        std::vector<TaskId> readers;  // since then
    };

    std::vector<float> costs_ns_;
    std::vector<std::pair<TaskId, Task>> special_;
    std::vector<Edge> edges_;
    std::vector<Buffer> buffers_;
    std::vector<std::pair<TaskId, BufferId>> bad_uses_;
    std::vector<PointWait> point_waits_;
    int32_t point_count_ = 0;
};

}  // namespace leat::scheduler
