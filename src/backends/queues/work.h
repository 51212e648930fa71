// Work: what one submission does. The seam between the queues and what executes: the host's thread
// that calls run(), or a device that run() hands the work to.
#pragma once

#include <cstdint>
#include <functional>
#include <new>
#include <span>

#include "backends/queues/outcome.h"

namespace leat::queues {

// A point of the device's own queue that stands behind a queue of the host.
struct DevicePoint {
    uint64_t point = 0;
    int32_t queue = -1;  // the host's number
};

// When work may begin, once everything in front of it in its queue has begun.
enum class Start : uint8_t {
    kWhenIdle,    // all that the queue did before has ended, and its waits are reached
    kAfterWaits,  // its waits are reached; it lines up on the device
    kWaitsThere,  // its waits are reached or in flight on its device, which keeps them
};

class Work {
  public:
    using Ended = std::function<void(const Outcome&)>;

    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    // Before the submission's point is reached, with the queues' lock held.
    virtual ~Work() = default;

    virtual Start start() const { return Start::kWhenIdle; }
    // False while other work still uses what it needs. Called with the queues' lock held.
    virtual bool is_ready() const { return true; }
    // On the queue's thread, without locks. Returns the point of the device's queue that ends it,
    // or 0 where all is done; throws where it fails. `waits`: what the device has to wait for,
    // empty unless start() is kWaitsThere.
    virtual uint64_t run(std::span<const DevicePoint> waits) = 0;
    // Calls `ended` once, on another thread and later than this call: when the point that run()
    // returned is reached, or never will be. `ended` destroys this. Throws where there is no memory
    // for that: `ended` is not called then, and await() is.
    virtual void on_ended(uint64_t /*point*/, const Ended& /*ended*/) {}
    // On the queue's thread, without locks: returns when the point is reached and all is done;
    // throws where it fails.
    virtual void await(uint64_t /*point*/) { throw std::bad_alloc(); }
    // A planned fault, in place of run(): the device is lost. Throws that.
    virtual void lose_device() { throw plugin::Error(kLeatDeviceLost, "the device is lost"); }
};

}  // namespace leat::queues
