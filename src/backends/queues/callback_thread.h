// The thread of a backend that makes the host's callbacks, one after the other, without locks.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "leat/plugin_backend.h"

namespace leat::queues {

// What the host asked to be told. It moves from list to list, which needs no memory.
struct Callback {
    LeatPoint point{};
    LeatReached function = nullptr;
    void* user = nullptr;
    LeatCode code = kLeatOk;
};
using Callbacks = std::list<Callback>;

// Thread-safe, apart from start(). The destructor makes what is posted and joins the thread.
class CallbackThread {
  public:
    CallbackThread() = default;
    CallbackThread(const CallbackThread&) = delete;
    CallbackThread& operator=(const CallbackThread&) = delete;
    ~CallbackThread();

    // Before the first post(), so that only calls of the host make threads. Again: does nothing.
    void start();
    // Called by the thread, without locks, whenever it has made what was posted. Before start().
    void watch(std::function<void()> idle) { on_idle_ = std::move(idle); }
    // Nothing is posted that has not returned.
    bool is_idle() const;
    // Takes one of the list.
    void post(Callbacks& from, Callbacks::iterator callback);

  private:
    void run();

    std::function<void()> on_idle_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Callbacks posted_;
    bool is_calling_ = false;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace leat::queues
