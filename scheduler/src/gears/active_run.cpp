#include "gears/active_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/caught_exception.h"
#include "base/deadline.h"
#include "base/monotonic_clock.h"
#include "threads/crew.h"

namespace leat::scheduler {

constinit thread_local ActiveRun* ActiveRun::t_innermost = nullptr;

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

std::chrono::nanoseconds ActiveRun::longest_sleep() const {
    constexpr std::chrono::nanoseconds kLong = std::chrono::seconds(10);
    // Neither a stop token nor the run around this one wakes a sleeper.
    constexpr std::chrono::nanoseconds kShort = std::chrono::milliseconds(1);
    std::chrono::nanoseconds most = kLong;
    if (control_.deadline) {
        most = std::min(time_until(*control_.deadline), kLong);
    }
    const bool has_silent_end = parent_ != nullptr || control_.stop.stop_possible();
    return has_silent_end ? std::min(most, kShort) : most;
}

int64_t ActiveRun::trace_begin_ns() {
    if (parent_ != nullptr) {
        return parent_->trace_begin_ns();
    }
    int64_t begin_ns = 0;
    const int64_t now_ns = monotonic_ns();
    const bool is_first =
        trace_begin_ns_.compare_exchange_strong(begin_ns, now_ns, std::memory_order_relaxed);
    return is_first ? now_ns : begin_ns;
}

void ActiveRun::cancel_without_error(TaskId task) {
    if (!is_stopping()) {
        cancel(
            make_error(StatusCode::kInternal, "task {} failed and did not say why", int32_t(task)));
    }
}

void ActiveRun::cancel_with_exception(std::string_view what) noexcept {
    cancel(caught_exception(what));
}

void ActiveRun::cancel_with_exception(TaskId task) noexcept {
    std::array<char, 32> name{};
    const auto end = fmt::format_to_n(name.data(), name.size(), "task {}", int32_t(task));
    cancel_with_exception(std::string_view(name.data(), end.size));
}

void ActiveRun::recruit(int most) {
    crew_.recruit(shared_, most);
}

void ActiveRun::hold_helpers() {
    if (shared_ != nullptr) {
        shared_->gate.hold();
    }
}

void ActiveRun::resume_helpers() {
    if (shared_ != nullptr) {
        shared_->gate.resume();
    }
}

int ActiveRun::helpers_inside() const {
    return shared_ != nullptr ? shared_->gate.inside() : 0;
}

bool TaskScope::is_cancelled() const {
    return run_.is_cancelled();
}

bool TaskScope::fail(Status error) {
    run_.cancel(std::move(error));
    return false;
}

}  // namespace leat::scheduler
