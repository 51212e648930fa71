// DynamicRun: one run of a DynamicProgram.
//
// A worker runs a node, counts down those that follow, continues with the last that became ready
// and keeps the others in its private stack; while its public deque is empty it moves some there.
// The worker that makes the final node ready ends the run; no count is shared by all.
// Memory ordering: nodes pass between workers by DynamicCounters::count_down, ReadyDeque,
// DomainStacks and TokenInbox only, whose contracts say what is visible; done_ (release -> acquire)
// gives worker 0 what every task wrote.
#pragma once

#include <atomic>
#include <cstdint>

#include "gears/active_run.h"
#include "gears/dynamic_counters.h"
#include "gears/dynamic_program.h"
#include "gears/point_counters.h"
#include "gears/run_record.h"

namespace leat::scheduler {

class DynamicRun final : public ActiveRun {
  public:
    // `workers`: numbers that work() may be called with, so 1 if no helper can come.
    DynamicRun(Crew& crew,
               const DynamicProgram& program,
               DynamicCounters& counters,
               PointCounters& points,
               RunRecord& record,
               TaskFunction function,
               const RunControl& control,
               int workers);
    // When all workers are out.
    ~DynamicRun() override;

    void work(int worker) noexcept override;
    bool work_while_ready() noexcept override;
    void joins(int worker, int helper) noexcept override;
    bool is_done() const { return done_.load(std::memory_order_acquire); }

  private:
    static constexpr uint32_t kNone = PrivateStack::kNone;

    void work_alone();
    template <bool kPlain>
    void work_shared(int worker);
    template <bool kPlain>
    uint32_t step(DynamicWorker& self, TaskScope& scope, int worker, uint32_t entry, int levels);
    template <bool kPlain>
    bool run_node(DynamicWorker& self, TaskScope& scope, uint32_t entry);
    void prefetch_successors(uint32_t node);
    bool run_body(DynamicWorker& self, TaskScope& scope, uint32_t node);
    bool run_tiles(DynamicWorker& self, TaskScope& scope, uint32_t entry);
    void run_urgent(DynamicWorker& self, TaskScope& scope, int levels);
    static bool call_traced(void* run, TaskId task, TaskScope& scope);

    template <bool kPlain>
    uint32_t release_successors(DynamicWorker& self, int worker, uint32_t node);
    void make_ready(DynamicWorker& self, int worker, int32_t node);
    void make_wished_ready(int32_t node);
    uint32_t take_wished(const DynamicWorker& self, int level);
    uint32_t take_others_wished(const DynamicWorker& self);
    void offer_wished(DynamicWorker& self);
    bool has_wished_nodes() const {
        return counters_.wishes != nullptr && counters_.wishes->has_any();
    }
    template <bool kPlain>
    void offer_surplus(DynamicWorker& self);
    void offer(DynamicWorker& self, int level);
    bool checkpoint(DynamicWorker& self);

    // Of the `levels` most urgent ones.
    template <bool kPlain>
    uint32_t next_own(DynamicWorker& self, int worker, int levels = DynamicProgram::kMaxLevels);
    void take_from_outside(DynamicWorker& self, int worker);
    uint32_t take_from(DynamicWorker& self, int victim, int level);
    template <bool kPlain>
    uint32_t look_everywhere(DynamicWorker& self, int worker, bool takes_others);
    template <bool kPlain>
    uint32_t find(DynamicWorker& self, int worker);
    template <bool kPlain>
    uint32_t wait_as_caller(DynamicWorker& self);
    template <bool kPlain>
    uint32_t wait_as_helper(DynamicWorker& self, int worker);

    void call_helpers(int most);
    void sleep_until_signal();
    void wake_caller();
    void finish();

    const DynamicProgram& program_;
    DynamicCounters& counters_;
    PointCounters& points_;
    RunRecord& record_;
    const TaskFunction body_;  // function_, or what times its calls
    const int workers_;
    const bool is_plain_;
    // A helper could come and none is called. Set by who leaves, before its last look at the
    // deques; read by who has offered a node.
    std::atomic<bool> wants_helpers_{true};
    // Worker 0; set before its last look, read by who has left something for it.
    std::atomic<bool> is_asleep_;
    // Of worker 0: it waits for what is not ready yet. Its own.
    bool is_patient_ = true;
    alignas(64) std::atomic<bool> done_{false};
};

}  // namespace leat::scheduler
