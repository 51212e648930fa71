// DeviceFlight: what one step of an instance has submitted to a device, until it has ended there.
//
//   fly --> submit ...                              by the host's thread that submits
//             \--> callbacks of the backend --> end: the run is told
//   status --> wait_for_end --> release             by the host's threads that go on
//
// No thread sleeps for it but in wait_for_end, which drains a run that ends early.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "leat/plugin_backend.h"
#include "leat/scheduler/task_dag.h"
#include "machine/device_backend.h"

namespace leat {

// Whom the thread that sees the end of a flight tells, and of what; `tell` null: nobody.
struct EndSignal {
    void (*tell)(void* user, scheduler::TaskId waiter, scheduler::PointId point) = nullptr;
    void* user = nullptr;
    scheduler::TaskId waiter{};
    scheduler::PointId point{};
};

// Used by one thread at a time, but for the callbacks.
class DeviceFlight {
  public:
    // At most so many submissions from fly() to release(), which allocate nothing.
    DeviceFlight(std::shared_ptr<DeviceBackend> backend, int most_submissions);
    DeviceFlight(const DeviceFlight&) = delete;
    DeviceFlight& operator=(const DeviceFlight&) = delete;
    // Cancels what has not begun, and waits for the rest.
    ~DeviceFlight();

    // Inside fly(): calls submit(LeatSubmission&, LeatError*), which returns a code, with the next
    // point of the queue. `waits`: of what was submitted earlier. After an error nothing else may
    // be submitted.
    template <class Submit>
    Result<LeatPoint> submit(int32_t queue,
                             std::span<const LeatPoint> waits,
                             const char* action,
                             const Submit& submit) {
        auto submission = plugin::made<LeatSubmission>();
        submission.wait_count = int32_t(waits.size());
        submission.waits = waits.data();
        submission.request = request_;
        LEAT_ASSIGN_OR_RETURN(const LeatPoint point, backend_->submit(queue, [&](LeatPoint signal) {
            submission.signal = signal;
            PluginError error;
            const LeatCode code = submit(submission, error.get());
            return error.status(code, action);
        }));
        LEAT_RETURN_IF_ERROR(await(point));
        return point;
    }
    // Begins, and calls submit_all(), which returns a Status. Whether or not all goes well: the end
    // comes when what was submitted has ended.
    template <class SubmitAll>
    Status fly(const EndSignal& end, const SubmitAll& submit_all) {
        begin(end);
        const AllSubmitted guard{*this};
        return submit_all();
    }

    // The same, asleep until the end; the first error.
    template <class SubmitAll>
    Status fly_and_wait(const char* action, const SubmitAll& submit_all) {
        Status error = fly({}, submit_all);
        wait_for_end();
        if (error.ok()) {
            error = status(action);
        }
        release();
        return error;
    }

    // That of the last submission.
    LeatPoint point() const { return submitted_[count_ - 1].point; }

    // After the end: why a submission failed; success if none did.
    Status status(const char* action) const;
    // What has not begun fails soon; nothing is waited for.
    void cancel();
    // Sleeps until the end, and until the callbacks are out of this. At once where nothing flies,
    // and in a child of fork(): what flies is its parent's.
    void wait_for_end();
    // After wait_for_end(): the next fly() may come.
    void release();

    // Of the last flight, on monotonic_ns(); 0: there was none.
    int64_t begin_ns() const { return begin_ns_; }
    int64_t end_ns() const { return end_ns_; }

  private:
    // Also where memory runs out.
    struct AllSubmitted {
        DeviceFlight& flight;
        ~AllSubmitted() { flight.end_one(); }
    };
    struct Submitted {
        DeviceFlight* flight = nullptr;
        LeatPoint point{};
        LeatCode code = kLeatOk;
        bool is_told = false;  // false: the backend refused to call back
    };

    void begin(const EndSignal& end);
    static void reached(void* user, LeatCode code);
    Status await(LeatPoint point);
    void end(Submitted& own, LeatCode code);
    void end_one();
    void poll_untold();

    std::shared_ptr<DeviceBackend> backend_;
    const uint64_t request_;  // of the backend's
    EndSignal end_;
    std::vector<Submitted> submitted_;
    size_t count_ = 0;             // of them in use
    std::atomic<int> open_{0};     // that have not ended; and one until all are submitted
    std::atomic<int> failed_{-1};  // the first that did
    int64_t begin_ns_ = 0;
    int64_t end_ns_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_flying_ = false;
};

}  // namespace leat
