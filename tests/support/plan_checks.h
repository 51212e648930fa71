// check_plan: prove_plan(), as tests ask it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "leat/status.h"
#include "memory/offsets/plan.h"

namespace leat {

// predecessors: by step, the steps that it waits for.
inline Status check_plan(std::span<const UsedBuffer> buffers,
                         std::span<const std::vector<int32_t>> predecessors,
                         const MemoryPlan& plan) {
    const auto waits = std::make_shared<const StepWaits>(predecessors.begin(), predecessors.end());
    return prove_plan(buffers, waits, plan, nullptr).error();
}

// Of lifetimes: each step waits for the one before it.
inline Status check_plan(std::span<const PlannedBuffer> buffers, const MemoryPlan& plan) {
    std::vector<UsedBuffer> used;
    StepWaits waits;
    for (const PlannedBuffer& buffer : buffers) {
        UsedBuffer& own = used.emplace_back();
        own.size_bytes = buffer.size_bytes;
        own.alignment_bytes = buffer.alignment_bytes;
        own.users = {buffer.begin_step};
        if (buffer.end_step - 1 > buffer.begin_step) {
            own.users.push_back(buffer.end_step - 1);
        }
        waits.resize(std::max(waits.size(), size_t(buffer.end_step)));
    }
    for (size_t step = 1; step < waits.size(); ++step) {
        waits[step] = {int32_t(step) - 1};
    }
    return check_plan(used, waits, plan);
}

}  // namespace leat
