// StepOrder: which step of a plan is known to have ended before which other begins.
//
// The transitive closure of a graph of steps. Two numbers for each step where these say all, or
// nothing where the steps are in one line; else a bit set of successors for each step. Where the
// sets would be too large, two numbers as well: then less is known than holds, never more.
// Immutable, so safe to use concurrently. Memory, which copies share: 16 n bytes, or n^2 / 8, which
// is at most kMostOrderBytes.
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

// Up to 8,192 steps; networks of the zoo have up to 190. A plan has up to five such matrices at a
// time: of many more steps they would be more than all the rest of it
// (docs/measurements/compile-time.md).
constexpr int64_t kMostOrderBytes = int64_t{8} << 20;

// Whether all that is known of the order of so many steps is kept.
bool keeps_whole_order(size_t steps);

// For tests, and for measuring what is lost: another limit than kMostOrderBytes while it lives. One
// at a time, and none while another thread compiles.
class OrderLimitForTests {
  public:
    explicit OrderLimitForTests(int64_t most_bytes);
    ~OrderLimitForTests();
    OrderLimitForTests(const OrderLimitForTests&) = delete;
    OrderLimitForTests& operator=(const OrderLimitForTests&) = delete;
};

class StepOrder {
  public:
    // The steps that each step waits for, all of them smaller.
    explicit StepOrder(std::span<const std::vector<int32_t>> predecessors);
    // One after the other.
    static StepOrder serial(int32_t steps) { return StepOrder(steps); }

    int32_t step_count() const { return steps_; }
    friend bool operator==(const StepOrder& a, const StepOrder& b) {
        return a.steps_ == b.steps_ && have_same_value(a.bits_, b.bits_) &&
               have_same_value(a.near_, b.near_);
    }
    // Any two steps are ordered.
    bool is_serial() const { return bits_ == nullptr && near_ == nullptr; }
    // False: some steps precede others of which precedes() does not say so.
    bool is_whole() const { return is_whole_; }
    // Strictly: no step precedes itself.
    bool precedes(int32_t a, int32_t b) const {
        if (near_ != nullptr) {
            return (*near_)[size_t(a)].precedes(a, b);
        }
        return is_serial() ? a < b
                           : ((successors(a)[size_t(b) / 64] >> (size_t(b) % 64)) & 1U) != 0;
    }
    // Of an order that is not serial: clears bit s % 64 of word s / 64 for each step s that `step`
    // does not precede.
    void keep_successors(int32_t step, std::span<uint64_t> words) const;
    // Of an order that is not whole: `step` precedes this step and all behind it.
    int32_t settled_at(int32_t step) const { return (*near_)[size_t(step)].settled_at; }

  private:
    static constexpr int32_t kNearSteps = 64;
    // What is known of the steps after one.
    struct Near {
        uint64_t bits = 0;       // bit i: it precedes the one i + 1 places behind it
        int32_t settled_at = 0;  // it precedes this one and all behind it

        bool precedes(int32_t own, int32_t other) const {
            return other >= settled_at || (own < other && other - own <= kNearSteps &&
                                           ((bits >> (other - own - 1)) & 1U) != 0);
        }
        bool operator==(const Near& other) const {
            return bits == other.bits && settled_at == other.settled_at;
        }
    };
    std::span<const uint64_t> successors(int32_t step) const {
        return std::span(*bits_).subspan(size_t(step) * words_, words_);
    }
    using Predecessors = std::span<const std::vector<int32_t>>;

    explicit StepOrder(int32_t steps) : steps_(steps) {}
    static std::vector<Near> near_of(Predecessors predecessors);

    int32_t steps_ = 0;
    bool is_whole_ = true;
    size_t words_ = 0;
    // At most one of them; none: serial.
    std::shared_ptr<const std::vector<uint64_t>> bits_;
    std::shared_ptr<const std::vector<Near>> near_;
};

}  // namespace leat
