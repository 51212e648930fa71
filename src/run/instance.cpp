#include "run/instance.h"

#include <algorithm>
#include <utility>

namespace leat {

Instance::Instance(std::shared_ptr<const Plan> plan, int worker_count)
    : plan_(std::move(plan)),
      args_(plan_->work.args),
      buffers_(plan_->memory.layout.plan.offsets.size()),
      args_of_buffer_(plan_->memory.layout.plan.offsets.size()),
      args_of_input_(plan_->key.shapes.size()),
      inputs_(plan_->key.shapes.size()),
      worker_ran_(size_t(worker_count)),
      state_(plan_->program.compiled) {
    for (int64_t count : plan_->storage.string_counts) {
        strings_.emplace_back(size_t(count));
    }
    for (size_t i = 0; i < args_.size(); ++i) {
        const Storage& storage = plan_->storage.args[i];
        if (storage.kind == Storage::Kind::kArena) {
            args_of_buffer_[size_t(storage.index)].push_back(int32_t(i));
        } else if (storage.kind == Storage::Kind::kInput) {
            args_of_input_[size_t(storage.index)].push_back(int32_t(i));
        } else if (storage.kind == Storage::Kind::kStrings) {
            args_[i].data = reinterpret_cast<std::byte*>(strings_[size_t(storage.index)].data());
        }
    }
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
    const std::vector<DeviceMemory>& memories = plan_->work.devices.memories;
    std::vector<std::shared_ptr<DeviceSlab>> slabs(memories.size());
    for (size_t i = 0; i < slabs.size(); ++i) {
        if (memories[i].size_bytes > 0) {
            LEAT_ASSIGN_OR_RETURN(
                slabs[i], DeviceSlab::allocate(memories[i].part->place().backend,
                                               memories[i].part->domain(), memories[i].size_bytes));
        }
    }
    states_.resize(plan_->work.steps.size());
    for (size_t s = 0; s < states_.size(); ++s) {
        const DeviceStep* device = plan_->work.steps[s].device;
        if (device != nullptr && device->is_submitted) {
            device_steps_.push_back(int32_t(s));
        }
    }
    return make_states(slabs, /*are_in_arena=*/false, states_);
}

Status Instance::make_states(std::span<const std::shared_ptr<DeviceSlab>> slabs,
                             bool are_in_arena,
                             StepStates& states) const {
    const DevicePlan& devices = plan_->work.devices;
    for (size_t s = 0; s < states.size(); ++s) {
        const PlanStep& step = plan_->work.steps[s];
        if (step.device == nullptr) {
            continue;
        }
        const DeviceUse& use = devices.uses[size_t(step.device_use)];
        if (devices.memory_of(use).is_arena != are_in_arena) {
            continue;
        }
        Result<std::unique_ptr<DeviceStepState>> state = step.device->make_state(
            {slabs[size_t(use.memory)], use.offsets, plan_->program.is_traced});
        if (!state.ok()) {
            return std::move(state).error().with_node(step.node->label());
        }
        (*state)->waits.reserve(use.follows.size());
        states[s] = std::move(state).value();
    }
    return {};
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
    LEAT_RETURN_IF_ERROR(make_states(slabs, /*are_in_arena=*/true, states));
    for (size_t s = 0; s < states.size(); ++s) {
        if (states[s] != nullptr) {
            states_[s] = std::move(states[s]);
        }
    }
    arena_ = memory.arena();
    scratch_.assign(memory.scratch().begin(), memory.scratch().end());
    for (size_t b = 0; b < buffers_.size(); ++b) {
        buffers_[b] = arena_->data() + plan_->memory.layout.plan.offsets[b];
        for (int32_t arg : args_of_buffer_[b]) {
            args_[size_t(arg)].data = buffers_[b] + offset_bytes(arg);
        }
    }
    return {};
}

void Instance::set_input(int input, const std::byte* data) {
    inputs_[size_t(input)] = data;
    for (int32_t arg : args_of_input_[size_t(input)]) {
        // Inputs are only read.
        args_[size_t(arg)].data = const_cast<std::byte*>(data) + offset_bytes(arg);
    }
}

bool Instance::set_output(int output, std::byte* data) {
    const Storage& storage = plan_->storage.outputs[size_t(output)].storage;
    if (!plan_->storage.outputs[size_t(output)].fills_buffer) {
        return false;
    }
    const auto buffer = size_t(storage.index);
    std::byte* address =
        data != nullptr ? data : arena_->data() + plan_->memory.layout.plan.offsets[buffer];
    if (buffers_[buffer] != address) {
        buffers_[buffer] = address;
        for (int32_t arg : args_of_buffer_[buffer]) {
            args_[size_t(arg)].data = address + offset_bytes(arg);
        }
    }
    return true;
}

KernelArgs Instance::args_of(int32_t step, int worker) const {
    const PlanStep& at = plan_->work.steps[size_t(step)];
    const std::span<const TensorArg> args(args_);
    return {args.subspan(size_t(at.first_arg), size_t(at.input_count)),
            args.subspan(size_t(at.first_arg) + size_t(at.input_count), size_t(at.output_count)),
            scratch_[size_t(worker)], states_[size_t(step)].get()};
}

Status Instance::run_step(int32_t step, int64_t tile_begin, int64_t tile_end, int worker) const {
    std::atomic<uint8_t>& ran = worker_ran_[size_t(worker)];
    if (ran.load(std::memory_order_relaxed) == 0) {
        ran.store(1, std::memory_order_relaxed);
    }
    const PlanStep& at = plan_->work.steps[size_t(step)];
    Status status = at.kernel->run(args_of(step, worker), tile_begin, tile_end);
    return status.ok() ? Status() : std::move(status).with_node(at.node->label());
}

Status Instance::run_task(const StepTask& task, const scheduler::TaskScope& scope) {
    return task.kind == StepTask::Kind::kHost
               ? run_step(task.step, scope.tile_begin(), scope.tile_end(), scope.worker())
               : run_device_task(task, scope.worker());
}

Status Instance::run_device_task(const StepTask& task, int worker) {
    const PlanStep& step = plan_->work.steps[size_t(task.step)];
    if (step.device == nullptr) {
        return {};  // the host's step has ended: an observer has signalled its point
    }
    const KernelArgs args = args_of(task.step, worker);
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
    for (const DeviceMemory& memory : plan_->work.devices.memories) {
        LEAT_RETURN_IF_ERROR(memory.part->place().backend->check_process());
    }
    return {};
}

scheduler::TaskFunction Instance::begin_run() {
    for (std::atomic<uint8_t>& ran : worker_ran_) {
        ran.store(0, std::memory_order_relaxed);
    }
    if (!check_devices().ok()) {  // an observer may call the backends, too: the first task tells
        return {[](void* self, scheduler::TaskId /*id*/, scheduler::TaskScope& scope) {
                    return scope.fail(static_cast<Instance*>(self)->check_devices());
                },
                this};
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

std::string Instance::trace_json(std::span<const scheduler::TraceCounters> counters,
                                 const PlacementForecast& forecast) const {
    std::vector<std::string> names;
    names.reserve(plan_->program.tasks.size());
    for (const StepTask& task : plan_->program.tasks) {
        std::string& name = names.emplace_back();
        if (task.kind == StepTask::Kind::kSubmit) {
            name = "submit ";
        } else if (task.kind == StepTask::Kind::kFinish) {
            name = "finish ";
        }
        name += trace_name(*plan_->work.steps[size_t(task.step)].node);
    }
    const DeviceTrace devices = device_trace(*plan_, flights(), forecast, state_.trace().begin_ns);
    return state_.trace_json(names, {counters, devices.rows, devices.arrows});
}

bool Instance::uses_memory(const ByteRange& range) const {
    const auto meets = [&range](const void* data, int64_t bytes) {
        const auto begin = int64_t(reinterpret_cast<uintptr_t>(data));
        return range.meets({begin, begin + bytes});
    };
    return meets(arena_->data(), arena_->size_bytes()) ||
           std::any_of(strings_.begin(), strings_.end(), [&](const std::vector<std::string>& all) {
               return meets(all.data(), int64_t(all.size() * sizeof(std::string)));
           });
}

const std::byte* Instance::output_data(int output) const {
    const Storage& storage = plan_->storage.outputs[size_t(output)].storage;
    switch (storage.kind) {
        case Storage::Kind::kArena:
            return buffers_[size_t(storage.index)] + storage.offset_bytes;
        case Storage::Kind::kStrings:
            return reinterpret_cast<const std::byte*>(strings_[size_t(storage.index)].data());
        case Storage::Kind::kInput:
            return inputs_[size_t(storage.index)] + storage.offset_bytes;
        case Storage::Kind::kConstant:
            return plan_->work.constants[size_t(storage.index)].bytes();
        case Storage::Kind::kNone:
            break;
    }
    return nullptr;
}

}  // namespace leat
