#include "team.h"

#include <pthread.h>

#include <utility>

#include "bodies.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace leat::micro {
namespace {

// Longer than the gap between runs that are back to back, shorter than what an idle test notices.
constexpr int64_t kSpinNs = 200'000;

void bind(pthread_t thread, size_t cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(thread, sizeof(one), &one);
}

}  // namespace

void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__) || defined(__arm__)
    asm volatile("yield");
#endif
}

Team::Team(int threads, std::function<void(int)> work) : work_(std::move(work)) {
    CPU_ZERO(&allowed_);
    for (int helper = 1; helper < threads; ++helper) {
        helpers_.emplace_back([this, helper] { help(helper); });
    }
}

Team::~Team() {
    stopping_.store(true, std::memory_order_relaxed);
    start();
    for (std::thread& helper : helpers_) {
        helper.join();
    }
}

void Team::start() {
    starts_.fetch_add(1, std::memory_order_release);
    starts_.notify_all();
}

void Team::help(int helper) {
    int seen = 0;
    while (true) {
        const int64_t give_up = now_ns() + kSpinNs;
        while (starts_.load(std::memory_order_acquire) == seen && now_ns() < give_up) {
            for (int i = 0; i < 32 && starts_.load(std::memory_order_relaxed) == seen; ++i) {
                spin_pause();
            }
        }
        starts_.wait(seen, std::memory_order_acquire);
        seen = starts_.load(std::memory_order_acquire);
        if (stopping_.load(std::memory_order_relaxed)) {
            return;
        }
        work_(helper);
    }
}

void Team::bind_cpus() {
    CPU_ZERO(&allowed_);
    if (helpers_.empty() || sched_getaffinity(0, sizeof(allowed_), &allowed_) != 0 ||
        size_t(CPU_COUNT(&allowed_)) <= helpers_.size()) {
        CPU_ZERO(&allowed_);
        return;
    }
    const int own = sched_getcpu();
    bind(pthread_self(), size_t(own));
    size_t next = 0;
    for (std::thread& helper : helpers_) {
        while (!CPU_ISSET(next, &allowed_) || int(next) == own) {
            ++next;
        }
        bind(helper.native_handle(), next++);
    }
}

void Team::release_cpus() {
    if (CPU_COUNT(&allowed_) > 0) {
        pthread_setaffinity_np(pthread_self(), sizeof(allowed_), &allowed_);
    }
}

}  // namespace leat::micro
