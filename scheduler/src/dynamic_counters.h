// DynamicCounters: what a run of a DynamicProgram counts, and where its workers keep ready nodes.
//
// One run at a time. signal() from any thread at any time; the rest is for the run.
// Memory ordering: see count_down() and signal(); begin() and end() order nothing, the gate of the
// run does.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dynamic_program.h"
#include "handover.h"
#include "private_stack.h"
#include "ready_deque.h"
#include "token_inbox.h"

namespace leat::scheduler {

class DynamicRun;

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
    int32_t victim = 0;  // where it last found something
    int64_t checked_ns = 0;
    std::array<ReadyDeque, DynamicProgram::kMaxLevels> deques;

    void clear();
};

class DynamicCounters {
  public:
    explicit DynamicCounters(const DynamicProgram& program);

    // Advances a point; what the caller wrote before is visible to the tasks that wait for it.
    void signal(PointId point, int64_t value);

    // Allocates only for more workers than ever before.
    void begin(DynamicRun& run, int workers);
    // `is_complete`: every node ran, so that every counter is set again.
    void end(bool is_complete);

    DynamicWorker& worker(int index) { return *workers_[size_t(index)]; }
    DynamicCell* cells() { return cells_.get(); }

    // One predecessor of `node` has finished. True for exactly one caller: the one that made it
    // ready. Memory ordering: what any predecessor wrote before its call is visible to that caller.
    bool count_down(int32_t node) {
        std::atomic<int32_t>& missing = cells_[size_t(node)].missing;
        // The last one is alone with the counter and needs no atomic operation to lower it.
        if (missing.load(std::memory_order_acquire) != 1 &&
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

    // Calls release(node) for every wait that the points now meet; one worker at a time, another
    // one returns at once.
    template <class Release>
    void take_signals(const Release& release) {
        if (!moved_points_.has_any() || is_taking_.exchange(true, std::memory_order_acquire)) {
            return;
        }
        uint32_t index = moved_points_.take_all();
        while (index != TokenInbox::kNone) {
            Point& point = points_[index];
            const uint32_t next = point.link;
            // Before the value is read: who advances it from now on puts the point in again.
            point.is_queued.exchange(false, std::memory_order_acq_rel);
            const int64_t value = point.value.load(std::memory_order_acquire);
            const int32_t end = program_.waits_begin[index + 1];
            for (; point.next_wait < end; ++point.next_wait) {
                const DynamicProgram::PointWait& wait =
                    program_.point_waits[size_t(point.next_wait)];
                if (wait.value > value) {
                    break;
                }
                release(wait.node);
            }
            index = next;
        }
        is_taking_.store(false, std::memory_order_release);
    }
    bool has_signals() const { return moved_points_.has_any(); }

    // Tasks that became ready for worker 0 elsewhere.
    TokenInbox caller_inbox;
    // Guards a parked worker 0, and the run against signals after its end.
    std::mutex mutex;
    std::condition_variable wake;

  private:
    struct Point {
        std::atomic<int64_t> value{0};
        std::atomic<bool> is_queued{false};
        uint32_t link = 0;
        int32_t next_wait = 0;  // of who takes signals
    };

    void reset_points();

    const DynamicProgram& program_;
    std::unique_ptr<DynamicCell[]> cells_;
    std::vector<std::unique_ptr<DynamicWorker>> workers_;
    std::unique_ptr<Tiles[]> tiles_;
    std::unique_ptr<Point[]> points_;
    TokenInbox moved_points_;
    std::atomic<bool> is_taking_{false};
    DynamicRun* run_ = nullptr;  // under the mutex
};

}  // namespace leat::scheduler
