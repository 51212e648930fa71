// Helpers as oneTBB workers: they come to an arena when there is work and go back to the program's
// other arenas when there is none. Public interface of oneTBB 2021.8 only.
#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "handover.h"
#include "thread_provider.h"

namespace leat::scheduler {
namespace {

namespace tbb = oneapi::tbb;

size_t allowed_parallelism() {
    return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

// Enqueues HelperWork::serve into an arena.
class TbbProvider final : public ThreadProvider {
  public:
    // An arena of our own.
    TbbProvider(HelperWork& work, HelperRange range)
        : work_(work),
          first_(range.first),
          limit_(raised_limit(range)),
          arena_(allowed_helpers(range) + 1, 1),
          numbers_(size_t(allowed_helpers(range))) {}
    // The arena that the calling thread is in.
    TbbProvider(HelperWork& work, HelperRange range, tbb::task_arena::attach /*tag*/)
        : work_(work),
          first_(range.first),
          arena_(tbb::task_arena::attach()),
          numbers_(size_t(std::clamp(arena_.max_concurrency() - 1, 0, range.count))) {}
    // Takes part in what is left in the arena, so this ends also if no worker ever comes: whoever
    // waits for a task there runs those before it.
    ~TbbProvider() noexcept override {
        while (pending_.load(std::memory_order_acquire) > 0) {
            tbb::task_group marker;
            arena_.enqueue(marker.defer([] {}));
            arena_.execute([&marker] { marker.wait(); });
        }
    }
    int helpers() const override { return int(numbers_.size()); }
    int available() noexcept override {
        return std::max(helpers() - pending_.load(std::memory_order_relaxed), 0);
    }

    int recruit(int count) noexcept override {
        int asked = 0;
        try {
            for (; asked < count; ++asked) {
                pending_.fetch_add(1, std::memory_order_relaxed);
                arena_.enqueue([this] { serve(); });
            }
        } catch (...) {  // no memory for a task means fewer helpers
            pending_.fetch_sub(1, std::memory_order_release);
        }
        return asked;
    }

  private:
    // Arenas share the process's threads: the caller and the helpers of all of them.
    static std::optional<tbb::global_control> raised_limit(HelperRange range) {
        const auto wanted = size_t(range.first) + size_t(range.count);
        std::optional<tbb::global_control> limit;
        if (allowed_parallelism() < wanted) {
            limit.emplace(tbb::global_control::max_allowed_parallelism, wanted);
        }
        return limit;
    }
    // Another global_control of the program may be lower. An arena that asks for more than the
    // limit makes oneTBB 2021.8 write a warning to stderr.
    static int allowed_helpers(HelperRange range) {
        return std::clamp(int(allowed_parallelism()) - range.first, 0, range.count);
    }
    void serve() noexcept {
        const auto free = std::find_if(numbers_.begin(), numbers_.end(),
                                       [](SlotFlag& number) { return number.try_take(); });
        if (free != numbers_.end()) {
            work_.serve(first_ + int(free - numbers_.begin()));
            free->free();
        } else {
            work_.decline();
        }
        pending_.fetch_sub(1, std::memory_order_release);  // the last access
    }

    HelperWork& work_;
    const int first_;
    const std::optional<tbb::global_control> limit_;  // of the process, while this lives
    tbb::task_arena arena_;  // one slot is reserved for the thread that waits at the end
    std::vector<SlotFlag> numbers_;
    // Tasks enqueued and not ended. Not a task_group: oneTBB 2022 keeps a part of it with the
    // thread that makes a task, which may be gone before the task runs.
    std::atomic<int> pending_{0};
};

}  // namespace

std::unique_ptr<ThreadProvider> make_tbb_provider(HelperWork& work,
                                                  HelperRange range,
                                                  std::string& note) {
    auto provider = std::make_unique<TbbProvider>(work, range);
    if (provider->helpers() < range.count) {
        note = fmt::format("{} of {} threads: a tbb::global_control of the program allows no more",
                           range.first + provider->helpers(), range.first + range.count);
    }
    return provider;
}

std::unique_ptr<ThreadProvider> make_host_arena_provider(HelperWork& work,
                                                         HelperRange range,
                                                         std::string& note) {
    auto provider = std::make_unique<TbbProvider>(work, range, tbb::task_arena::attach());
    if (provider->helpers() < range.count) {
        note = fmt::format("{} of {} threads: the host's arena has no more",
                           provider->helpers() + 1, range.count + 1);
    }
    return provider;
}

}  // namespace leat::scheduler
