#include "run/instance.h"

#include <algorithm>
#include <utility>

#include "base/monotonic_clock.h"
#include "run/device_states.h"
#include "run/region_run.h"
#include "run/step_times.h"
#include "run/task_stop.h"

namespace leat {
namespace {

// Takes times of a region's bodies until the end of the scope; null: there are no bodies.
class TimedBodies {
  public:
    explicit TimedBodies(RegionState* region) : region_(region) {
        if (region_ != nullptr) {
            region_->set_timing(true);
        }
    }
    ~TimedBodies() {
        if (region_ != nullptr) {
            region_->set_timing(false);
        }
    }
    TimedBodies(const TimedBodies&) = delete;
    TimedBodies& operator=(const TimedBodies&) = delete;

    Status add_times(std::vector<StepTime>& rows) const {
        return region_ == nullptr ? Status() : region_->add_times("", rows);
    }

  private:
    RegionState* const region_;
};

}  // namespace

Instance::Instance(std::shared_ptr<const Plan> plan, int worker_count)
    : plan_(std::move(plan)),
      addresses_(*plan_),
      worker_ran_(size_t(worker_count)),
      state_(plan_->program.compiled) {
    if (plan_->program.make_observer) {
        observer_ = plan_->program.make_observer();
    }
}

Instance::~Instance() {
    if (observer_ != nullptr) {
        observer_->end();
    }
}

Status Instance::make_states() {
    states_.resize(plan_->work.steps.size());
    for (size_t s = 0; s < states_.size(); ++s) {
        const PlanStep& step = plan_->work.steps[s];
        if (step.device != nullptr && step.device->is_submitted) {
            device_steps_.push_back(int32_t(s));
        }
    }
    LEAT_RETURN_IF_ERROR(make_host_states(*plan_, states_, host_states_));
    add_backends(*plan_, backends_);
    return make_device_states(*plan_, states_);
}

Status Instance::link(RequestMemory& memory) {
    const std::vector<DeviceMemory>& memories = plan_->work.devices.memories;
    std::vector<std::shared_ptr<DeviceSlab>> slabs(memories.size());
    for (size_t i = 0; i < slabs.size(); ++i) {
        if (memories[i].is_arena) {
            LEAT_ASSIGN_OR_RETURN(slabs[i], memory.arena_of(*memories[i].part));
        }
    }
    StepStates states(plan_->work.devices.uses.empty() ? 0 : plan_->work.steps.size());
    LEAT_RETURN_IF_ERROR(make_device_states(*plan_, slabs, /*are_in_arena=*/true, states));
    for (size_t s = 0; s < states.size(); ++s) {
        if (states[s] != nullptr) {
            states_[s] = std::move(states[s]);
        }
    }
    arena_ = memory.arena();
    scratch_.assign(memory.scratch().begin(), memory.scratch().end());
    addresses_.link(arena_->data());
    for (int32_t i = 0; size_t(i) < plan_->storage.grown_shapes.size(); ++i) {
        addresses_.set_grown(i, memory.grown(size_t(i)));
    }
    link_regions(*plan_, states_, arena_->data());
    return {};
}

KernelArgs Instance::args_of(int32_t step, int worker, RunStop stop) const {
    const PlanStep& at = plan_->work.steps[size_t(step)];
    return {addresses_.inputs_of(at),
            addresses_.outputs_of(at),
            scratch_[size_t(worker)],
            states_[size_t(step)].get(),
            plan_->work.own_memory_of(at, arena_->data()),
            stop};
}

void Instance::note_worker(int worker) const {
    std::atomic<uint8_t>& ran = worker_ran_[size_t(worker)];
    if (ran.load(std::memory_order_relaxed) == 0) {
        ran.store(1, std::memory_order_relaxed);
    }
}

Status Instance::run_step(
    int32_t step, int64_t tile_begin, int64_t tile_end, int worker, RunStop stop) const {
    note_worker(worker);
    const PlanStep& at = plan_->work.steps[size_t(step)];
    Status status = at.kernel->run(args_of(step, worker, stop), tile_begin, tile_end);
    return status.ok() ? Status() : std::move(status).with_node(at.node->label());
}

Status Instance::run_task(const StepTask& task, scheduler::TaskScope& scope) {
    switch (task.kind) {
        case StepTask::Kind::kHost:
            return run_step(task.step, scope.tile_begin(), scope.tile_end(), scope.worker(),
                            stop_of(&scope));
        case StepTask::Kind::kBodies:
            return run_bodies(task.step, scope);
        case StepTask::Kind::kSubmit:
        case StepTask::Kind::kFinish:
            break;
    }
    return run_device_task(task, scope.worker());
}

Status Instance::time_step(int32_t step, std::vector<StepTime>& rows) const {
    const PlanStep& at = plan_->work.steps[size_t(step)];
    LEAT_ASSIGN_OR_RETURN(rows.emplace_back(), step_time(plan_->work, at, 1));
    const TimedBodies bodies(at.region == nullptr ? nullptr
                                                  : &Region::state_of(*states_[size_t(step)]));
    if (states_[size_t(step)] != nullptr) {
        states_[size_t(step)]->begin_run();
    }
    const int64_t begin_ns = monotonic_ns();
    LEAT_RETURN_IF_ERROR(run_step(step, 0, at.kernel->tile_count, 0, {}));
    rows.front().time_ns = monotonic_ns() - begin_ns;
    return bodies.add_times(rows);
}

Status Instance::run_bodies(int32_t step, scheduler::TaskScope& scope) const {
    note_worker(scope.worker());
    const KernelArgs args = args_of(step, scope.worker(), {});
    Status status = Region::state_of(*args.state).run(args, &scope);
    return status.ok() ? Status()
                       : std::move(status).with_node(plan_->work.steps[size_t(step)].node->label());
}

Status Instance::run_device_task(const StepTask& task, int worker) {
    const PlanStep& step = plan_->work.steps[size_t(task.step)];
    if (step.device == nullptr) {
        return {};  // the host's step has ended: an observer has signalled its point
    }
    const KernelArgs args = args_of(task.step, worker, {});
    Status status;
    if (task.kind == StepTask::Kind::kFinish) {
        status = step.device->finish(args);
    } else {
        std::vector<LeatPoint>& waits = DeviceStep::state_of(*args.state).waits;
        waits.clear();
        for (const int32_t before : plan_->work.use_of(step).follows) {
            waits.push_back(DeviceStep::state_of(*states_[size_t(before)]).flight.point());
        }
        status = step.device->submit(args, {end_flight, this, task.finish, task.point});
    }
    return status.ok() ? Status() : std::move(status).with_node(step.node->label());
}

// The observer first: it knows of the task that becomes ready before anybody runs it.
void Instance::end_flight(void* self, scheduler::TaskId waiter, scheduler::PointId point) {
    auto& instance = *static_cast<Instance*>(self);
    if (instance.observer_ != nullptr) {
        instance.observer_->point_reached(waiter);
    }
    instance.state_.signal(point, 1);
}

Status Instance::check_devices() const {
    for (DeviceBackend* const backend : backends_) {
        LEAT_RETURN_IF_ERROR(backend->check_process());
    }
    return {};
}

scheduler::TaskFunction Instance::begin_run() {
    for (std::atomic<uint8_t>& ran : worker_ran_) {
        ran.store(0, std::memory_order_relaxed);
    }
    for (KernelState* const state : host_states_) {
        state->begin_run();
    }
    if (!check_devices().ok()) {  // an observer may call the backends, too: the first task tells
        return {[](void* self, scheduler::TaskId /*id*/, scheduler::TaskScope& scope) {
                    return scope.fail(static_cast<Instance*>(self)->check_devices());
                },
                this};
    }
    if (plan_->program.is_traced) {
        for_each_region(*plan_, states_, [](const PlanStep& /*step*/, RegionState& region) {
            region.clear_trace();
        });
    }
    if (observer_ == nullptr) {
        return {run_tiles<false>, this};
    }
    observer_->begin(state_);
    return {run_tiles<true>, this};
}

template <bool kIsObserved>
bool Instance::run_tiles(void* self, scheduler::TaskId id, scheduler::TaskScope& scope) {
    auto& instance = *static_cast<Instance*>(self);
    Status status = instance.run_task(instance.plan_->program.tasks[size_t(id)], scope);
    if constexpr (kIsObserved) {
        instance.observer_->tiles_ended(id, scope.tile_end() - scope.tile_begin());
    }
    return status.ok() || scope.fail(std::move(status));
}

Status Instance::run(scheduler::Executor& executor, const scheduler::RunControl& control) {
    return end_run(executor.run(state_, begin_run(), control));
}

// Memory of the run may be used again when nothing of it flies any more.
Status Instance::end_run(Status status) {
    if (observer_ != nullptr) {
        observer_->end();
    }
    if (device_steps_.empty() && observer_ == nullptr) {
        return status;
    }
    for (const int32_t step : device_steps_) {
        if (!status.ok()) {
            DeviceStep::state_of(*states_[size_t(step)]).flight.cancel();
        }
    }
    for (const int32_t step : device_steps_) {
        DeviceFlight& flight = DeviceStep::state_of(*states_[size_t(step)]).flight;
        flight.wait_for_end();
        flight.release();
    }
    // What ended after the run has moved them.
    state_.reset_points();
    return status;
}

void Instance::start(scheduler::RunHandle& handle,
                     scheduler::Executor& executor,
                     const scheduler::RunControl& control) {
    executor.start(handle, state_, begin_run(), control);
}

int Instance::workers_used() const {
    return int(std::count_if(worker_ran_.begin(), worker_ran_.end(), [](const auto& ran) {
        return ran.load(std::memory_order_relaxed) != 0;
    }));
}

// From submission to end, in the last run.
std::vector<FlightTime> Instance::flights() const {
    const int64_t begin_ns = state_.trace().begin_ns;
    std::vector<FlightTime> flights;
    for (const int32_t index : device_steps_) {
        const DeviceStepState& state = DeviceStep::state_of(*states_[size_t(index)]);
        const DeviceFlight& flight = state.flight;
        if (flight.begin_ns() >= begin_ns && flight.end_ns() >= flight.begin_ns()) {
            flights.push_back({index, flight.begin_ns(), flight.end_ns(), state.inner_times()});
        }
    }
    return flights;
}

std::string Instance::task_name(size_t task) const {
    const StepTask& of = plan_->program.tasks[task];
    const char* const kind = of.kind == StepTask::Kind::kSubmit   ? "submit "
                             : of.kind == StepTask::Kind::kFinish ? "finish "
                                                                  : "";
    return kind + trace_name(*plan_->work.steps[size_t(of.step)].node);
}

DeviceTrace Instance::trace_beside_tasks(const PlacementForecast& forecast) const {
    DeviceTrace trace = device_trace(*plan_, flights(), forecast, state_.trace().begin_ns);
    for_each_region(*plan_, states_, [&trace](const PlanStep& /*step*/, RegionState& region) {
        region.add_trace("", trace.rows);
    });
    return trace;
}

std::string Instance::trace_json(std::span<const scheduler::TraceCounters> counters,
                                 const PlacementForecast& forecast,
                                 std::span<const scheduler::TraceRow> further) const {
    std::vector<std::string> names(plan_->program.tasks.size());
    for (size_t task = 0; task < names.size(); ++task) {
        names[task] = task_name(task);
    }
    DeviceTrace beside = trace_beside_tasks(forecast);
    beside.rows.insert(beside.rows.end(), further.begin(), further.end());
    return state_.trace_json(names, {counters, beside.rows, beside.arrows});
}

void Instance::add_trace(const std::string& name,
                         const PlacementForecast& forecast,
                         std::vector<scheduler::TraceRow>& rows) const {
    scheduler::TraceRow tasks{name, {}, false};
    for (const scheduler::TaskEvent& event : state_.trace().events) {
        tasks.spans.push_back({task_name(size_t(event.task)), event.begin_ns, event.end_ns});
    }
    if (!tasks.spans.empty()) {
        rows.push_back(std::move(tasks));
    }
    for (scheduler::TraceRow& row : trace_beside_tasks(forecast).rows) {
        row.name += " in " + name;
        rows.push_back(std::move(row));
    }
}

bool Instance::uses_memory(const ByteRange& range) const {
    const auto begin = int64_t(reinterpret_cast<uintptr_t>(arena_->data()));
    return range.meets({begin, begin + arena_->size_bytes()}) || addresses_.has_elements_in(range);
}

}  // namespace leat
