// Waiting: what counts as a wait, and when a worker leaves its core.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "threads/pacer.h"
#include "threads/spin.h"

namespace leat::scheduler {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

void wait_for(Backoff& backoff, microseconds time) {
    while (backoff.waited() < time) {
        backoff.pause();
    }
}

TEST(Backoff, CountsEachWaitFromItsFirstPause) {
    Backoff backoff;
    EXPECT_EQ(backoff.waited().count(), 0);
    wait_for(backoff, microseconds(100));
    std::this_thread::sleep_for(milliseconds(20));  // work
    backoff.restart();
    EXPECT_EQ(backoff.waited().count(), 0);
    const auto first = backoff.waited_in_all();
    EXPECT_GE(first, microseconds(100));
    wait_for(backoff, microseconds(100));
    EXPECT_GE(backoff.waited_in_all(), first + microseconds(100));
    EXPECT_EQ(backoff.waited_in_all(), first + backoff.waited());
}

TEST(Pacer, StaysWhereNobodyWantsTheCore) {
    Pacer pacer;
    int rests = 0;
    // Too short for an interruption to be seen by the first look and another to follow a whole turn
    // later.
    const auto end = std::chrono::steady_clock::now() + milliseconds(1);
    while (std::chrono::steady_clock::now() < end) {
        rests += pacer.wants_rest() ? 1 : 0;
    }
    EXPECT_EQ(rests, 0);
}

}  // namespace
}  // namespace leat::scheduler
