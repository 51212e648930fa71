// DevicePlan: what a plan has in memory of devices: which values, where, and who uses them.
//
// A value that a part makes stays where it is for other parts in the same memory (one domain of one
// device); a transfer, which is a step of the plan, brings it to the host if somebody there or in
// another memory needs it. What a part needs from elsewhere is brought once for all parts there.
//
// Parts of a device that reaches the host's memory work in the arena of the host's plan
// (DevicePart::works_in_host_memory): their operands are the graph's values, where the host has
// them, and only what is not in the arena (inputs of the graph, at the user's addresses) is brought
// there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_vector.h"
#include "base/inline_vector.h"
#include "graph/graph_data.h"
#include "machine/device_part.h"
#include "memory/step_moments.h"

namespace leat {

struct DeviceLayout;

// The memory that all parts of a plan share in one domain.
struct DeviceMemory {
    std::shared_ptr<const DevicePart> part;  // one of them: knows domain, backend and queues
    // Parts work in the host's arena, which the backend imports: all below is 0.
    bool is_arena = false;
    int64_t size_bytes = 0;
    int64_t lower_bound_bytes = 0;
    int64_t unplanned_bytes = 0;  // without any reuse
    int64_t streamed_bytes = 0;   // constants that each run copies there
    int64_t window_bytes = 0;     // that these take, one after the other
    // Where values lie in a memory of the device's own; plans with other sizes start from it. It is
    // an earlier plan's until this plan has its own.
    std::shared_ptr<const DeviceLayout> layout = nullptr;
    bool is_laid_out = false;  // `layout` is this plan's
};

struct DeviceValue {
    int32_t memory = 0;  // index of DevicePlan::memories
    int64_t size_bytes = 0;
    int64_t alignment_bytes = 1;
    std::string_view name;     // of a value or node of the graph
    int32_t number = -1;       // not negative: it is that transient of the node
    bool is_streamed = false;  // a constant, which each run copies there
};

using DeviceValues = InlineVector<int32_t, 4>;

// Describes what a step does there. Values are numbers of DevicePlan, or, in the arena, of the
// graph; -1: an operand without a place.
struct DeviceUse {
    int32_t memory = 0;
    DeviceValues reads;
    DeviceValues writes;
    DeviceValues transients;                   // of a part
    std::shared_ptr<const InnerSteps> inside;  // of a part
    InlineVector<int64_t, 4> offsets;          // of reads, writes and transients
    // Steps of the plan, by position, that are submitted before this one, and behind which the
    // device itself orders it.
    InlineVector<int32_t, 4> follows;
    // Values without a place, which order steps: this one's end, if some step waits for it
    // (-1: none does), and ends that this one waits for.
    int32_t end = -1;
    DeviceValues ends_before;
};

struct DevicePlan {
    // Numbers of values go on where those of the graph end: value n is values[n - first_value].
    int32_t first_value = 0;
    std::vector<DeviceMemory> memories;
    std::vector<DeviceValue> values;
    std::vector<DeviceUse> uses;
    // Values of the graph that nobody needs on the host. Empty: there are none.
    IdVector<ValueId, bool> is_off_host;
    // The nodes that transfers are steps of, in the order in which they were made. Plans for other
    // shapes share them.
    std::vector<std::shared_ptr<const NodeData>> transfer_nodes;
    int64_t transfer_bytes = 0;  // of a run

    const DeviceMemory& memory_of(const DeviceUse& use) const {
        return memories[size_t(use.memory)];
    }
    // About what it takes on the host.
    int64_t own_bytes() const {
        auto bytes = int64_t(values.size() * sizeof(DeviceValue) + uses.size() * sizeof(DeviceUse) +
                             transfer_nodes.size() * sizeof(NodeData) + is_off_host.size() / 8);
        for (const DeviceUse& use : uses) {
            bytes += int64_t((use.reads.size() + use.writes.size() + use.transients.size()) *
                             (sizeof(int32_t) + sizeof(int64_t)));
        }
        return bytes;
    }
    // The name of a value of the graph or of this plan.
    std::string name_of(const GraphData& graph, int32_t value) const;
};

}  // namespace leat
