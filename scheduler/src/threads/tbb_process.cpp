#include "threads/tbb_process.h"

#include <oneapi/tbb/info.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace leat::scheduler {
namespace {

namespace tbb = oneapi::tbb;

// Lives for ever: children of fork() ask it.
constinit std::atomic<TbbProcess*> g_process{nullptr};

// oneTBB initialises itself when it is first used, and each of its threads when that begins: with a
// few KiB, for which allocators take address space, the GNU C library's 64 MiB for each thread. It
// does not survive a failure of the first: the flag of the attempt stays, and the next one waits
// for it for ever. A thread that has no memory ends the process.
constexpr size_t kRoomBytes = size_t{16} << 20;
constexpr size_t kRoomOfThreadBytes = size_t{72} << 20;

bool has_room(int threads) {
    const size_t bytes = kRoomBytes + size_t(threads) * kRoomOfThreadBytes;
    void* const room =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return false;
    }
    ::munmap(room, bytes);
    return true;
}

// How many more threads the system gives at once, with the memory that the C library takes for one
// that allocates; 0 if nothing is left beside them.
int spare_threads(int most) {
    std::mutex all_there;
    std::unique_lock lock(all_there);
    std::vector<std::thread> threads;
    try {
        threads.reserve(size_t(most));
        while (int(threads.size()) < most) {
            threads.emplace_back([&all_there] {
                void* volatile memory = std::malloc(1);
                std::free(memory);
                const std::lock_guard wait(all_there);
            });
        }
    } catch (const std::exception&) {
        // No more.
    }
    const bool is_enough = has_room(int(threads.size()));
    lock.unlock();
    for (std::thread& thread : threads) {
        thread.join();
    }
    return is_enough ? int(threads.size()) : 0;
}

// Another global_control of the program may be lower. An arena that asks for more than the limit
// makes oneTBB 2021.8 write a warning to stderr.
int allowed_threads() {
    return int(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

}  // namespace

TbbProcess* TbbProcess::find() {
    return g_process.load(std::memory_order_acquire);
}

TbbProcess* TbbProcess::get() {
    if (TbbProcess* const process = find(); process != nullptr) {
        return process;
    }
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (find() == nullptr && has_room(1)) {
        g_process.store(new (std::nothrow) TbbProcess, std::memory_order_release);
    }
    return find();
}

TbbProcess::TbbProcess() : default_threads_(tbb::info::default_concurrency()) {}

TbbProcess::Grant TbbProcess::grant(int callers, int helpers) {
    const std::lock_guard lock(mutex_);
    const auto wish = wishes_.insert(callers + helpers);
    try {
        adjust();
    } catch (...) {
        wishes_.erase(wish);
        throw;
    }
    Grant grant{*wish, std::clamp(allowed_threads() - callers, 0, helpers), {}};
    if (grant.helpers < helpers) {
        grant.lack = "oneTBB or a tbb::global_control of the program allows no more";
    }
    // All arenas at once, as far as that is allowed.
    const int wanted = std::min(helpers_ + grant.helpers, allowed_threads() - 1);
    const int threads = threads_for(wanted);
    if (threads < wanted && threads - helpers_ < grant.helpers) {
        grant.helpers = std::max(threads - helpers_, 0);
        grant.lack = "the system gives oneTBB no more";
    }
    helpers_ += grant.helpers;
    return grant;
}

void TbbProcess::give_back(const Grant& grant) noexcept {
    const std::lock_guard lock(mutex_);
    helpers_ -= grant.helpers;
    wishes_.erase(wishes_.find(grant.wish));
    try {
        adjust();
    } catch (const std::bad_alloc&) {
        // More may stay allowed than is needed.
    }
}

int TbbProcess::threads_for(int wanted) const {
    const int more = wanted - started();
    return more > 0 ? started() + spare_threads(more) : wanted;
}

bool TbbProcess::can_have(int threads) {
    const std::lock_guard lock(mutex_);
    return threads_for(threads) >= threads;
}

void TbbProcess::note_started(int threads) {
    int before = started();
    while (before < threads &&
           !started_.compare_exchange_weak(before, threads, std::memory_order_relaxed)) {
    }
}

// The smallest of all controls of a process counts. So one that is needed no more goes after the
// next one has come, and never is it lower than without any.
void TbbProcess::adjust() {
    const int wanted = wishes_.empty() ? 0 : *wishes_.rbegin();
    const int threads = wanted > default_threads_ ? wanted : 0;
    if (threads == controlled_threads_) {
        return;
    }
    std::unique_ptr<tbb::global_control> next;
    if (threads > 0) {
        next = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     size_t(threads));
    }
    control_ = std::move(next);
    controlled_threads_ = threads;
}

// Destroying the control would take locks that a thread of oneTBB may have held.
void TbbProcess::after_fork_in_child() noexcept {
    keep_for_ever(control_.release());
    controlled_threads_ = 0;
    wishes_.clear();
    mutex_.unlock();
}

}  // namespace leat::scheduler
