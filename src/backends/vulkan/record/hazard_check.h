// The proof of a BarrierPlan: every pair of accesses to the same bytes, one of them a write, must
// have a chain of barriers between them. Shares no code with the planner, because validation layers
// see no access that is made through an address.
#pragma once

#include <string>
#include <vector>

#include "backends/vulkan/record/barrier_plan.h"
#include "backends/vulkan/record/command_list.h"

namespace leat::vulkan {

enum class HazardKind : uint8_t { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };

struct Hazard {
    HazardKind kind{};
    uint32_t earlier = 0;  // commands in the list
    uint32_t later = 0;
    BufferId buffer{};
    ByteRange bytes;
    // `later` belongs to the next run of the same list.
    bool is_between_runs = false;
    // `later` is the host, which reads after the run; earlier == later.
    bool is_by_host = false;

    // "read after write of bytes 0 to 16 of buffer 2: command 7 after command 3"
    std::string text() const;
};

struct HazardCheck {
    std::vector<Hazard> hazards;
    // Commands that the plan leaves out or has twice, and pairs that it has in the wrong order.
    std::vector<std::string> faults;

    bool is_clean() const { return hazards.empty() && faults.empty(); }
};

// Two runs of the plan, one after the other.
HazardCheck check_hazards(const CommandList& list, const BarrierPlan& plan);

}  // namespace leat::vulkan
