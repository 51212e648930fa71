// The counters of the compiled gear, and their memory ordering.
//
//   ListProgress   publish (release) -> published (acquire): what the tasks of a list wrote before
//                  the n-th publish is visible to who sees n or more
//   ListOwner      release (release) -> try_claim (acquire): one thread at a time is in a list, and
//                  the next one goes on where the last one stopped
// The counters are zero at the start of a run; Gate::open shows that to helpers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiled_program.h"
#include "handover.h"

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
    uint32_t next = 0;           // word to go on with
    std::vector<uint32_t> seen;  // what the other lists had published when last looked at
};

struct CompiledCounters {
    explicit CompiledCounters(const CompiledProgram& program);

    TileClaims& claims(int lane, int32_t tile_task) {
        return claims_of_lane[size_t(lane)][size_t(tile_task) + kLineClaims];
    }
    // Starts a run: what earlier runs left counts as nothing.
    void begin_run(const CompiledProgram& program);

    static constexpr size_t kLineClaims = 128 / sizeof(TileClaims);

    std::vector<ListState> lists;
    std::vector<StepProgress> tiles_done;                 // by tile task
    std::vector<std::vector<TileClaims>> claims_of_lane;  // each on cache lines of its own
    int64_t epoch = 0;
    bool needs_reset = false;
};

}  // namespace leat::scheduler
