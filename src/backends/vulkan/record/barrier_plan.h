// BarrierPlan: the order in which a list's commands are recorded, and where barriers and submits
// go. Commands are put into levels: each runs in the level after the last one that it depends on,
// and one memory barrier for all memory stands between two levels.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/vulkan/record/command_list.h"

namespace leat::vulkan {

// Stages of the device's pipeline, a bit each.
using Stages = uint8_t;
constexpr Stages kComputeStage = 1;
constexpr Stages kCopyStage = 2;
constexpr Stages kHostStage = 4;
constexpr Stages kAllStages = kComputeStage | kCopyStage | kHostStage;

// The stage that a command runs in.
Stages stage_of(const Command& command);

// Whatever `to` does after it sees what `from` wrote before it, and waits for what `from` read.
struct Barrier {
    Stages from = 0;
    Stages to = 0;
};

struct RecordedStep {
    bool is_barrier = false;
    Barrier barrier;
    uint32_t command = 0;  // in the list, where it is no barrier
};

struct BarrierPlan {
    std::vector<RecordedStep> steps;
    // Steps at which submits begin; the first is 0.
    std::vector<uint32_t> submit_begins;
    int level_count = 0;
};

struct BarrierPlanOptions {
    // Drivers end a process whose submit takes seconds (some after two). A command alone may take
    // longer.
    int64_t submit_budget_ns = 100'000'000;
};

// Starts with a barrier after everything that the queue did before, so that a list may be replayed
// while an earlier run of it is in flight, and ends with one that shows the host what was written.
BarrierPlan plan_barriers(const CommandList& list, BarrierPlanOptions options = {});

}  // namespace leat::vulkan
