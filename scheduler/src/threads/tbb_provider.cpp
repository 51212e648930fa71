// Helpers as oneTBB workers: they come to an arena when there is work and go back to the program's
// other arenas when there is none. Public interface of oneTBB 2021.8 only.
//
// What oneTBB cannot do for lack of memory or threads it throws, sometimes after it took the task,
// and some of what it began so stays half done. So an arena is made and initialised before anybody
// has it, and a task finds the provider through an Entrance that it keeps alive.
#include <fmt/core.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/at_fork.h"
#include "threads/handover.h"
#include "threads/spin.h"
#include "threads/tbb_process.h"
#include "threads/thread_provider.h"

namespace leat::scheduler {
namespace {

namespace tbb = oneapi::tbb;

constexpr std::string_view kOnlyInParent =
    "the others are oneTBB's, which a child of fork() does not have";

// For threads that oneTBB starts: other arenas may have them.
constexpr std::chrono::milliseconds kPatience{50};

// Where tasks ask for work. Expects as many as were asked for, whichever they are: one that oneTBB
// took though it threw may come instead of another one.
class Entrance {
  public:
    Entrance(HelperWork& work, HelperRange range)
        : work_(work), first_(range.first), numbers_(size_t(range.count)) {
        gate_.open(kMostTasks);
    }

