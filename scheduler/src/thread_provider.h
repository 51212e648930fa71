// ThreadProvider: brings helper threads to the executor. It passes no data between threads: see
// handover.h.
#pragma once

#include <memory>
#include <string>

namespace leat::scheduler {

// What a helper thread does when it arrives. serve() is called by any number of threads at once,
// never throws, and returns when nothing is left to do. `helper` is in [0, helpers], 0 only while
// the provider is destroyed, and no two threads inside serve() have the same one.
class HelperWork {
  public:
    virtual void serve(int helper) noexcept = 0;

  protected:
    ~HelperWork() = default;
};

// Destruction waits until no thread is, or will be, inside serve().
class ThreadProvider {
  public:
    virtual ~ThreadProvider() = default;
    // Most threads that can be inside serve() at once.
    virtual int helpers() const = 0;
    // Asks for `count` more threads to enter serve() soon and returns at once. Thread-safe;
    // allocates nothing that it does not keep for the next call. Returns how many were asked for:
    // fewer when the system refuses.
    virtual int recruit(int count) noexcept = 0;
};

// `note` tells why there are fewer helpers than asked for.
std::unique_ptr<ThreadProvider> make_tbb_provider(HelperWork& work, int helpers, std::string& note);
std::unique_ptr<ThreadProvider> make_std_thread_provider(HelperWork& work,
                                                         int helpers,
                                                         std::string& note);

}  // namespace leat::scheduler
