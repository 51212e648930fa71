// Waiter: the one thread of a device that waits for it, and tells others.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/vulkan/device/queue.h"

namespace leat::vulkan {

// Safe to use from any thread. Its thread sleeps while nothing is outstanding, and waits on a
// single semaphore at a time: drivers spin a whole core where they wait for any of several.
class Waiter {
  public:
    // Called on the waiter's thread, once: with success when the point is reached, with the
    // device's error where it never will be. Must not block and not call into this folder.
    using Callback = std::function<void(const Status&)>;

    // All queues that are waited for are of one device.
    Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    // Waits for everything outstanding and joins the thread.
    ~Waiter();

    void on_reached(std::shared_ptr<Queue> queue, uint64_t point, Callback callback);
    // Callbacks that are not called yet.
    size_t outstanding() const;

  private:
    struct Entry {
        std::shared_ptr<Queue> queue;
        uint64_t point = 0;
        Callback callback;
    };

    void run();
    // Waits a while for the earliest point of one queue.
    void wait_for_some(std::unique_lock<std::mutex>& lock);
    // Calls and forgets what is reached or will never be.
    void call_back(std::unique_lock<std::mutex>& lock);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Entry> entries_;
    size_t calling_ = 0;
    bool is_stopping_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace leat::vulkan
