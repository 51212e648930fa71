// Workers that carry out phases of items together: each item once, in the order of phases, whoever
// comes, and when.
#include "backends/cpu/open_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace leat::cpu {
namespace {

using ::testing::ElementsAre;

// Every item reads what all items of the phase before wrote, as plain memory.
class Sums {
  public:
    Sums(int64_t phases, int64_t items)
        : items_(items), values_(size_t(phases), std::vector<int64_t>(size_t(items))) {}

    bool is_backward(int64_t phase) const { return phase % 2 != 0; }
    void run(int64_t phase, int64_t item) {
        int64_t sum = 1;
        for (int64_t i = 0; phase > 0 && i < items_; ++i) {
            sum += values_[size_t(phase - 1)][size_t(i)];
        }
        // Twice is wrong, too.
        values_[size_t(phase)][size_t(item)] += sum % 1'000'003;
        for (int64_t i = 0; i < item * 50; ++i) {
            hold_.store(i, std::memory_order_relaxed);
        }
    }
    const std::vector<std::vector<int64_t>>& values() const { return values_; }

  private:
    int64_t items_;
    std::vector<std::vector<int64_t>> values_;
    std::atomic<int64_t> hold_{0};
};

std::vector<std::vector<int64_t>> alone(int64_t phases, int64_t items) {
    Sums sums(phases, items);
    work_alone(phases, items, sums);
    return sums.values();
}

// Notes items, in the order in which they run.
struct Noted {
    bool is_backward(int64_t phase) const { return phase % 2 != 0; }
    void run(int64_t phase, int64_t item) { items.push_back(100 * phase + item); }
    std::vector<int64_t> items;
};

TEST(OpenTeam, IsCompleteWithOneMember) {
    OpenTeam team;
    team.set_size({2, 5});
    Noted first;
    team.take_part(3, 0, first);
    // Own ones first, in turn from both ends.
    EXPECT_THAT(first.items,
                ElementsAre(0, 1, 2, 3, 4, 102, 101, 100, 104, 103, 200, 201, 202, 203, 204));
    Noted late;
    team.take_part(3, 1, late);
    EXPECT_THAT(late.items, ElementsAre());
    team.begin_run();
    Noted second;
    team.take_part(2, 1, second);
    EXPECT_THAT(second.items, ElementsAre(3, 4, 0, 1, 2, 104, 103, 102, 101, 100));
}

// One of the kernel's two teams, with a thread for each member. Some come when others have begun,
// or ended: `delay_us` after the member before.
void run_in_threads(TeamsState& state, int64_t members, int64_t phases, int delay_us, Sums& work) {
    state.begin_run();
    std::vector<std::thread> threads;
    for (int64_t member = 0; member < members; ++member) {
        threads.emplace_back([&state, &work, member, phases, delay_us] {
            std::this_thread::sleep_for(std::chrono::microseconds(delay_us * member));
            TeamsState::team_of(state, 1).take_part(phases, member, work);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST(OpenTeam, RunsEachItemOnceAfterThePhaseBefore) {
    constexpr int64_t kPhases = 200;
    for (const int64_t items : {4, 7, 16}) {
        for (const int64_t members : {2, 3, 4}) {
            TeamsState state(2, {members, items});
            for (int run = 0; run < 5; ++run) {
                Sums work(kPhases, items);
                run_in_threads(state, members, kPhases, 100 * (run % 3), work);
                EXPECT_EQ(work.values(), alone(kPhases, items)) << items << " " << members;
            }
        }
    }
}

// A member loses its core in phase 3, until the other one has waited for it for too long.
TEST(OpenTeam, GoesOnWithoutAMemberThatWasWaitedFor) {
    struct Held {
        bool is_backward(int64_t phase) const { return sums.is_backward(phase); }
        void run(int64_t phase, int64_t item) {
            sums.run(phase, item);
            ++items;
            while (phase == 3 && !team.is_waited_for(phase)) {
                is_held = true;
                std::this_thread::yield();
            }
        }
        OpenTeam& team;
        Sums& sums;
        int64_t items = 0;
        std::atomic<bool> is_held = false;
    };
    TeamsState state(1, {2, 4});
    OpenTeam& team = TeamsState::team_of(state, 0);
    for (int run = 0; run < 2; ++run) {
        state.begin_run();
        Sums sums(300, 4);
        Held held{team, sums};
        std::thread slow([&] { team.take_part(300, 1, held); });
        while (!held.is_held) {
            std::this_thread::yield();
        }
        team.take_part(300, 0, sums);
        slow.join();
        EXPECT_EQ(sums.values(), alone(300, 4));
        // All of the phases before, and the one item that it was held in.
        EXPECT_EQ(held.items, 3 * 4 + 1);
    }
}

// A cancelled run: one tile never came, and no tile of the other team.
TEST(OpenTeam, BeginsAfreshAfterATeamThatIsNotComplete) {
    TeamsState state(2, {2, 4});
    state.begin_run();
    Noted first;
    TeamsState::team_of(state, 0).take_part(3, 1, first);
    state.begin_run();
    for (const int64_t team : {0, 1}) {
        Sums work(5, 4);
        TeamsState::team_of(state, team).take_part(5, 0, work);
        EXPECT_EQ(work.values(), alone(5, 4));
    }
}

}  // namespace
}  // namespace leat::cpu
