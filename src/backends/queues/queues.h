// The queues of a backend: a thread for each one in use, which begins its submissions in order, and
// one thread that makes callbacks. What may begin, and how points complete, is the ledger's.
//
//     host --submit--> Ledger --begin--> queue's thread --Work::run--> host's or device's memory
//                        ^                    | done: 0                     | on the device: a
//                        point
//                        +------- end --------+<----- Work::on_ended -------+
//                        | points complete
//                        +--> CallbackThread --> host
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/queues/callback_thread.h"
#include "backends/queues/ledger.h"

namespace leat::queues {

// What a device that simulates faults does to submissions; nothing by default.
struct SubmissionFaults {
    std::chrono::microseconds delay{0};  // before each one's work
    int64_t lost_submission = 0;         // number of the one that loses its device; 0: none
    int64_t failed_submission = 0;       // of the one whose point completes with an error; 0: none
    // 0: each waits for `delay`; else for a part of it that the seed draws by queue and point.
    uint64_t delay_seed = 0;

    std::chrono::microseconds delay_before(LeatPoint signal) const;
};

struct QueueOptions {
    int32_t device_count = 1;
    int32_t queues_per_device = 1;  // numbered device by device
    SubmissionFaults faults;
    Plants plants;
};

// Thread-safe; throws where a queue does not exist. The destructor lets the submissions end whose
// waits can still be reached, fails the others, makes the last callbacks and joins the threads.
class Queues {
  public:
    explicit Queues(const QueueOptions& options);
    Queues(const Queues&) = delete;
    Queues& operator=(const Queues&) = delete;
    ~Queues();

    // Throws, and nothing is submitted.
    void submit(const LeatSubmission& submission, std::unique_ptr<Work> work);
    uint64_t value(int32_t queue) const;
    // False: pending. Throws what the point failed with.
    bool is_reached(LeatPoint point) const;
    void on_reached(LeatPoint point, LeatReached callback, void* user);
    void fail(int32_t queue, const Outcome& outcome);
    void forget_failures(int32_t queue, uint64_t value);
    void cancel(uint64_t request);
    int64_t open_submissions() const;

    // For a device with a clock of its own. `changed` is called after each change of what
    // is_settled() says, perhaps with the queues' lock held; before the first submission.
    void watch(const std::function<void()>& changed);
    // True: every submission that can begin has, and is on the device, and no callback is due or
    // running. So nothing happens until the device ends something or the host calls.
    bool is_settled() const;
    // A callback for post(), which needs nothing any more that the system may refuse.
    Callbacks prepare(LeatReached callback, void* user);
    // Makes a callback, on the thread of the others.
    void post(Callbacks& prepared, LeatCode code);

  private:
    using Lock = std::unique_lock<std::mutex>;

    // All of these with the lock held. On threads of the queues none of them throws.
    void start_thread(int32_t queue);
    void run_queue(int32_t queue);
    // Sets the flight's outcome and device point. Gives the lock back meanwhile.
    void run_work(Lock& lock, Flight& flight);
    // Gives the lock back meanwhile.
    void end_on_device(Lock& lock, Flight& flight);
    // Ends the whole device where the outcome says so.
    void end(Flight& flight, const Outcome& outcome);
    // After every change of the ledger.
    void tell();

    const QueueOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Ledger ledger_;
    int64_t submissions_ = 0;
    bool is_stopping_ = false;
    std::function<void()> watcher_;  // may be empty
    Callbacks pending_;
    CallbackThread callbacks_;
    std::vector<std::thread> threads_;  // by queue
};

}  // namespace leat::queues
