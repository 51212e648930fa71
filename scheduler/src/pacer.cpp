#include "pacer.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/monotonic_clock.h"

namespace leat::scheduler {
namespace {

// Between two looks, about; one takes half a microsecond.
constexpr int64_t kLookNs = 250'000;
constexpr int64_t kMostSegmentsALook = 1 << 16;
// A turn that is given up in time: where another thread wants the core, Linux takes it away at a
// tick, every 4 ms. Beside a competitor the time of a run fell from 1.5 to 1.3 of the ideal with
// turns of 3 ms, to 1.4 with 1 ms: who yields early gets less of the core.
constexpr int64_t kTurnNs = 3'000'000;
// A yield that takes longer has let somebody else run.
constexpr int64_t kOthersTurnNs = 100'000;
// How long an interruption is taken as a sign of more.
constexpr int64_t kContendedNs = 100'000'000;

int64_t interruptions_of_this_thread() {
    rusage usage{};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? int64_t(usage.ru_nivcsw) : 0;
}

}  // namespace

bool Pacer::look() {
    const int64_t now_ns = monotonic_ns();
    const int64_t passed_ns = now_ns - looked_ns_;
    looked_ns_ = now_ns;
    if (interruptions_ < 0) {
        interruptions_ = interruptions_of_this_thread();
        turn_began_ns_ = now_ns;
    } else if (passed_ns < kLookNs / 2) {
        segments_a_look_ = std::min(segments_a_look_ * 2, kMostSegmentsALook);
    } else if (passed_ns > kLookNs * 2) {
        segments_a_look_ = std::max<int64_t>(segments_a_look_ / 2, 1);
    }
    segments_left_ = segments_a_look_;
    if (passed_ns < kLookNs / 4) {
        return false;
    }
    const int64_t interruptions = interruptions_of_this_thread();
    if (interruptions != interruptions_) {
        interruptions_ = interruptions;
        contended_until_ns_ = now_ns + kContendedNs;
        turn_began_ns_ = now_ns;
    }
    return now_ns < contended_until_ns_ && now_ns - turn_began_ns_ >= kTurnNs;
}

void Pacer::rest() {
    const int64_t began_ns = monotonic_ns();
    std::this_thread::yield();
    turn_began_ns_ = monotonic_ns();
    if (turn_began_ns_ - began_ns > kOthersTurnNs) {
        contended_until_ns_ = turn_began_ns_ + kContendedNs;
    }
    interruptions_ = interruptions_of_this_thread();  // a yield counts as one
}

}  // namespace leat::scheduler
