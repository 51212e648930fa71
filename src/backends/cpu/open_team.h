// OpenTeam: workers that carry out one tile's work together, in phases of items; a barrier is
// between two phases.
//
// A scheduler may give tiles to any worker, in any order, or all to one. So a team is open: a
// member waits only for items that others have claimed and are carrying out. One member alone
// completes everything, one who comes late helps from where the others are, and one who comes after
// the end returns at once.
//
// Each member has items of its own, which it takes first in each phase: what it read for them may
// still be in its cache. Then it takes those of others. A member for which another one has waited
// too long, as it had lost its core, leaves: on a busy machine it would be waited for again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "backends/host_kernel.h"
#include "base/parts.h"

namespace leat::cpu {

struct TeamSize {
    int64_t members = 1;  // at most
    int64_t items = 1;    // of a phase, no fewer than members
};

// Counters of one team. All of them only grow in a run, so that a look that comes late finds
// nothing to claim. No lock, and no allocation but in set_size().
class OpenTeam {
  public:
    OpenTeam() = default;
    OpenTeam(const OpenTeam&) = delete;
    OpenTeam& operator=(const OpenTeam&) = delete;

    // Allocates; once.
    void set_size(const TeamSize& size);
    // Before a run, by one thread; what it does afterwards must make that visible to the members.
    void begin_run() noexcept;

    // Until all phases have ended, or others do the rest. work.run(phase, item) carries out an
    // item, and does not fail; what it wrote is visible to all items of later phases.
    // work.is_backward(phase), the same for all members: in that phase they take their items from
    // the last to the first. Nobody asks whether the run is to stop.
    template <class Work>
    void take_part(int64_t phases, int64_t member, Work& work) {
        int64_t phase = done().load(std::memory_order_acquire) / size_.items;
        while (phase < phases) {
            const bool is_backward = work.is_backward(phase);
            bool is_over = false;
            bool has_helped = false;
            for (int64_t turn = 0; turn < size_.members && !is_over; ++turn) {
                const int64_t next = member + turn;
                const int64_t owner = next < size_.members ? next : next - size_.members;
                int64_t finished = 0;
                for (int64_t item = claim(owner, phase, is_backward); item >= 0;
                     item = claim(owner, phase, is_backward)) {
                    work.run(phase, item);
                    ++finished;
                }
                is_over = finished > 0 && report(phase, finished);
                has_helped = has_helped || finished > 0;
            }
            if (has_helped && is_waited_for(phase)) {
                return;  // whoever waited goes on
            }
            phase = wait_for_end(phase);
        }
    }

    // Somebody has waited too long for its end, or does so.
    bool is_waited_for(int64_t phase) const noexcept {
        return long_wait_.load(std::memory_order_relaxed) == phase;
    }

  private:
    // A cache line each, so that claims of own items stay in the owner's cache.
    struct alignas(64) Counter {
        std::atomic<int64_t> items{0};  // of all phases
        int64_t begin = 0;              // the owner's items of a phase
        int64_t count = 0;
    };

    // An item of the owner's, or -1: none is left in that phase.
    int64_t claim(int64_t owner, int64_t phase, bool is_backward) noexcept;
    // Tells of finished items. True: they were the last ones of the phase.
    bool report(int64_t phase, int64_t finished) noexcept;
    // Returns the phase that is open then, which may be a later one than the next.
    int64_t wait_for_end(int64_t phase) noexcept;
    std::atomic<int64_t>& done() const { return counters_[size_t(size_.members)].items; }

    TeamSize size_;
    std::atomic<int64_t> long_wait_{-1};   // the last phase with one; -1: none
    std::unique_ptr<Counter[]> counters_;  // claimed, by owner; behind them: done
};

// The teams of a kernel, for one instance of a plan.
class TeamsState final : public KernelState {
  public:
    TeamsState(int64_t teams, const TeamSize& size);
    void begin_run() noexcept override;
    static OpenTeam& team_of(KernelState& state, int64_t team) {
        return static_cast<TeamsState&>(state).teams_[size_t(team)];
    }

  private:
    int64_t count_;
    std::unique_ptr<OpenTeam[]> teams_;
};

// The same work by one worker, without a team.
template <class Work>
void work_alone(int64_t phases, int64_t items, Work& work) {
    for (int64_t phase = 0; phase < phases; ++phase) {
        const bool is_backward = work.is_backward(phase);
        for (int64_t i = 0; i < items; ++i) {
            work.run(phase, is_backward ? items - 1 - i : i);
        }
    }
}

}  // namespace leat::cpu
