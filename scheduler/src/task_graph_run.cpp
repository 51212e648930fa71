// Runs of an instance.
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/monotonic_clock.h"
#include "program_impl.h"
#include "task_graph_instance.h"

namespace leat::scheduler::detail {
namespace {

Status call_body(NodeBody& body, const NodeCall& call) {
    try {
        return body.call(call);
    } catch (const std::bad_alloc&) {
        return out_of_memory("no memory left to run the node");
    } catch (const std::exception& error) {
        return make_error(StatusCode::kUserException, "threw: {}", error.what());
    } catch (...) {
        return make_error(StatusCode::kUserException, "threw something unknown");
    }
}

}  // namespace

// --- tasks ---

Status InstanceData::stop_reason() const {
    for (const InstanceData* instance = this; instance != nullptr; instance = instance->parent_) {
        if (instance->is_failed_.load(std::memory_order_relaxed)) {
            return make_error(StatusCode::kCancelled, "another node of the run failed");
        }
    }
    if (root_->is_cancelled_.load(std::memory_order_relaxed)) {
        return make_error(StatusCode::kCancelled, "the run was cancelled by its handle");
    }
    if (control().stop.stop_requested()) {
        return make_error(StatusCode::kCancelled, "the run was cancelled by its stop token");
    }
    if (control().deadline && std::chrono::steady_clock::now() >= *control().deadline) {
        return make_error(StatusCode::kTimeout, "the deadline of the run passed");
    }
    return {};
}

Status InstanceData::call_node(int32_t node, TaskScope* scope) {
    const NodePlan& plan = plan_->nodes[size_t(node)];
    ValueSlot& slot = slots_[node];
    NodeScope node_scope(*this, node, scope);
    const NodeInputs inputs = {slots_.get(), plan_->inputs.data() + plan.first_input};
    Status status =
        call_body(*plan.body, {node_scope, inputs, plan.has_value ? slot.address : nullptr});
    if (!status.ok()) {
        return std::move(status).with_node(path_of(node));
    }
    if (node_scope.was_told_) [[unlikely]] {
        if (plan.has_value) {
            graph_->nodes[size_t(node)].type.destroy(slot.address);
        }
        status = stop_reason();
        return status.ok() ? make_error(StatusCode::kCancelled, "the run was cancelled") : status;
    }
    // Readers see this because they start later.
    slot.readers_left.store(plan.readers, std::memory_order_relaxed);
    slot.is_alive = plan.has_value;
    release_inputs(plan);
    return {};
}

// Destroys the values that nobody else reads. Memory ordering: the last reader sees what the other
// readers did with the value (acq_rel).
void InstanceData::release_inputs(const NodePlan& plan) {
    for (int32_t i = 0; i < plan.input_count; ++i) {
        const int32_t producer = plan_->inputs[size_t(plan.first_input) + size_t(i)];
        const NodePlan& from = plan_->nodes[size_t(producer)];
        ValueSlot& slot = slots_[producer];
        if (!from.is_kept &&
            (from.readers == 1 || slot.readers_left.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
            destroy(slot, producer);
        }
    }
}

Status InstanceData::call_task(const TaskPlan& task, TaskScope& scope) {
    switch (task.phase) {
        case TaskPhase::kPost:
            return plan_->pool->post(*jobs_[size_t(plan_->nodes[size_t(task.node)].job)], group_);
        case TaskPhase::kFinish:
            return finish_job(*jobs_[size_t(plan_->nodes[size_t(task.node)].job)]);
        default:
            return call_node(task.node, &scope);
    }
}

bool InstanceData::run_task(void* context, TaskId task, TaskScope& scope) {
    auto& self = *static_cast<InstanceData*>(context);
    if (self.root_->is_cancelled_.load(std::memory_order_relaxed)) [[unlikely]] {
        return scope.fail(self.stop_reason());
    }
    Status status = self.call_task(self.plan_->tasks[size_t(task)], scope);
    if (!status.ok()) [[unlikely]] {
        scope.fail(std::move(status));
        self.is_failed_.store(true, std::memory_order_relaxed);
        return false;
    }
    return true;
}

// In a thread of the blocking pool. Other jobs learn of a failure at once: the run itself may hear
// of it only after them.
void InstanceData::run_job(NodeJob& job) noexcept {
    const int32_t node = job.plan().node;
    job.status = stop_reason();
    job.was_skipped = !job.status.ok();
    if (!job.was_skipped) {
        const int64_t begin_ns = job_trace_ != nullptr ? monotonic_ns() : 0;
        job.status = call_node(node, nullptr);
        const std::lock_guard lock(job_mutex_);
        if (job_trace_ != nullptr) {
            job_trace_->record(node, begin_ns, monotonic_ns());
        }
        if (!job.status.ok() && job_error_.ok()) {
            job_error_ = job.status;
            is_failed_.store(true, std::memory_order_relaxed);
        }
    }
    state_->signal(job.plan().point, 1);
}

// The task that follows a job: what the run learns of it.
Status InstanceData::finish_job(NodeJob& job) {
    if (job.was_skipped) {
        const std::lock_guard lock(job_mutex_);
        if (!job_error_.ok()) {
            return job_error_;
        }
    }
    return std::move(job.status);
}

// --- runs ---

TaskFunction InstanceData::task_function() {
    return {&run_task, this};
}

Status InstanceData::begin() {
    if (is_running_.exchange(true, std::memory_order_acquire)) {
        return make_error(StatusCode::kBusy, "this graph or instance is already running")
            .with_hint("make_instance() gives values of their own to runs at the same time");
    }
    for (const int32_t source : plan_->sources) {
        ValueSlot& slot = slots_[source];
        if (!slot.is_alive) {
            is_running_.store(false, std::memory_order_release);
            return invalid_argument("a source without a value")
                .with_node(path_of(source))
                .with_hint("set(source, value) before each run");
        }
        slot.readers_left.store(plan_->nodes[size_t(source)].readers, std::memory_order_relaxed);
    }
    for (const int32_t node : plan_->results) {
        destroy(slots_[node], node);
    }
    is_failed_.store(false, std::memory_order_relaxed);
    job_error_ = Status();
    return {};
}

void InstanceData::begin_root(Executor& executor, const RunControl& control) {
    executor_ = &executor;
    control_ = control;
    is_cancelled_.store(false, std::memory_order_relaxed);
    if (plan_->is_traced) {
        clear_job_trace();
    }
}

Status InstanceData::end(Status status) {
    if (plan_->pool != nullptr) {
        plan_->pool->wait(group_);
        if (!status.ok() && !jobs_.empty()) {
            // Jobs may have signalled after the run: its points are not 0 again.
            state_->reset_points();
        }
    }
    if (!status.ok()) {
        destroy_after_failure();
    }
    is_running_.store(false, std::memory_order_release);
    return status;
}

// A run that failed keeps nothing but the sources that are results too.
void InstanceData::destroy_after_failure() {
    for (int32_t node = 0; node < int32_t(plan_->nodes.size()); ++node) {
        const NodePlan& plan = plan_->nodes[size_t(node)];
        if (plan.body != nullptr || !plan.is_kept || slots_[node].is_borrowed) {
            destroy(slots_[node], node);
        }
    }
}

Status InstanceData::run(Executor& executor, const RunControl& control) {
    LEAT_RETURN_IF_ERROR(begin());
    begin_root(executor, control);
    return end(executor.run(*state_, task_function(), control_));
}

Status InstanceData::run_nested(TaskScope& task) {
    LEAT_RETURN_IF_ERROR(begin());
    return end(task.run(*state_, task_function()));
}

Status InstanceData::start(Executor& executor, const RunControl& control) {
    LEAT_RETURN_IF_ERROR(begin());
    begin_root(executor, control);
    number_.fetch_add(1, std::memory_order_relaxed);
    is_started_.store(true, std::memory_order_release);
    const std::lock_guard lock(handle_mutex_);
    handle_.emplace(executor.start(*state_, task_function(), control_));
    return {};
}

void InstanceData::cancel(int64_t number) {
    if (this->number() != number || !is_started_.load(std::memory_order_acquire)) {
        return;
    }
    is_cancelled_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(handle_mutex_);
    if (handle_) {
        handle_->cancel();
    }
}

Status InstanceData::finish() {
    std::optional<RunHandle> handle;
    {
        const std::lock_guard lock(handle_mutex_);
        handle.swap(handle_);
    }
    last_status_ = end(handle->wait());
    is_started_.store(false, std::memory_order_release);
    return last_status_;
}

Status InstanceData::wait(int64_t number) {
    const std::lock_guard lock(finish_mutex_);
    if (this->number() != number) {
        return not_found("this run has ended, and another one has begun since");
    }
    return is_started_.load(std::memory_order_acquire) ? finish() : last_status_;
}

void InstanceData::cancel_and_wait() {
    cancel(number());
    const std::lock_guard lock(finish_mutex_);
    if (is_started_.load(std::memory_order_acquire)) {
        (void)finish();
    }
}

}  // namespace leat::scheduler::detail
