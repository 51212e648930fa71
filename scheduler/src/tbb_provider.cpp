// Helpers as oneTBB workers: they come to our arena when there is work and go back to the program's
// other arenas when there is none. Public interface of oneTBB 2021.8 only.
#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "thread_provider.h"

namespace leat::scheduler {
namespace {

namespace tbb = oneapi::tbb;

size_t allowed_parallelism() {
    return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

// Slot of the calling thread in its arena. Slot 0 is reserved for the thread that waits at the end,
// so workers have 1, 2, ...: the number of the helper.
int current_slot() {
    return tbb::this_task_arena::current_thread_index();
}

class TbbProvider final : public ThreadProvider {
  public:
    TbbProvider(HelperWork& work, int helpers, std::string& note) : work_(work) {
        const auto wanted = size_t(helpers) + 1;
        if (allowed_parallelism() < wanted) {
            limit_.emplace(tbb::global_control::max_allowed_parallelism, wanted);
        }
        // Another global_control of the program may be lower. An arena that asks for more than the
        // limit makes oneTBB 2021.8 write a warning to stderr.
        const size_t threads = std::max<size_t>(std::min(wanted, allowed_parallelism()), 1);
        if (threads < wanted) {
            note =
                fmt::format("{} of {} threads: a tbb::global_control of the program allows no more",
                            threads, wanted);
        }
        helpers_ = int(threads) - 1;
        if (helpers_ > 0) {
            arena_.initialize(int(threads), 1);
        }
    }
    // Takes part in what is left in the arena, so this ends also if no worker ever comes: whoever
    // waits for a task there runs those before it.
    ~TbbProvider() noexcept override {
        while (pending_.load(std::memory_order_acquire) > 0) {
            tbb::task_group marker;
            arena_.enqueue(marker.defer([] {}));
            arena_.execute([&marker] { marker.wait(); });
        }
    }
    int helpers() const override { return helpers_; }

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
    void serve() noexcept {
        work_.serve(current_slot());
        pending_.fetch_sub(1, std::memory_order_release);  // the last access
    }

    HelperWork& work_;
    int helpers_ = 0;
    std::optional<tbb::global_control> limit_;
    tbb::task_arena arena_{tbb::task_arena::automatic};
    // Tasks enqueued and not ended. Not a task_group: oneTBB 2022 keeps a part of it with the
    // thread that makes a task, which may be gone before the task runs.
    std::atomic<int> pending_{0};
};

}  // namespace

std::unique_ptr<ThreadProvider> make_tbb_provider(HelperWork& work,
                                                  int helpers,
                                                  std::string& note) {
    return std::make_unique<TbbProvider>(work, helpers, note);
}

}  // namespace leat::scheduler
