#include "threads/pacer.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <thread>

#include "base/monotonic_clock.h"

namespace leat::scheduler {
namespace {

// Between two looks at the number of interruptions, about; one takes half a microsecond.
constexpr int64_t kLookNs = 250'000;
// Between two looks at the clock in times of interruptions, about; one takes 30 ns.
constexpr int64_t kCloseLookNs = 20'000;
constexpr int64_t kMostSegmentsALook = 1 << 16;
// How long an interruption is taken as a sign of more.
constexpr int64_t kContendedNs = 100'000'000;
// A turn ends at the first tick after this time (Linux since 6.6: base_slice_ns, 0.7 ms times 1 to
// 4 by the number of CPUs).
constexpr int64_t kShortestTurnNs = 1'400'000;
// As close to the tick as looks can tell: who yields early gets less of the core, because the
// other's turn lasts until a tick. Of turns of 4 ms, 3.7 ms leave 46 % and 3 ms leave 41 %.
constexpr int64_t kMarginNs = 150'000;
// A yield that takes longer has let somebody else run.
constexpr int64_t kOthersTurnNs = 100'000;

int64_t interruptions_of_this_thread() {
    rusage usage{};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? int64_t(usage.ru_nivcsw) : 0;
}

int64_t tick_length_ns() {
    timespec time{};
    ::clock_getres(CLOCK_MONOTONIC_COARSE, &time);
    return std::max<int64_t>(int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec, 1);
}

}  // namespace

// Since the last call.
bool Pacer::was_interrupted() {
    const int64_t before = interruptions_;
    interruptions_ = interruptions_of_this_thread();
    return before >= 0 && interruptions_ != before;
}

bool Pacer::look() {
    const int64_t now_ns = monotonic_ns();
    const int64_t passed_ns = now_ns - looked_ns_;
    looked_ns_ = now_ns;
    const bool is_contended = now_ns < contended_until_ns_;
    if ((!is_contended || passed_ns > kLookNs) && was_interrupted()) {
        turn_began_ns_ = now_ns;
        contended_until_ns_ = now_ns + kContendedNs;
    }
    const bool looks_closely = now_ns < contended_until_ns_;
    space_looks(passed_ns, looks_closely ? kCloseLookNs : kLookNs);
    // The next look comes about as soon as the last one did.
    return looks_closely && is_turn_over_before(now_ns, now_ns + std::min(passed_ns, kLookNs));
}

bool Pacer::is_turn_over_before(int64_t now_ns, int64_t next_look_ns) {
    static const int64_t kTickNs = tick_length_ns();
    static const int64_t kTurnNs = (kShortestTurnNs + kTickNs - 1) / kTickNs * kTickNs;
    if (now_ns >= turn_began_ns_ + kTurnNs) {  // nobody took the core
        turn_began_ns_ = now_ns - (now_ns - turn_began_ns_) % kTickNs;
    }
    return next_look_ns + kMarginNs >= turn_began_ns_ + kTurnNs;
}

void Pacer::space_looks(int64_t passed_ns, int64_t wanted_ns) {
    if (passed_ns < wanted_ns / 2) {
        segments_a_look_ = std::min(segments_a_look_ * 2, kMostSegmentsALook);
    } else if (passed_ns > wanted_ns * 2) {
        segments_a_look_ = std::max<int64_t>(segments_a_look_ / 4, 1);
    }
    segments_left_ = segments_a_look_;
}

void Pacer::rest() {
    const int64_t began_ns = monotonic_ns();
    std::this_thread::yield();
    looked_ns_ = monotonic_ns();
    if (looked_ns_ - began_ns > kOthersTurnNs) {
        turn_began_ns_ = looked_ns_;
        contended_until_ns_ = looked_ns_ + kContendedNs;
    }
    (void)was_interrupted();  // a yield counts as one
}

}  // namespace leat::scheduler
