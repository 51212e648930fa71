#include "runtime/instance.h"

#include <algorithm>

namespace leat {

Instance::Instance(std::shared_ptr<const Plan> plan, int worker_count)
    : plan_(std::move(plan)),
      args_(plan_->args),
      buffers_(plan_->layout.plan.offsets.size()),
      args_of_buffer_(plan_->layout.plan.offsets.size()),
      args_of_input_(plan_->key.shapes.size()),
      inputs_(plan_->key.shapes.size()),
      worker_ran_(size_t(worker_count)),
      state_(*plan_->program) {
    for (int64_t count : plan_->string_counts) {
        strings_.emplace_back(size_t(count));
    }
    for (size_t i = 0; i < args_.size(); ++i) {
        const Storage& storage = plan_->arg_storage[i];
        if (storage.kind == Storage::Kind::kArena) {
            args_of_buffer_[size_t(storage.index)].push_back(int32_t(i));
        } else if (storage.kind == Storage::Kind::kInput) {
            args_of_input_[size_t(storage.index)].push_back(int32_t(i));
        } else if (storage.kind == Storage::Kind::kStrings) {
            args_[i].data = reinterpret_cast<std::byte*>(strings_[size_t(storage.index)].data());
        }
    }
}

Status Instance::make_states() {
    states_.reserve(plan_->steps.size());
    for (const PlanStep& step : plan_->steps) {
        Result<std::unique_ptr<KernelState>> state = step.kernel->make_state();
        if (!state.ok()) {
            return std::move(state).error().with_node(step.node->label());
        }
        states_.push_back(std::move(state).value());
    }
    return {};
}

void Instance::link(std::shared_ptr<const Slab> arena, std::span<std::byte* const> scratch) {
    arena_ = std::move(arena);
    scratch_.assign(scratch.begin(), scratch.end());
    for (size_t b = 0; b < buffers_.size(); ++b) {
        buffers_[b] = arena_->data() + plan_->layout.plan.offsets[b];
        for (int32_t arg : args_of_buffer_[b]) {
            args_[size_t(arg)].data = buffers_[b] + offset_bytes(arg);
        }
    }
}

void Instance::set_input(int input, const std::byte* data) {
    inputs_[size_t(input)] = data;
    for (int32_t arg : args_of_input_[size_t(input)]) {
        // Inputs are only read.
        args_[size_t(arg)].data = const_cast<std::byte*>(data) + offset_bytes(arg);
    }
}

bool Instance::set_output(int output, std::byte* data) {
    const Storage& storage = plan_->outputs[size_t(output)].storage;
    if (!plan_->outputs[size_t(output)].fills_buffer) {
        return false;
    }
    const auto buffer = size_t(storage.index);
    std::byte* address =
        data != nullptr ? data : arena_->data() + plan_->layout.plan.offsets[buffer];
    if (buffers_[buffer] != address) {
        buffers_[buffer] = address;
        for (int32_t arg : args_of_buffer_[buffer]) {
            args_[size_t(arg)].data = address + offset_bytes(arg);
        }
    }
    return true;
}

Status Instance::run_step(int32_t step, int64_t tile_begin, int64_t tile_end, int worker) const {
    std::atomic<uint8_t>& ran = worker_ran_[size_t(worker)];
    if (ran.load(std::memory_order_relaxed) == 0) {
        ran.store(1, std::memory_order_relaxed);
    }
    const PlanStep& at = plan_->steps[size_t(step)];
    const std::span<const TensorArg> args(args_);
    const KernelArgs kernel_args{
        args.subspan(size_t(at.first_arg), size_t(at.input_count)),
        args.subspan(size_t(at.first_arg) + size_t(at.input_count), size_t(at.output_count)),
        scratch_[size_t(worker)], states_[size_t(step)].get()};
    Status status = at.kernel->run(kernel_args, tile_begin, tile_end);
    return status.ok() ? Status() : std::move(status).with_node(at.node->label());
}

Status Instance::run_task(const StepTask& task, const scheduler::TaskScope& scope) const {
    if (task.kind == StepTask::Kind::kWhole) {
        return run_step(task.step, scope.tile_begin(), scope.tile_end(), scope.worker());
    }
    if (task.kind == StepTask::Kind::kJoint) {
        return {};
    }
    const HostKernel& kernel = *plan_->steps[size_t(task.step)].kernel;
    for (int64_t first = 0; first < kernel.tile_count; first += kernel.column_tiles()) {
        LEAT_RETURN_IF_ERROR(
            run_step(task.step, first + task.tile_begin, first + task.tile_end, scope.worker()));
    }
    return {};
}

scheduler::TaskFunction Instance::begin_run() {
    for (std::atomic<uint8_t>& ran : worker_ran_) {
        ran.store(0, std::memory_order_relaxed);
    }
    return {[](void* self, scheduler::TaskId id, scheduler::TaskScope& scope) {
                const auto& instance = *static_cast<const Instance*>(self);
                const StepTask& task = instance.plan_->tasks[size_t(id)];
                Status status = instance.run_task(task, scope);
                return status.ok() || scope.fail(std::move(status));
            },
            this};
}

Status Instance::run(scheduler::Executor& executor, const scheduler::RunControl& control) {
    return executor.run(state_, begin_run(), control);
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

std::string Instance::trace_json(std::span<const scheduler::TraceCounters> counters) const {
    std::vector<std::string> names;
    names.reserve(plan_->tasks.size());
    for (const StepTask& task : plan_->tasks) {
        const NodeData& node = *plan_->steps[size_t(task.step)].node;
        names.push_back(node.name.empty() ? node.op_type : node.name + " (" + node.op_type + ")");
    }
    return state_.trace_json(names, counters);
}

const std::byte* Instance::output_data(int output) const {
    const Storage& storage = plan_->outputs[size_t(output)].storage;
    switch (storage.kind) {
        case Storage::Kind::kArena:
            return buffers_[size_t(storage.index)] + storage.offset_bytes;
        case Storage::Kind::kStrings:
            return reinterpret_cast<const std::byte*>(strings_[size_t(storage.index)].data());
        case Storage::Kind::kInput:
            return inputs_[size_t(storage.index)] + storage.offset_bytes;
        case Storage::Kind::kConstant:
            return plan_->constants[size_t(storage.index)].bytes();
        case Storage::Kind::kNone:
            break;
    }
    return nullptr;
}

}  // namespace leat
