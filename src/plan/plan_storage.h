// PlanStorage: where a run finds the elements of each value.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/layout_choice.h"
#include "plan/plan_facts.h"
#include "plan/plan_work.h"

namespace leat {

// Where the elements of a value live.
struct Storage {
    enum class Kind : uint8_t {
        kNone,      // no elements: an absent operand, or a value that nobody needs
        kArena,     // index: buffer
        kStrings,   // index: string buffer
        kGrown,     // index: grown tensor of the request
        kInput,     // index: graph input
        kConstant,  // index: constant of the plan
    };
    Kind kind = Kind::kNone;
    int32_t index = -1;
    int64_t offset_bytes = 0;  // in the buffer, input or constant
};

// A graph output: a tensor somewhere, of which a run may say extents (kGrown: 0 here), or
// (sequences, optionals) a bound input as it is.
struct PlanOutput {
    DType dtype = DType::kUndefined;
    Shape shape;
    Storage storage;
    bool fills_buffer = false;  // the arena buffer holds nothing else
};

struct PlanStorage {
    std::vector<Storage> args;  // of PlanWork::args
    std::vector<PlanOutput> outputs;
    std::vector<int64_t> string_counts;  // elements of each string buffer
    std::vector<Shape> grown_shapes;  // of each grown tensor: 0 where only the run knows the extent
};

// Adds constants that nobody but outputs and transfers reads to `work`, and the addresses of those
// that transfers read.
PlanStorage place_values(const PlanContext& context,
                         const PlanFacts& facts,
                         const PlanMemory& memory,
                         PlanWork& work);

}  // namespace leat
