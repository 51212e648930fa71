// DynamicRun: where a worker without nodes of its own finds some, and how it waits.
#include "gears/dynamic_run.h"
#include "threads/spin.h"

namespace leat::scheduler {
namespace {

// Nodes taken from another worker at once.
constexpr uint32_t kMostTaken = 16;
// A helper without work leaves after about what calling it again would cost
// (docs/measurements/scheduler.md: 7-17 us).
constexpr std::chrono::microseconds kHelperSpin{20};
// Worker 0 waits for points with its eyes open that long, then sleeps.
constexpr std::chrono::microseconds kCallerSpin{30};

}  // namespace

// Points that moved, and tasks for this thread that others made ready.
void DynamicRun::take_from_outside(DynamicWorker& self, int worker) {
    if (program_.point_count() > 0 && counters_.has_signals(points_)) {
        counters_.take_signals(points_, [&](int32_t node) {
            if (counters_.count_down(node)) {
                make_ready(self, worker, node);
            }
        });
    }
    if (worker == 0 && program_.has_caller_tasks && counters_.caller_inbox.has_any()) {
        uint32_t node = counters_.caller_inbox.take_all();
        while (node != TokenInbox::kNone) {
            const uint32_t next = counters_.cells()[node].link;
            make_ready(self, worker, int32_t(node));
            node = next;
        }
    }
}

// Takes nodes that a worker, also this one, offers: one to run and more to keep.
uint32_t DynamicRun::take_from(DynamicWorker& self, int victim, int level) {
    ReadyDeque& deque = counters_.worker(victim).deques[size_t(level)];
    uint32_t nodes[kMostTaken];
    uint32_t count = deque.offers() ? deque.take(nodes, kMostTaken) : 0;
    if (count == 0) {
        return kNone;
    }
    while (--count > 0) {
        self.stacks[size_t(level)].push(nodes[count], counters_.cells());
    }
    return nodes[0];
}

// With `takes_others` also nodes that wish a domain which this worker is not of.
template <bool kPlain>
uint32_t DynamicRun::look_everywhere(DynamicWorker& self, int worker, bool takes_others) {
    uint32_t node = kPlain ? kNone : next_own<kPlain>(self, worker);
    const int levels = kPlain ? 1 : program_.level_count;
    for (int level = 0; level < levels && node == kNone; ++level) {
        node = take_from(self, worker, level);
        for (int i = 0; i < workers_ && node == kNone; ++i) {
            node = take_from(self, self.victim, level);
            if (node == kNone) {
                self.victim = self.victim + 1 < workers_ ? self.victim + 1 : 0;
            }
        }
    }
    if (!kPlain && takes_others && node == kNone && program_.has_wishes()) {
        node = take_others_wished(self);
    }
    return node;
}

// A node to run. None: worker 0 has to leave because the run has ended, a helper because there is
// nothing to do.
template <bool kPlain>
uint32_t DynamicRun::find(DynamicWorker& self, int worker) {
    if (is_stopping() || is_done()) {
        return kNone;
    }
    // A worker of the wished domain may be looking right now: others leave it a microsecond, which
    // is about what the way of the data costs.
    const bool is_leaving = worker == 0 && !is_patient_;
    const bool takes_others = !kPlain && (is_leaving || helpers_inside() == 0);
    const uint32_t node = look_everywhere<kPlain>(self, worker, takes_others);
    if (node != kNone || is_done()) {
        return node;
    }
    if (is_leaving) {
        (void)is_cancelled();  // by a deadline, for example
        return kNone;
    }
    return worker == 0 ? wait_as_caller<kPlain>(self) : wait_as_helper<kPlain>(self, worker);
}

template <bool kPlain>
uint32_t DynamicRun::wait_as_caller(DynamicWorker& self) {
    Backoff backoff;
    uint32_t node = kNone;
    bool is_time = false;
    while (node == kNone && !is_done() && !is_stopping()) {
        node = look_everywhere<kPlain>(self, 0, is_time);
        is_time = node == kNone && backoff.pause();
        if (is_time && !is_cancelled() && !kPlain && backoff.waited() > kCallerSpin) {
            sleep_until_signal();
        }
    }
    record_.add_wait(backoff.waited());
    return node;
}

template <bool kPlain>
uint32_t DynamicRun::wait_as_helper(DynamicWorker& self, int worker) {
    Backoff backoff;
    uint32_t node = kNone;
    bool is_time = false;
    while (backoff.waited() <= kHelperSpin) {
        node = look_everywhere<kPlain>(self, worker, is_time);
        if (node != kNone || is_done() || is_stopping()) {
            record_.add_wait(backoff.waited());
            return node;
        }
        is_time = backoff.pause();
    }
    record_.add_wait(backoff.waited());
    hold_helpers();
    wants_helpers_.store(true, std::memory_order_seq_cst);
    // Who offered a node before this did not call; who offers one later does.
    node = look_everywhere<kPlain>(self, worker, true);
    if (node != kNone) {
        resume_helpers();
    }
    return node;
}

// Worker 0 has found nothing; if no helper is in the run either, it goes on by a signal only.
void DynamicRun::sleep_until_signal() {
    if (program_.point_count() == 0 || helpers_inside() > 0) {
        return;
    }
    is_asleep_.store(true, std::memory_order_seq_cst);
    const uint32_t seen = points_.events();
    const bool has_work = counters_.has_signals(points_) || counters_.caller_inbox.has_any() ||
                          has_wished_nodes() || done_.load(std::memory_order_seq_cst);
    if (!has_work) {
        points_.wait(seen, longest_sleep());
    }
    is_asleep_.store(false, std::memory_order_relaxed);
}

template uint32_t DynamicRun::find<true>(DynamicWorker& self, int worker);
template uint32_t DynamicRun::find<false>(DynamicWorker& self, int worker);

}  // namespace leat::scheduler
