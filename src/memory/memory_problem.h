// MemoryProblem: the values and steps of one plan as integers, from which MemoryPlanner decides the
// order of the steps and the place of every value.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/inline_vector.h"
#include "memory/step_moments.h"

namespace leat {

struct MemoryValue {
    int64_t size_bytes = 0;
    // False: its memory is not the plan's (a graph input, strings). Its uses order steps all the
    // same.
    bool is_placed = true;
    bool is_kept = false;  // somebody reads it after the last step
};

// The bytes of `part` are those of `whole` from offset_bytes on.
struct ValueView {
    int32_t part = 0;
    int32_t whole = 0;
    int64_t offset_bytes = 0;
};

struct MemoryStep {
    InlineVector<int32_t, 4> reads;   // values
    InlineVector<int32_t, 2> writes;  // values; each is written by one step at most
    // Of `reads`: those that writes[0] may be written over, the best first.
    InlineVector<int32_t, 2> in_place;
    // Not empty: the step does nothing but copy, and is needless where all of these hold.
    std::vector<ValueView> views;
    // What is known of its inside; null: all values are in use all the step long.
    std::shared_ptr<const InnerSteps> inside = nullptr;
};

struct MemoryProblem {
    std::vector<MemoryValue> values;
    // Hold in any case; part by part in an order in which each part is new.
    std::vector<ValueView> views;
    std::vector<MemoryStep> steps;  // in a valid order
    int64_t alignment_bytes = 64;   // of every address that a step is given
};

}  // namespace leat
