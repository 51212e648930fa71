// How much memory of a node this process may still take: the least of what its user allows, what
// the node has free, and what the control groups leave.
//
// Read from the kernel's files on every call; a moment later it may be less.
#pragma once

#include <cstdint>
#include <string>

namespace leat {

struct MemoryBudget {
    int64_t bytes = 0;
    std::string reason;  // what decided, with numbers
};

// Of node `os_node`, of the whole machine if that is negative or has no files. `left_by_user_bytes`
// < 0: the user gave no limit. Every path lies under `root`: "" is this machine.
//   node:  MemFree and half of its file pages (they are given up under pressure; half is what the
//          kernel's own MemAvailable counts at least), less a reserve of 1/32, 16 MiB to 1 GiB
//   group: memory.max - memory.current + inactive_file of version 2, or the same of version 1; the
//          least over the process's group and all its ancestors
MemoryBudget read_memory_budget(const std::string& root, int os_node, int64_t left_by_user_bytes);

}  // namespace leat
