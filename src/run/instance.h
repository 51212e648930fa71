// Instance: a plan with addresses: everything that one run touches. Used by one thread at a time,
// but for run_step.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.h"
#include "leat/scheduler/executor.h"
#include "memory/domains/slab.h"
#include "plan/plan.h"
#include "plan/regions/region.h"
#include "run/device_states.h"
#include "run/device_trace.h"
#include "run/plan_addresses.h"
#include "run/request_memory.h"
#include "run/run_observer.h"

namespace leat {

class Instance {
  public:
    Instance(std::shared_ptr<const Plan> plan, int worker_count);
    // What is still on a device comes to its end.
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    // What the steps' kernels keep for this instance; once, before link().
    Status make_states();
    const Plan& plan() const { return *plan_; }
    // Sets every address: buffers in the arena, there also those of devices, and scratch of each
    // worker. After an error all is as it was.
    Status link(RequestMemory& memory);
    // An output without a buffer of its own is copied after the run.
    PlanAddresses& addresses() { return addresses_; }
    const PlanAddresses& addresses() const { return addresses_; }

    Status run(scheduler::Executor& executor, const scheduler::RunControl& control);
    // The same without the calling thread, until it waits for the handle.
    void start(scheduler::RunHandle& handle,
               scheduler::Executor& executor,
               const scheduler::RunControl& control);
    // After a run that was started and waited for, with what came of it: waits for what it has left
    // on devices. Returns the status.
    Status end_run(Status status);
    Status run_task(const StepTask& task, scheduler::TaskScope& scope);
    Status run_step(
        int32_t step, int64_t tile_begin, int64_t tile_end, int worker, RunStop stop) const;
    // Runs all of it on this thread. The first row is that of the step, those behind it are of its
    // bodies.
    Status time_step(int32_t step, std::vector<StepTime>& rows) const;
    const std::shared_ptr<const Slab>& arena() const { return arena_; }
    // True if a run may write some of these bytes, given by address, as its own.
    bool uses_memory(const ByteRange& range) const;
    // Workers that ran a tile since the last call of run().
    int workers_used() const;
    scheduler::RunStats run_stats() const { return state_.run_stats(); }
    // Null: nobody observes the runs.
    RunObserver* observer() const { return observer_.get(); }
    // Of the last run, with the names of the nodes.
    // further: rows of what else ran.
    std::string trace_json(std::span<const scheduler::TraceCounters> counters,
                           const PlacementForecast& forecast,
                           std::span<const scheduler::TraceRow> further = {}) const;
    // The same run as rows of another trace; `name`: of that of its tasks.
    void add_trace(const std::string& name,
                   const PlacementForecast& forecast,
                   std::vector<scheduler::TraceRow>& rows) const;

  private:
    // kDeviceLost in a child of fork() that inherited a device of the plan.
    Status check_devices() const;
    scheduler::TaskFunction begin_run();
    // The body of every task; of two kinds, so that a run which nobody observes looks for no
    // observer.
    template <bool kIsObserved>
    static bool run_tiles(void* self, scheduler::TaskId id, scheduler::TaskScope& scope);
    // As EndSignal::tell.
    static void end_flight(void* self, scheduler::TaskId waiter, scheduler::PointId point);
    KernelArgs args_of(int32_t step, int worker, RunStop stop) const;
    void note_worker(int worker) const;
    Status run_bodies(int32_t step, scheduler::TaskScope& scope) const;
    Status run_device_task(const StepTask& task, int worker);
    std::vector<FlightTime> flights() const;
    std::string task_name(size_t task) const;
    // Devices and bodies.
    DeviceTrace trace_beside_tasks(const PlacementForecast& forecast) const;

    std::shared_ptr<const Plan> plan_;
    PlanAddresses addresses_;
    std::shared_ptr<const Slab> arena_;
    std::vector<std::byte*> scratch_;  // by worker
    std::vector<int32_t> device_steps_;
    std::vector<DeviceBackend*> backends_;  // of bodies' devices, too
    // Which workers ran a tile: written once a run by each, so that the line stays shared.
    mutable std::vector<std::atomic<uint8_t>> worker_ran_;
    scheduler::ProgramState state_;
    std::shared_ptr<RunObserver> observer_;
    // By step; null where it has none. The first to go: what is on a device signals to the others.
    StepStates states_;
    std::vector<KernelState*> host_states_;  // of these, what kernels made
};

}  // namespace leat