    int helpers() const { return int(numbers_.size()); }
    int expected() const { return expected_.load(std::memory_order_relaxed); }
    int inside() const { return gate_.inside(); }
    void expect_one() { expected_.fetch_add(1, std::memory_order_relaxed); }
    // False: it has come.
    bool expect_one_less() {
        int expected = expected_.load(std::memory_order_relaxed);
        while (expected > 0) {
            if (expected_.compare_exchange_weak(expected, expected - 1,
                                                std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    // By a task. What is behind `work` is touched by expected tasks only, and not after close().
    void enter() noexcept {
        if (!gate_.try_enter()) {
            return;
        }
        if (expect_one_less()) {
            serve();
        }
        gate_.leave();
    }
    // Nobody comes in any more; waits for those inside.
    void close() {
        gate_.close();
        Backoff backoff;
        while (!gate_.is_empty()) {
            backoff.pause();
        }
    }

  private:
    static constexpr int kMostTasks = 0xffff;

    void serve() noexcept {
        const auto free = std::find_if(numbers_.begin(), numbers_.end(),
                                       [](SlotFlag& number) { return number.try_take(); });
        if (free != numbers_.end()) {
            work_.serve(first_ + int(free - numbers_.begin()));
            free->free();
        } else {
            work_.decline();
        }
    }

    HelperWork& work_;
    const int first_;
    std::vector<SlotFlag> numbers_;
    std::atomic<int> expected_{0};
    Gate gate_;
};

// What oneTBB is asked to allow, while this lives.
class Allowance {
  public:
    Allowance(TbbProcess& process, HelperRange range)
        : process_(process), grant_(process.grant(range.first, range.count)) {}
    Allowance(const Allowance&) = delete;
    Allowance& operator=(const Allowance&) = delete;
    ~Allowance() { process_.give_back(grant_); }

    const TbbProcess::Grant& grant() const { return grant_; }

  private:
    TbbProcess& process_;
    const TbbProcess::Grant grant_;
};

// Lets oneTBB start the threads that it does not have yet, while the system gives them: one task
// for each helper, and none ends before all have come or time is over.
void start_threads(TbbProcess& process, tbb::task_arena& arena, int helpers) {
    if (helpers <= process.started()) {
        return;
    }
    const auto arrived = std::make_shared<std::atomic<int>>(0);
    const auto wait_for_all = [helpers](const std::atomic<int>& seen) {
        Backoff backoff;
        while (seen.load(std::memory_order_relaxed) < helpers && backoff.waited() < kPatience) {
            backoff.pause();
        }
    };
    for (int i = 0; i < helpers; ++i) {
        arena.enqueue([arrived, wait_for_all] {
            arrived->fetch_add(1, std::memory_order_relaxed);
            wait_for_all(*arrived);
        });
    }
    wait_for_all(*arrived);
    process.note_started(arrived->load(std::memory_order_relaxed));
}

// Enqueues Entrance::enter into an arena.
class TbbProvider final : public ThreadProvider {
  public:
    // `arena` is initialised.
    TbbProvider(HelperWork& work,
                HelperRange range,
                std::unique_ptr<Allowance> allowance,
                std::unique_ptr<tbb::task_arena> arena)
        : allowance_(std::move(allowance)),
          arena_(std::move(arena)),
          entrance_(std::make_shared<Entrance>(work, range)) {}
    ~TbbProvider() noexcept override {
        if (arena_ != nullptr) {
            entrance_->close();
            take_tasks_out();
        }
    }
    int helpers() const override { return entrance_->helpers(); }
    int available() noexcept override {
        return arena_ == nullptr
                   ? 0
                   : std::max(helpers() - entrance_->expected() - entrance_->inside(), 0);
    }

    int recruit(int count) noexcept override {
        int asked = 0;
        while (arena_ != nullptr && asked < count) {
            entrance_->expect_one();
            try {
                arena_->enqueue([entrance = entrance_] { entrance->enter(); });
            } catch (...) {  // no memory for the task, or no thread for it: then fewer helpers
                doubtful_.fetch_add(1, std::memory_order_relaxed);
                return entrance_->expect_one_less() ? asked : asked + 1;
            }
            ++asked;
        }
        return asked;
    }

    // The arena's locks are oneTBB's, and so are the threads that it waits for.
    bool after_fork_in_child() noexcept override {
        keep_for_ever(arena_.release());
        keep_for_ever(allowance_.release());
        return false;
    }

  private:
    // Takes part in what is left in the arena, so that nothing of this library stays in oneTBB: no
    // worker may ever come.
    void take_tasks_out() noexcept {
        constexpr int kMostTriesForDoubtful = 2;
        const auto left = [this] { return int(entrance_.use_count()) - 1; };
        const int doubtful = doubtful_.load(std::memory_order_relaxed);
        for (int tries = 0; left() > doubtful || (left() > 0 && tries < kMostTriesForDoubtful);
             ++tries) {
            if (!pass_through()) {
                return;
            }
        }
    }
    // Who waits for a task in the arena runs those before it. False: oneTBB threw, and what waits
    // may never come; then it is left alone.
    bool pass_through() noexcept {
        auto marker = std::unique_ptr<tbb::task_group>(new (std::nothrow) tbb::task_group);
        try {
            if (marker != nullptr) {
                arena_->enqueue(marker->defer([] {}));
                arena_->execute([&marker] { marker->wait(); });
                return true;
            }
        } catch (...) {
            keep_for_ever(marker.release());
        }
        return false;
    }

    std::unique_ptr<Allowance> allowance_;  // null: of the host
    // One slot is reserved for the thread that waits at the end. Null: left behind by fork().
    std::unique_ptr<tbb::task_arena> arena_;
    std::shared_ptr<Entrance> entrance_;  // also of each task
    std::atomic<int> doubtful_{0};        // tasks of which it is unknown whether they will come
};

// One without helpers.
class NoThreads final : public ThreadProvider {
  public:
    int helpers() const override { return 0; }
    int available() noexcept override { return 0; }
    int recruit(int /*count*/) noexcept override { return 0; }
    bool after_fork_in_child() noexcept override { return false; }
};

void note_fewer(HelperRange range, int helpers, std::string_view reason, std::string& note) {
    if (helpers < range.count) {
        note = fmt::format("{} of {} threads: {}", range.first + helpers, range.first + range.count,
                           reason);
    }
}

std::unique_ptr<ThreadProvider> no_threads(HelperRange range,
                                           std::string_view reason,
                                           std::string& note) {
    note_fewer(range, 0, reason, note);
    return std::make_unique<NoThreads>();
}

// What make(TbbProcess&) returns, where oneTBB may be used and does not throw.
template <class Make>
std::unique_ptr<ThreadProvider> make_if_possible(HelperRange range,
                                                 std::string& note,
                                                 const Make& make) {
    TbbProcess* const process = TbbProcess::get();
    if (process == nullptr) {
        return no_threads(range, "no memory to initialise oneTBB", note);
    }
    if (process->is_inherited()) {
        return no_threads(range, kOnlyInParent, note);
    }
    std::string reason;
    try {
        return make(*process);
    } catch (const std::exception& error) {
        reason = error.what();
    }
    return no_threads(range, "oneTBB cannot make an arena: " + reason, note);
}

}  // namespace

std::unique_ptr<ThreadProvider> make_tbb_provider(HelperWork& work,
                                                  HelperRange range,
                                                  std::string& note) {
    return make_if_possible(
        range, note, [&](TbbProcess& process) -> std::unique_ptr<ThreadProvider> {
            auto allowance = std::make_unique<Allowance>(process, range);
            const TbbProcess::Grant grant = allowance->grant();
            if (grant.helpers == 0) {
                return no_threads(range, grant.lack, note);
            }
            auto arena = std::make_unique<tbb::task_arena>(grant.helpers + 1, 1);
            arena->initialize();
            start_threads(process, *arena, grant.helpers);
            note_fewer(range, grant.helpers, grant.lack, note);
            return std::make_unique<TbbProvider>(work, HelperRange{range.first, grant.helpers},
                                                 std::move(allowance), std::move(arena));
        });
}

std::unique_ptr<ThreadProvider> make_host_arena_provider(HelperWork& work,
                                                         HelperRange range,
                                                         std::string& note) {
    return make_if_possible(
        range, note, [&](TbbProcess& process) -> std::unique_ptr<ThreadProvider> {
            auto arena = std::make_unique<tbb::task_arena>(tbb::task_arena::attach());
            arena->initialize();
            const int threads = arena->max_concurrency() - 1;  // a task calls all of them
            if (!process.can_have(threads)) {
                return no_threads(range, "the system gives oneTBB no more", note);
            }
            const int helpers = std::clamp(threads, 0, range.count);
            note_fewer(range, helpers, "the host's arena has no more", note);
            return std::make_unique<TbbProvider>(work, HelperRange{range.first, helpers}, nullptr,
                                                 std::move(arena));
        });
}

bool has_inherited_tbb() {
    const TbbProcess* const process = TbbProcess::find();
    return process != nullptr && process->is_inherited();
}

}  // namespace leat::scheduler
