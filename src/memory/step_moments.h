// StepMoments: the steps of a plan, some of which do several things inside whose order is known.
//
//   step     0     1 (has two inner steps)          2
//   moment   0     1 begins   2   3   4 ends        5
//
// What such a step uses only inside, or not until its end, may share bytes with what it uses before
// or afterwards. Steps of which nothing is known are one moment. Immutable, so safe to use
// concurrently.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/order/step_order.h"

namespace leat {

// What is known of the inside of a step, as of a part of a graph that a device runs by itself.
struct InnerSteps {
    enum class Side : uint8_t {
        kRead,     // holds something when the step begins
        kWritten,  // holds something when it has ended
        kInside,   // neither
    };
    struct Use {
        int32_t value = 0;
        Side side = Side::kInside;
        std::vector<int32_t> steps;  // inner ones that use it, ascending; none: all the step long
        friend bool operator==(const Use&, const Use&) = default;
    };
    StepWaits waits;        // by inner step: earlier ones
    std::vector<Use> uses;  // all that the step reads and writes, each value once
    friend bool operator==(const InnerSteps&, const InnerSteps&) = default;
};

class StepMoments {
  public:
    // By step; null: it is one moment.
    explicit StepMoments(std::vector<std::shared_ptr<const InnerSteps>> insides);

    // Each step is one moment, so that the numbers are the same.
    bool is_plain() const { return first_.empty(); }
    int32_t count() const { return count_; }
    int32_t begin(int32_t step) const { return is_plain() ? step : first_[size_t(step)]; }
    int32_t end(int32_t step) const { return is_plain() ? step : first_[size_t(step) + 1] - 1; }
    int32_t step_of(int32_t moment) const;

    // The moments that each waits for, where the steps wait so: all that is relied on.
    StepWaits waits(std::span<const std::vector<int32_t>> waits_of_steps) const;
    // Those at which the step uses the value, ascending.
    std::vector<int32_t> users(int32_t step, const InnerSteps::Use& use) const;

  private:
    void add_inner_waits(int32_t step, StepWaits& waits) const;

    std::vector<std::shared_ptr<const InnerSteps>> insides_;  // by step
    std::vector<int32_t> first_;  // by step, and one more for the end; empty: plain
    int32_t count_ = 0;
};

}  // namespace leat
