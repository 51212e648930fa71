// The counters of the compiled gear, and their memory ordering.
//
//   ListProgress   publish (release) -> published (acquire): what the tasks of a list wrote before
//                  the n-th publish is visible to who sees n or more
//   ListOwner      release (release) -> try_claim (acquire): one thread at a time is in a list, and
//                  the next one goes on where the last one stopped
//   DomainThreads  no data: relaxed
// The counters are zero at the start of a run; Gate::open shows that to helpers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/monotonic_clock.h"
#include "gears/compiled_program.h"
#include "threads/handover.h"

namespace leat::scheduler {

class ListProgress {
  public:
    // By the owner of the list.
    void publish() {
        published_.store(published_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    uint32_t published() const { return published_.load(std::memory_order_acquire); }
    void reset() { published_.store(0, std::memory_order_relaxed); }

  private:
    std::atomic<uint32_t> published_{0};
};

class ListOwner {
  public:
    bool try_claim() {
        uint8_t expected = kFree;
        return state_.load(std::memory_order_relaxed) == kFree &&
               state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    void release() { state_.store(kFree, std::memory_order_release); }
    // Only by the owner, instead of release().
    void finish() { state_.store(kFinished, std::memory_order_release); }

    bool is_free() const { return state_.load(std::memory_order_relaxed) == kFree; }
    bool is_taken() const { return state_.load(std::memory_order_relaxed) == kTaken; }
    bool is_finished() const { return state_.load(std::memory_order_acquire) == kFinished; }

    // The list's own worker has come and would like to have it; its adopter looks at boundaries.
    void ask_for(bool wanted) { is_wanted_.store(wanted, std::memory_order_relaxed); }
    bool is_wanted() const { return is_wanted_.load(std::memory_order_relaxed); }

    void reset() {
        state_.store(kFree, std::memory_order_relaxed);
        ask_for(false);
    }

  private:
    static constexpr uint8_t kFree = 0;
    static constexpr uint8_t kTaken = 1;
    static constexpr uint8_t kFinished = 2;

    std::atomic<uint8_t> state_{kFree};
    std::atomic<bool> is_wanted_{false};
};

// Two lines each: the adjacent-line prefetcher pulls lines in pairs.
struct alignas(128) ListState {
    alignas(128) ListProgress progress;
    alignas(128) ListOwner owner;
    // Guarded by `owner`.
    uint32_t next = 0;  // word to go on with
    // What the list had published when the owner of this one last looked at it.
    uint32_t& seen(size_t list) { return seen_[list + size_t(kLineWords)]; }
    void expect(size_t lists) { seen_.resize(lists + 2 * size_t(kLineWords)); }
    void forget() { std::fill(seen_.begin() + kLineWords, seen_.end() - kLineWords, 0); }

  private:
    // A line more on both sides: written at most waits, so no other list may have its words beside.
    static constexpr ptrdiff_t kLineWords = 128 / sizeof(uint32_t);
    std::vector<uint32_t> seen_;
};

// The threads of one domain that are in a run, and since when there is none.
class alignas(128) DomainThreads {
  public:
    void enter() {
        inside_.fetch_add(1, std::memory_order_relaxed);
        empty_since_ns_.store(kNotSeen, std::memory_order_relaxed);
    }
    void leave() {
        empty_since_ns_.store(kNotSeen, std::memory_order_relaxed);
        inside_.fetch_sub(1, std::memory_order_relaxed);
    }
    bool has_any() const { return inside_.load(std::memory_order_relaxed) > 0; }
    // For who has nothing else to do: the time begins when somebody asks.
    bool has_had_none_for(int64_t time_ns) {
        if (has_any()) {
            return false;
        }
        const int64_t now_ns = monotonic_ns();
        int64_t since_ns = kNotSeen;
        return !empty_since_ns_.compare_exchange_strong(since_ns, now_ns,
                                                        std::memory_order_relaxed) &&
               now_ns - since_ns >= time_ns;
    }
    void reset() {
        inside_.store(0, std::memory_order_relaxed);
        empty_since_ns_.store(kNotSeen, std::memory_order_relaxed);
    }

  private:
    static constexpr int64_t kNotSeen = INT64_MIN;

    std::atomic<int64_t> empty_since_ns_{kNotSeen};
    std::atomic<int32_t> inside_{0};
};

struct CompiledCounters {
    explicit CompiledCounters(const CompiledProgram& program);

    TileClaims& claims(int lane, int32_t tile_task) {
        return claims_of_lane[size_t(lane)][size_t(tile_task) + kLineClaims];
    }
    // Starts a run: what earlier runs left counts as nothing. Lists are of the domains of the
    // executor's workers; empty: domains do not count in this run.
    void begin_run(const CompiledProgram& program, std::span<const int> worker_domains);
    // The thread that has this worker's number is of the executor's domain `domain`.
    void know_thread(int worker, int domain, std::span<const int> worker_domains);

    // The worker's thread is of the list's domain.
    bool is_near(int worker, int list) const {
        return domain_of_list[size_t(list)] == kAnyDomain ||
               domain_of_list[size_t(list)] == domain_of_thread[size_t(worker)];
    }
    bool are_of_one_domain(int list, int other) const {
        return domain_of_list[size_t(list)] == domain_of_list[size_t(other)];
    }

    static constexpr int32_t kAnyDomain = -1;  // of a list without a worker
    static constexpr int32_t kNoList = -2;     // the domain of a thread that has none

    static constexpr size_t kLineClaims = 128 / sizeof(TileClaims);

    std::vector<ListState> lists;
    std::vector<StepProgress> tiles_done;                 // by tile task
    std::vector<std::vector<TileClaims>> claims_of_lane;  // each on cache lines of its own
    int64_t epoch = 0;
    bool needs_reset = false;
    // Lists are of several domains, each called by the number of its first list.
    bool keeps_domains = false;
    std::vector<int32_t> domain_of_list;
    std::vector<int32_t> domain_of_thread;  // by worker, who alone uses it
    std::vector<DomainThreads> threads_in;  // by domain

  private:
    int32_t domain_with(int domain, std::span<const int> worker_domains) const;
};

}  // namespace leat::scheduler
