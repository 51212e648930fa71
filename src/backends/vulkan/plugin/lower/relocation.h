// Relocation: a program's commands on the memory that the host gave. Buffers that share memory
// become ranges of one buffer, so that the barrier planner sees what lies over what.
#pragma once

#include <utility>
#include <vector>

#include "backends/vulkan/memory/arena.h"
#include "backends/vulkan/plugin/lower/program.h"
#include "backends/vulkan/record/recording.h"

namespace leat::vulkan {

// A list whose places are known, but for external buffers.
struct RelocatedList {
    CommandList list;
    std::vector<BufferPlace> places;  // by BufferId
    // The list's external buffers, and what they are in the program.
    std::vector<std::pair<BufferId, ProgramBuffer>> externals;
};

// Where a buffer of a program begins; no arena for external and for empty ones.
struct ArenaRange {
    const Arena* arena = nullptr;
    int64_t offset_bytes = 0;
};

// `ranges`: by BufferId of the program. Throws where the addresses of one do not run on.
RelocatedList place_list(const DeviceProgram& program, const std::vector<ArenaRange>& ranges);

}  // namespace leat::vulkan
