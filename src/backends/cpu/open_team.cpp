#include "backends/cpu/open_team.h"

#include <chrono>
#include <thread>

#include "hwy/cache_control.h"

namespace leat::cpu {
namespace {

// Some 20 us: longer than most items take. Whoever waits longer may wait for a thread that has lost
// its core, and be what keeps it from one.
constexpr int kPausesBeforeYield = 1000;
// Longer than any item takes: a thread that has lost its core.
constexpr std::chrono::milliseconds kLongWait{2};

}  // namespace

void OpenTeam::set_size(const TeamSize& size) {
    size_ = size;
    counters_ = std::make_unique<Counter[]>(size_t(size.members) + 1);
    for (int64_t owner = 0; owner < size.members; ++owner) {
        Counter& counter = counters_[size_t(owner)];
        counter.begin = part_begin(size.items, size.members, owner);
        counter.count = part_begin(size.items, size.members, owner + 1) - counter.begin;
    }
}

void OpenTeam::begin_run() noexcept {
    for (int64_t i = 0; i <= size_.members; ++i) {
        counters_[size_t(i)].items.store(0, std::memory_order_relaxed);
    }
    long_wait_.store(-1, std::memory_order_relaxed);
}

// Counts are those of the phase or later ones: who has seen its beginning in done() sees the claims
// before it.
int64_t OpenTeam::claim(int64_t owner, int64_t phase, bool is_backward) noexcept {
    Counter& own = counters_[size_t(owner)];
    int64_t claimed = own.items.load(std::memory_order_relaxed);
    while (claimed < (phase + 1) * own.count) {
        // Nothing is handed over here: done() orders what items write.
        if (own.items.compare_exchange_weak(claimed, claimed + 1, std::memory_order_relaxed)) {
            const int64_t i = claimed - phase * own.count;
            return own.begin + (is_backward ? own.count - 1 - i : i);
        }
    }
    return -1;
}

// Each adder releases what its items wrote, and acquires what the adders before it released, so
// that whoever sees the last of a phase sees all of it.
bool OpenTeam::report(int64_t phase, int64_t finished) noexcept {
    const int64_t before = done().fetch_add(finished, std::memory_order_acq_rel);
    return before + finished == (phase + 1) * size_.items;
}

int64_t OpenTeam::wait_for_end(int64_t phase) noexcept {
    const int64_t end = (phase + 1) * size_.items;
    int64_t ended = done().load(std::memory_order_acquire);
    for (int pauses = 0; ended < end && pauses < kPausesBeforeYield; ++pauses) {
        hwy::Pause();
        ended = done().load(std::memory_order_acquire);
    }
    if (ended < end) {
        const auto begin = std::chrono::steady_clock::now();
        while (ended < end) {
            std::this_thread::yield();
            if (std::chrono::steady_clock::now() - begin > kLongWait) {
                long_wait_.store(phase, std::memory_order_relaxed);
            }
            ended = done().load(std::memory_order_acquire);
        }
    }
    return ended / size_.items;
}

TeamsState::TeamsState(int64_t teams, const TeamSize& size)
    : count_(teams), teams_(std::make_unique<OpenTeam[]>(size_t(teams))) {
    for (int64_t team = 0; team < count_; ++team) {
        teams_[size_t(team)].set_size(size);
    }
}

void TeamsState::begin_run() noexcept {
    for (int64_t team = 0; team < count_; ++team) {
        teams_[size_t(team)].begin_run();
    }
}

}  // namespace leat::cpu
