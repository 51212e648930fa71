// Lets the system refuse threads, to all that is in the process: a program that links
// failing_threads.cpp has its pthread_create replaced, also for shared libraries. Not with a
// sanitizer, which replaces it too.
#pragma once

namespace leat::testing_support {

// While this lives, at most `given` of the threads that are begun meanwhile live at once. One at a
// time.
class ThreadFault {
  public:
    explicit ThreadFault(int given);
    ThreadFault(const ThreadFault&) = delete;
    ThreadFault& operator=(const ThreadFault&) = delete;
    ~ThreadFault();

    // How many were refused.
    int refused() const;
};

}  // namespace leat::testing_support
