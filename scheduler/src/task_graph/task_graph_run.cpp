// Runs of an instance.
#include <chrono>
#include <utility>

#include "base/caught_exception.h"
#include "base/error.h"
#include "base/monotonic_clock.h"
#include "base/out_of_memory.h"
#include "task_graph/task_graph_instance.h"

namespace leat::scheduler::detail {
namespace {

Status call_body(NodeBody& body, const NodeCall& call) {
    try {
        return body.call(call);
    } catch (...) {
        return caught_exception("");
    }
}

}  // namespace

Status busy() {
    return make_error(StatusCode::kBusy, "this graph or instance is already running")
        .with_hint("make_instance() gives values of their own to runs at the same time");
}

// --- tasks ---

Status InstanceData::stop_reason() const {
    for (const InstanceData* instance = this; instance != nullptr; instance = instance->parent_) {
        if (instance->is_failed_.load(std::memory_order_relaxed)) {
            return make_error(StatusCode::kCancelled, "another node of the run failed");
        }
    }
    if (root_->is_cancelled_.load(std::memory_order_relaxed)) {
        return make_error(StatusCode::kCancelled, "the run was cancelled by {}",
                          root_->use_.is_closed()    ? "the end of its graph or instance"
                          : root_->outer_ != nullptr ? "its handle, or with the run around it"
                                                     : "its handle");
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
        return at(node, std::move(status));
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
        const InsideNode inside(*this);
        job.status = call_node(node, nullptr);
        const std::lock_guard lock(job_mutex_);
        if (job_trace_ != nullptr) {
            job_trace_->record(node, begin_ns, monotonic_ns());
        }
        if (!job.status.ok() && job_error_.ok()) {
            job_error_ = copy_or_bare(job.status);
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
            return copy_or_bare(job_error_);
        }
    }
    return std::move(job.status);
}

// --- runs ---

TaskFunction InstanceData::task_function() {
    return {&run_task, this};
}

Status InstanceData::begin() {
    for (const int32_t source : plan_->sources) {
        ValueSlot& slot = slots_[source];
        if (!slot.is_alive) {
            return at(source, invalid_argument("a source without a value")
                                  .with_hint("set(source, value) before each run"));
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

Status InstanceData::begin_root(Executor& executor, const RunControl& control) {
    LEAT_RETURN_IF_ERROR(begin());
    executor_ = &executor;
    control_ = control;
    if (plan_->is_traced) {
        clear_job_trace();
    }
    enter_outer();
    return {};
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
    return status;
}

// Before the turn is given back: who cancels what has ended must not meet the next run.
Status InstanceData::end_root(Status status) {
    status = end(std::move(status));
    leave_outer();
    is_cancelled_.store(false, std::memory_order_relaxed);
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
    LEAT_RETURN_IF_ERROR(begin_root(executor, control));
    return end_root(executor.run(*state_, task_function(), control_));
}

Status InstanceData::run_nested(TaskScope& task) {
    LEAT_RETURN_IF_ERROR(begin());
    return end(task.run(*state_, task_function()));
}

Result<int64_t> InstanceData::start(UseScope& turn, Executor& executor, const RunControl& control) {
    LEAT_RETURN_IF_ERROR(begin_root(executor, control));
    std::optional<RunHandle> handle;
    Status status = catch_bad_alloc("start a task graph", [&]() -> Status {
        handle = executor.start(*state_, task_function(), control_);
        return {};
    });
    if (!status.ok()) {
        return end_root(std::move(status));
    }
    turn.keep();
    const std::lock_guard lock(mutex_);
    handle_ = std::move(handle);
    return ++number_;
}

void InstanceData::cancel(int64_t number) {
    const std::lock_guard lock(mutex_);
    if (handle_ && number_ == number) {
        stop_while_locked();
    }
}

void InstanceData::stop() {
    const std::lock_guard lock(mutex_);
    stop_while_locked();
}

void InstanceData::stop_while_locked() {
    is_cancelled_.store(true, std::memory_order_relaxed);
    if (handle_) {
        handle_->cancel();
    }
    for (InstanceData* run = first_inner_; run != nullptr; run = run->next_inner_) {
        run->stop();
    }
}

// The handle stays until the run has ended: it may be cancelled meanwhile.
Status InstanceData::finish() {
    Status status = handle_->wait();
    {
        const std::lock_guard lock(mutex_);
        handle_.reset();
    }
    last_status_ = end_root(std::move(status));
    use_.end();
    return copy_or_bare(last_status_);
}

Status InstanceData::wait(int64_t number) {
    if (is_inside()) {
        return invalid_argument("a node waits for the end of the run that it is in");
    }
    const std::lock_guard lock(finish_mutex_);
    bool is_started = false;
    {
        const std::lock_guard inner_lock(mutex_);
        if (number_ != number) {
            return not_found("this run has ended, and another one has begun since");
        }
        is_started = handle_.has_value();
    }
    return is_started ? finish() : copy_or_bare(last_status_);
}

void InstanceData::cancel_and_wait(int64_t number) {
    check_outside();
    cancel(number);
    (void)wait(number);
}

void InstanceData::close() {
    check_outside();
    use_.close();
    stop();
    {
        const std::lock_guard lock(finish_mutex_);
        bool is_started = false;
        {
            const std::lock_guard inner_lock(mutex_);
            is_started = handle_.has_value();
        }
        if (is_started) {
            (void)finish();
        }
    }
    use_.wait_until_free();
}

}  // namespace leat::scheduler::detail
