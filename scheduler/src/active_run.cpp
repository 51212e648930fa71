#include "active_run.h"

namespace leat::scheduler {

thread_local ActiveRun* ActiveRun::t_innermost = nullptr;

Status ActiveRun::interruption() const {
    if (parent_ != nullptr && parent_->is_cancelled()) {
        return make_error(StatusCode::kCancelled, "the run that this one is part of was cancelled");
    }
    if (control_.stop.stop_requested()) {
        return make_error(StatusCode::kCancelled, "the run was cancelled by its stop token");
    }
    if (control_.deadline && std::chrono::steady_clock::now() >= *control_.deadline) {
        return make_error(StatusCode::kTimeout, "the deadline of the run passed");
    }
    return {};
}

void ActiveRun::cancel_with_exception(TaskId task) noexcept {
    try {
        throw;
    } catch (const std::exception& error) {
        cancel(make_error(StatusCode::kUserException, "task {} threw: {}", int32_t(task),
                          error.what()));
    } catch (...) {
        cancel(make_error(StatusCode::kUserException, "task {} threw something unknown",
                          int32_t(task)));
    }
}

bool TaskScope::is_cancelled() const {
    return run_.is_cancelled();
}

bool TaskScope::fail(Status error) {
    run_.cancel(std::move(error));
    return false;
}

}  // namespace leat::scheduler
