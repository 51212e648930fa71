// StepOrder: which step of a plan is known to have ended before which other begins.
//
// The transitive closure of a graph of steps, as a bit set of successors for each step; nothing of
// that size where the steps are in one line. Immutable, so safe to use concurrently. Memory: n^2 /
// 8 bytes, which copies share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/same_value.h"

namespace leat {

// By step, earlier ones that it waits for.
using StepWaits = std::vector<std::vector<int32_t>>;

class StepOrder {
  public:
    // The steps that each step waits for, all of them smaller.
    explicit StepOrder(std::span<const std::vector<int32_t>> predecessors);
    // One after the other.
    static StepOrder serial(int32_t steps) { return StepOrder(steps); }

    int32_t step_count() const { return steps_; }
    friend bool operator==(const StepOrder& a, const StepOrder& b) {
        return a.steps_ == b.steps_ && have_same_value(a.bits_, b.bits_);
    }
    // Any two steps are ordered.
    bool is_serial() const { return bits_ == nullptr; }
    // Strictly: no step precedes itself.
    bool precedes(int32_t a, int32_t b) const {
        return is_serial() ? a < b
                           : ((successors(a)[size_t(b) / 64] >> (size_t(b) % 64)) & 1U) != 0;
    }
    // Of an order that is not serial: bit s % 64 of word s / 64 for each step s that `step`
    // precedes.
    std::span<const uint64_t> successors(int32_t step) const {
        return std::span(*bits_).subspan(size_t(step) * words_, words_);
    }

  private:
    explicit StepOrder(int32_t steps) : steps_(steps) {}
    bool is_line() const;

    int32_t steps_ = 0;
    size_t words_ = 0;
    std::shared_ptr<const std::vector<uint64_t>> bits_;  // null: serial
};

}  // namespace leat
