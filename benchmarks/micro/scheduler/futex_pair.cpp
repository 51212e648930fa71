#include "futex_pair.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bodies.h"

namespace leat::micro {
namespace {

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

FutexPair::FutexPair() : sleeper_([this] { sleep_loop(); }) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    const int own = sched_getcpu();
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1 && own >= 0) {
        CPU_CLR(size_t(own), &cpus);
        pthread_setaffinity_np(sleeper_.native_handle(), sizeof(cpus), &cpus);
    }
}

FutexPair::~FutexPair() {
    stopping_.store(true);
    word_.fetch_add(1);
    futex_wake(word_);
    sleeper_.join();
}

int64_t FutexPair::wake_ns() {
    woken_at_ns_.store(0);
    const int64_t begin = now_ns();
    word_.fetch_add(1);
    futex_wake(word_);
    int64_t woken_at = 0;
    while (woken_at == 0) {
        woken_at = woken_at_ns_.load(std::memory_order_acquire);
    }
    return woken_at - begin;
}

void FutexPair::sleep_loop() {
    uint32_t seen = 0;
    while (!stopping_.load()) {
        while (word_.load() == seen) {
            futex_wait(word_, seen);
        }
        woken_at_ns_.store(now_ns(), std::memory_order_release);
        seen = word_.load();
    }
}

}  // namespace leat::micro
