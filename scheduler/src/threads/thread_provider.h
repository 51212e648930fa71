// ThreadProvider: brings helper threads to the executor. It passes no data between threads: see
// handover.h.
#pragma once

#include <memory>
#include <string>

namespace leat::scheduler {

// What a helper thread does when it arrives. serve() is called by any number of threads at once,
// never throws, and returns when nothing is left to do. No two threads inside serve() have the same
// `helper`.
class HelperWork {
  public:
    virtual void serve(int helper) noexcept = 0;
    // A thread that was recruited will not come.
    virtual void decline() noexcept = 0;

  protected:
    ~HelperWork() = default;
};

// Destruction waits until no thread is, or will be, inside serve().
class ThreadProvider {
  public:
    virtual ~ThreadProvider() = default;
    // Most threads that can be inside serve() at once.
    virtual int helpers() const = 0;
    // Helpers that are neither inside serve() nor on their way, as far as known: one that is just
    // leaving may not be counted yet.
    virtual int available() noexcept = 0;
    // Asks for `count` more threads to enter serve() soon and returns at once. Thread-safe;
    // allocates nothing that it does not keep for the next call. Returns how many were asked for:
    // fewer when the system refuses. For each of them serve() or decline() is called once, and not
    // for others.
    virtual int recruit(int count) noexcept = 0;

    // As for ForkAware (base/at_fork.h), by who uses the provider.
    virtual void before_fork() noexcept {}
    virtual void after_fork_in_parent() noexcept {}
    // Nobody is inside serve() or on the way any more. False: no helper will ever come.
    virtual bool after_fork_in_child() noexcept = 0;
};

// Numbers of a provider's helpers: [first, first + count).
struct HelperRange {
    int first = 1;
    int count = 0;
};

// A child of fork() does not have the threads that oneTBB has in its parent, and oneTBB does not
// know it: there the providers below that are oneTBB's have no helpers. Only of a parent that made
// such a provider itself.
bool has_inherited_tbb();

// `note` tells why there are fewer helpers than asked for. They throw std::bad_alloc, and nothing
// else, where there is no memory for the provider itself.
std::unique_ptr<ThreadProvider> make_tbb_provider(HelperWork& work,
                                                  HelperRange range,
                                                  std::string& note);
// The arena that the calling thread is in, with its limits.
std::unique_ptr<ThreadProvider> make_host_arena_provider(HelperWork& work,
                                                         HelperRange range,
                                                         std::string& note);
std::unique_ptr<ThreadProvider> make_std_thread_provider(HelperWork& work,
                                                         HelperRange range,
                                                         std::string& note);

}  // namespace leat::scheduler
