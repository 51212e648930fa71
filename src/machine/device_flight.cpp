#include "machine/device_flight.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/monotonic_clock.h"

namespace leat {
namespace {

// Between two looks at a submission of whose end the backend does not tell.
constexpr std::chrono::microseconds kPollInterval{100};

}  // namespace

DeviceFlight::DeviceFlight(std::shared_ptr<DeviceBackend> backend, int most_submissions)
    : backend_(std::move(backend)),
      request_(backend_->new_request()),
      submitted_(size_t(most_submissions)) {}

DeviceFlight::~DeviceFlight() {
    cancel();
    wait_for_end();
    release();
}

void DeviceFlight::begin(const EndSignal& end) {
    LEAT_CHECK(count_ == 0, "a flight that begins with {} submissions", count_);
    end_ = end;
    failed_.store(-1, std::memory_order_relaxed);
    open_.store(1, std::memory_order_relaxed);
    begin_ns_ = monotonic_ns();
    is_flying_ = true;  // no callback can come yet
}

// Asks to be told of the end. The submission is in flight, whatever comes of it.
Status DeviceFlight::await(LeatPoint point) {
    LEAT_CHECK(count_ < submitted_.size(), "more than {} submissions", submitted_.size());
    Submitted& own = submitted_[count_++];
    own = {this, point, kLeatOk, true};
    open_.fetch_add(1, std::memory_order_relaxed);
    PluginError error;
    const LeatCode code =
        backend_->api().on_reached(backend_->handle(), point, reached, &own, error.get());
    own.is_told = code == kLeatOk;
    return error.status(code, "be told of the end of a run");
}

void DeviceFlight::reached(void* user, LeatCode code) {
    auto& own = *static_cast<Submitted*>(user);
    own.flight->end(own, code);
}

void DeviceFlight::end(Submitted& own, LeatCode code) {
    if (code != kLeatOk) {
        own.code = code;
        int none = -1;
        failed_.compare_exchange_strong(none, int(&own - submitted_.data()),
                                        std::memory_order_release, std::memory_order_relaxed);
    }
    end_one();
}

void DeviceFlight::end_one() {
    if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    end_ns_ = monotonic_ns();
    if (end_.tell != nullptr) {
        end_.tell(end_.user, end_.waiter, end_.point);
    }
    // Under the lock to the end: who waits may destroy this as soon as it has the lock.
    const std::lock_guard lock(mutex_);
    is_flying_ = false;
    changed_.notify_all();
}

Status DeviceFlight::status(const char* action) const {
    const int failed = failed_.load(std::memory_order_acquire);
    if (failed < 0) {
        return {};
    }
    const Submitted& own = submitted_[size_t(failed)];
    PluginError error;
    (void)backend_->api().poll(backend_->handle(), own.point, error.get());  // for the text
    return error.status(own.code, action);
}

void DeviceFlight::cancel() {
    bool is_flying = false;
    {
        const std::lock_guard lock(mutex_);
        is_flying = is_flying_;
    }
    // Without the lock: a backend may hold its own while it calls back.
    if (is_flying && !backend_->is_inherited()) {
        PluginError error;
        (void)backend_->api().cancel(backend_->handle(), request_, error.get());
    }
}

// Only after a fault of the backend: its memory may not be used before the end.
void DeviceFlight::poll_untold() {
    for (size_t i = 0; i < count_; ++i) {
        Submitted& own = submitted_[i];
        if (std::exchange(own.is_told, true)) {
            continue;
        }
        PluginError error;
        LeatCode code = kLeatPending;
        while ((code = backend_->api().poll(backend_->handle(), own.point, error.get())) ==
               kLeatPending) {
            std::this_thread::sleep_for(kPollInterval);
        }
        end(own, code);
    }
}

void DeviceFlight::wait_for_end() {
    if (backend_->is_inherited()) {
        return;
    }
    poll_untold();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_flying_; });
}

void DeviceFlight::release() {
    if (count_ > 0) {
        backend_->retire(int64_t(count_), failed_.load(std::memory_order_acquire) >= 0);
        count_ = 0;
    }
}

}  // namespace leat
