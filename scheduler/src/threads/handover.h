// Every hand-over of work between threads: the atomics of the executor and their memory ordering.
//
//   Gate           lets helpers into a run          open (release)    -> enter (acquire)
//                  and waits until they are out     leave (release)   -> is_empty (acquire)
//   SlotFlag       gives numbers to helpers         free (release)    -> try_take (acquire)
//   TileClaims     gives every tile to one worker   no data: relaxed
//   StepProgress   tells that tiles are finished    publish (release) -> is_done (acquire)
//   CancelFlag     stops a run, keeps one error     set (release)     -> take (acquire)
//   LookingCount   helpers on their way to a run    sequentially consistent with Gate::open and
//   try_enter
// Nothing else passes data between workers; the thread provider only brings threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "leat/status.h"

namespace leat::scheduler {

// The door of one run. Starts closed. One word: closed, on hold, most helpers allowed, helpers
// inside.
class Gate {
  public:
    // Only while closed and empty.
    void open(int most_helpers) {
        word_.store(uint64_t(most_helpers) << kMostShift, std::memory_order_seq_cst);
    }
    // False: closed or full. What the opener wrote before open() is visible afterwards.
    bool try_enter() {
        uint64_t word = word_.load(std::memory_order_seq_cst);
        while (missing_in(word) > 0) {
            if (word_.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    // What this helper wrote is visible to who sees is_empty() afterwards.
    void leave() { word_.fetch_sub(1, std::memory_order_release); }
    // Between hold() and resume() no helper enters: there would be nothing to do. Anybody inside.
    void hold() { word_.fetch_or(kHeld, std::memory_order_relaxed); }
    // Sequentially consistent: see LookingCount.
    void resume() { word_.fetch_and(~kHeld, std::memory_order_seq_cst); }
    bool is_held() const { return (word_.load(std::memory_order_relaxed) & kHeld) != 0; }
    // No helper enters any more, whoever calls resume(); those inside stay.
    void close() { word_.fetch_or(kClosed, std::memory_order_relaxed); }
    // In a child of fork(), where no helper is left: closed and empty.
    void abandon() { word_.store(kClosed, std::memory_order_relaxed); }
    bool is_closed() const { return (word_.load(std::memory_order_relaxed) & kClosed) != 0; }
    bool is_empty() const { return inside_in(word_.load(std::memory_order_acquire)) == 0; }
    // Helpers that may still come; 0 when closed.
    int missing() const { return missing_in(word_.load(std::memory_order_seq_cst)); }
    int inside() const { return int(inside_in(word_.load(std::memory_order_relaxed))); }

  private:
    static constexpr uint64_t kCountMask = 0xffff;
    static constexpr int kMostShift = 32;
    static constexpr uint64_t kClosed = uint64_t{1} << 63;
    static constexpr uint64_t kHeld = uint64_t{1} << 62;

    static uint64_t inside_in(uint64_t word) { return word & kCountMask; }
    static int missing_in(uint64_t word) {
        const uint64_t most = (word >> kMostShift) & kCountMask;
        return (word & (kClosed | kHeld)) != 0 ? 0 : int(most) - int(inside_in(word));
    }

    std::atomic<uint64_t> word_{kClosed};
};

// Whether a worker's number is in use. What the last holder wrote is visible to the next one.
class SlotFlag {
  public:
    bool try_take() {
        return !taken_.load(std::memory_order_relaxed) &&
               !taken_.exchange(true, std::memory_order_acquire);
    }
    void free() { taken_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> taken_{false};
};

// Half-open.
struct TileRange {
    int64_t begin = 0;
    int64_t end = 0;
    bool empty() const { return begin >= end; }
};

// How far one lane's tiles of one step are claimed: the epoch of the run in the upper 24 bits, the
// next tile in the lower 40. A value of an older epoch counts as zero, so a run starts without
// resetting anything.
class TileClaims {
  public:
    static constexpr int kTileBits = 40;
    static constexpr int64_t kMaxEpoch = (int64_t{1} << 23) - 1;

    // Up to `chunk` tiles of [0, tile_count) that nobody else got; empty when none is left.
    TileRange claim(int64_t epoch, int64_t tile_count, int64_t chunk) {
        int64_t value = value_.load(std::memory_order_relaxed);
        for (;;) {
            const int64_t begin = (value >> kTileBits) == epoch ? value & kTileMask : 0;
            if (begin >= tile_count) {
                return {tile_count, tile_count};
            }
            const int64_t end = tile_count - begin < chunk ? tile_count : begin + chunk;
            if (value_.compare_exchange_weak(value, (epoch << kTileBits) | end,
                                             std::memory_order_relaxed)) {
                return {begin, end};
            }
        }
    }
    void reset() { value_.store(0, std::memory_order_relaxed); }

  private:
    static constexpr int64_t kTileMask = (int64_t{1} << kTileBits) - 1;
    std::atomic<int64_t> value_{0};
};

// Tiles of one step finished since the last reset, over all runs: a step is done in the run of
// epoch e when e times its tiles are.
class StepProgress {
  public:
    void publish(int64_t tiles) { tiles_.fetch_add(tiles, std::memory_order_release); }
    bool is_done(int64_t epoch, int64_t tile_count) const {
        return tiles_.load(std::memory_order_acquire) >= epoch * tile_count;
    }
    void reset() { tiles_.store(0, std::memory_order_relaxed); }

  private:
    std::atomic<int64_t> tiles_{0};
};

// The first error of a run.
class CancelFlag {
  public:
    bool is_set() const { return state_.load(std::memory_order_relaxed) != kNone; }
    void set(Status error) {
        uint8_t none = kNone;
        if (state_.compare_exchange_strong(none, kSetting, std::memory_order_relaxed)) {
            error_ = std::move(error);
            state_.store(kSet, std::memory_order_release);
        }
    }
    // Once, after is_set(), when no worker is in the run; who cancels from outside may be just
    // doing so.
    Status take() {
        while (state_.load(std::memory_order_acquire) != kSet) {
        }
        return std::move(error_);
    }

  private:
    static constexpr uint8_t kNone = 0;
    static constexpr uint8_t kSetting = 1;
    static constexpr uint8_t kSet = 2;

    std::atomic<uint8_t> state_{kNone};
    Status error_;
};

// Helpers that were called or look for a run. A helper that gives up subtracts itself first and
// looks once more; a run opens its gate first and then reads the count: one of the two sees the
// other.
class LookingCount {
  public:
    int count() const { return count_.load(std::memory_order_seq_cst); }
    void add(int helpers) { count_.fetch_add(helpers, std::memory_order_seq_cst); }
    // In a child of fork(), where nobody is on the way.
    void forget() { count_.store(0, std::memory_order_relaxed); }

  private:
    std::atomic<int> count_{0};
};

}  // namespace leat::scheduler
