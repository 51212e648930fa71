// The kernel's memory policies, by its own system calls: where pages of a range are to be, and
// where they are. Nodes have the operating system's numbers.
//
// Thread-safe. Linux only; elsewhere every call is refused with ENOSYS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace leat {

// From weak to strong.
enum class MemoryPolicy : uint8_t {
    kNone,        // nothing is asked of the kernel
    kUser,        // the policy that the process was started with is kept
    kFirstTouch,  // a thread of the domain touches every page first
    kPrefer,      // there, or elsewhere when the node is full
    kBind,        // there and nowhere else
    kInterleave,  // page by page in turn on several nodes
};
std::string_view name_of(MemoryPolicy policy);

// Asks for kPrefer (one node), kBind or kInterleave for pages of [begin, begin + bytes) that nobody
// has touched yet. Returns 0 or the error number.
int set_memory_policy(std::byte* begin,
                      int64_t bytes,
                      MemoryPolicy policy,
                      std::span<const int> os_nodes);

// What the calling thread was told for all its memory, by numactl for example.
struct ThreadPolicy {
    bool is_known = false;  // false: the kernel does not let us ask
    bool is_default = true;
    std::string text;  // "interleave over nodes 0-1"
};
ThreadPolicy thread_memory_policy();

// The node of each page of [begin, begin + nodes.size() pages), -1 where there is none. False: the
// kernel refuses to tell.
bool query_page_nodes(const std::byte* begin, std::span<int> nodes);

int64_t page_bytes();

}  // namespace leat
