#include "failing_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <new>

namespace leat::testing_support {
namespace {

constinit std::atomic<bool> g_is_armed{false};
constinit std::atomic<int> g_left{0};
constinit std::atomic<int> g_refused{0};

// A thread that counts while it lives.
struct CountedThread {
    void* (*start)(void*);
    void* argument;
};

void* run_counted(void* counted) {
    const CountedThread thread = *static_cast<CountedThread*>(counted);
    delete static_cast<CountedThread*>(counted);
    void* const result = thread.start(thread.argument);
    ++g_left;
    return result;
}

}  // namespace

ThreadFault::ThreadFault(int given) {
    g_left = given;
    g_refused = 0;
    g_is_armed = true;
}

ThreadFault::~ThreadFault() {
    g_is_armed = false;
}

int ThreadFault::refused() const {
    return g_refused;
}

}  // namespace leat::testing_support

// As the system's, and in its place.
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*start)(void*),
                              void* argument) {
    namespace faults = leat::testing_support;
    static const auto kReal =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (!faults::g_is_armed) {
        return kReal(thread, attributes, start, argument);
    }
    auto* const counted = faults::g_left.fetch_sub(1) > 0
                              ? new (std::nothrow) faults::CountedThread{start, argument}
                              : nullptr;
    if (counted == nullptr) {
        ++faults::g_left;
        ++faults::g_refused;
        return EAGAIN;
    }
    return kReal(thread, attributes, faults::run_counted, counted);
}
