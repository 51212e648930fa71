// VirtualQueue: a RequestQueue whose thread holds the virtual clock, too, so that no time passes
// between the end of one run and the begin of the next.
//
// From the first submit() until take() has left the queue empty time passes inside of take() only:
// that lends the hold to the oldest run, whose last task gives it back. The thread may not wait for
// anything else on such a device meanwhile: it would wait in vain. The graph is one of a
// clocked_runtime().
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "leat/request_queue.h"
#include "support/virtual_clock/run_clock.h"

namespace leat::testing_support {

// As RequestQueue.
class VirtualQueue {
  public:
    static Result<VirtualQueue> make(const CompiledGraph& graph,
                                     const RequestQueueOptions& options = {});
    ~VirtualQueue() { give_up_hold(); }
    VirtualQueue(VirtualQueue&&) = default;
    VirtualQueue& operator=(VirtualQueue&&) = delete;

    int depth() const { return queue_.depth(); }
    int in_flight() const { return queue_.in_flight(); }
    bool is_empty() const { return queue_.is_empty(); }
    bool is_full() const { return queue_.is_full(); }
    Request& next() { return queue_.next(); }
    Status submit(const RunOptions& options = {});
    Result<Request*> take();

    // That of this thread's submit(); null outside of it.
    static VirtualQueue* submitting();
    // By the clock of the run that submit() begins, before it does anything.
    void run_begins(std::shared_ptr<RunClock> clock);

  private:
    explicit VirtualQueue(RequestQueue queue) : queue_(std::move(queue)) {}
    void give_up_hold();

    RequestQueue queue_;
    std::deque<std::shared_ptr<RunClock>> runs_;  // in flight; null: without a clock
    // Of a run, that the thread has a hold of, also when the run is over; null: none.
    std::shared_ptr<RunClock> holder_;
};

}  // namespace leat::testing_support
