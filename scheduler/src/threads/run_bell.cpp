#include "leat/scheduler/run_bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace leat::scheduler {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel reads the word");

}  // namespace

// The system call itself: std::atomic's wait cannot end at a deadline.
void RunBell::wait(uint32_t seen, std::chrono::nanoseconds most) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
    timespec timeout{};
    timeout.tv_sec = time_t(seconds.count());
    timeout.tv_nsec = long((most - seconds).count());  // NOLINT(google-runtime-int): its type
    ::syscall(SYS_futex, &events_, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void RunBell::ring() {
    events_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
        ::syscall(SYS_futex, &events_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
}

}  // namespace leat::scheduler
