// DynamicCounters: what a run of a DynamicProgram counts, and where its workers keep ready nodes.
//
// One run at a time; thread-safe for the workers of the run, except begin() and end().
// Memory ordering: see count_down() and Tiles; begin() and end() order nothing, the gate of the run
// does. What a worker keeps for itself passes to the next holder of its number with the number.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "gears/domain_stacks.h"
#include "gears/dynamic_program.h"
#include "gears/point_counters.h"
#include "gears/private_stack.h"
#include "gears/ready_deque.h"
#include "gears/token_inbox.h"
#include "threads/handover.h"

namespace leat::scheduler {

// Of each node; both halves are touched together.
struct DynamicCell {
    std::atomic<int32_t> missing{0};  // predecessors and points; set again when it reaches 0
    uint32_t link = 0;                // in the one list that the node is in
};

// What one worker of a run has.
struct alignas(128) DynamicWorker {
    std::array<PrivateStack, DynamicProgram::kMaxLevels> stacks;
    // Worker 0: ready tasks that no other may run, linked, by level.
    std::array<uint32_t, DynamicProgram::kMaxLevels> caller_tasks{};
    uint32_t current = 0;        // the node that runs
    int32_t tasks_to_check = 0;  // until the next look at deadline and clock
    int32_t check_interval = 0;
    int32_t victim = 0;   // where it last found something
    int32_t domain = -1;  // of the thread that has the number; -1: unknown
    int64_t checked_ns = 0;
    std::array<ReadyDeque, DynamicProgram::kMaxLevels> deques;

    void clear();
};

class DynamicCounters {
  public:
    explicit DynamicCounters(const DynamicProgram& program);

    // Allocates only for more workers than ever before.
    void begin(int workers, const PointCounters& points);
    // `is_complete`: every node ran, so that every counter is set again.
    void end(bool is_complete);

    DynamicWorker& worker(int index) { return *workers_[size_t(index)]; }
    DynamicCell* cells() { return cells_.get(); }

    // One predecessor of `node` has finished. True for exactly one caller: the one that made it
    // ready. Memory ordering: what any predecessor wrote before its call is visible to that caller.
    bool count_down(int32_t node) {
        std::atomic<int32_t>& missing = cells_[size_t(node)].missing;
        // The last one is alone with the counter and needs no atomic operation to lower it.
        // Nodes of a join tree have 64: looking first would fetch the line twice.
        if ((node >= program_.final || missing.load(std::memory_order_acquire) != 1) &&
            missing.fetch_sub(1, std::memory_order_acq_rel) != 1) {
            return false;
        }
        missing.store(program_.nodes[size_t(node)].join, std::memory_order_relaxed);
        return true;
    }

    // Claims and finished tiles of one task with several; open() before anybody else knows of it.
    struct Tiles {
        TileClaims claims;
        std::atomic<int64_t> finished{0};

        void open() {
            claims.reset();
            finished.store(0, std::memory_order_relaxed);
        }
        // True for the one caller whose tiles were the last ones; it sees what all others wrote.
        bool finish(int64_t tiles, int64_t tile_count) {
            return finished.fetch_add(tiles, std::memory_order_acq_rel) + tiles == tile_count;
        }
    };
    Tiles& tiles_of(const DynamicProgram::TiledTask& task) {
        return tiles_[size_t(&task - program_.tiled.data())];
    }

    // Whether points moved since somebody took the signals.
    bool has_signals(const PointCounters& points) const {
        return points.events() != taken_events_.load(std::memory_order_relaxed);
    }
    // Calls release(node) for every wait that the points now meet; while one worker does so,
    // another returns at once.
    template <class Release>
    void take_signals(const PointCounters& points, const Release& release) {
        if (is_taking_.exchange(true, std::memory_order_acquire)) {
            return;
        }
        // Before the values: a point that moves later gives another number.
        const uint32_t events = points.events();
        for (int32_t point = 0; point < program_.point_count(); ++point) {
            int32_t& next = next_waits_[size_t(point)];
            const int32_t end = program_.waits_begin[size_t(point) + 1];
            for (; next < end; ++next) {
                const DynamicProgram::PointWait& wait = program_.point_waits[size_t(next)];
                if (!points.has_reached(point, wait.value)) {
                    break;
                }
                release(wait.node);
            }
        }
        taken_events_.store(events, std::memory_order_relaxed);
        is_taking_.store(false, std::memory_order_release);
    }

    // Tasks that became ready for worker 0 elsewhere.
    TokenInbox caller_inbox;
    // Null: no task wishes a domain.
    std::unique_ptr<DomainStacks> wishes;

  private:
    void reset_cells();

    const DynamicProgram& program_;
    std::unique_ptr<DynamicCell[]> cells_;
    std::vector<std::unique_ptr<DynamicWorker>> workers_;
    std::unique_ptr<Tiles[]> tiles_;
    std::vector<int32_t> next_waits_;  // by point; of who takes the signals
    std::atomic<uint32_t> taken_events_{0};
    std::atomic<bool> is_taking_{false};
};

}  // namespace leat::scheduler
