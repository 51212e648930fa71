#include "failing_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace leat::testing_support {
namespace {

constinit std::atomic<bool> g_is_armed{false};
constinit std::atomic<int> g_given{0};
constinit std::atomic<int> g_refused{0};

}  // namespace

ThreadFault::ThreadFault(int given) {
    g_given = given;
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
    using leat::testing_support::g_given;
    using leat::testing_support::g_is_armed;
    using leat::testing_support::g_refused;
    static const auto kReal =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (g_is_armed && g_given.fetch_sub(1) <= 0) {
        ++g_refused;
        return EAGAIN;
    }
    return kReal(thread, attributes, start, argument);
}
