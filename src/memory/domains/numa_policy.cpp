#include "memory/domains/numa_policy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#ifdef __linux__
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include <vector>
#endif

namespace leat {

int64_t page_bytes() {
    static const int64_t kBytes = ::sysconf(_SC_PAGESIZE);
    return kBytes;
}

std::string_view name_of(MemoryPolicy policy) {
    switch (policy) {
        case MemoryPolicy::kNone:
            return "none";
        case MemoryPolicy::kUser:
            return "user";
        case MemoryPolicy::kFirstTouch:
            return "first touch";
        case MemoryPolicy::kPrefer:
            return "prefer";
        case MemoryPolicy::kBind:
            return "bind";
        case MemoryPolicy::kInterleave:
            return "interleave";
    }
    return "unknown";
}

#ifdef __linux__
namespace {

using Word = unsigned long;  // NOLINT(google-runtime-int): the kernel's type
constexpr int kWordBits = int(sizeof(Word) * CHAR_BIT);
constexpr int kMostNodes = 1024;  // the kernel's own maximum
constexpr size_t kWords = kMostNodes / kWordBits;
// The kernel looks at one bit less than it is told.
constexpr Word kMaxNode = kMostNodes + 1;

struct NodeMask {
    Word words[kWords] = {};

    void add(int node) {
        if (node >= 0 && node < kMostNodes) {
            words[node / kWordBits] |= Word{1} << (node % kWordBits);
        }
    }
    std::vector<int> nodes() const {
        std::vector<int> list;
        for (int node = 0; node < kMostNodes; ++node) {
            if (((words[node / kWordBits] >> (node % kWordBits)) & 1U) != 0) {
                list.push_back(node);
            }
        }
        return list;
    }
};

int kernel_mode(MemoryPolicy policy) {
    switch (policy) {
        case MemoryPolicy::kBind:
            return MPOL_BIND;
        case MemoryPolicy::kInterleave:
            return MPOL_INTERLEAVE;
        default:
            return MPOL_PREFERRED;
    }
}

// By the kernel's number.
constexpr const char* kModeNames[] = {
    "default", "prefer", "bind", "interleave", "local", "prefer many", "weighted interleave"};

}  // namespace

int set_memory_policy(std::byte* begin,
                      int64_t bytes,
                      MemoryPolicy policy,
                      std::span<const int> os_nodes) {
    NodeMask mask;
    for (const int node : os_nodes) {
        mask.add(node);
    }
    const long result =  // NOLINT(google-runtime-int): the system call's type
        ::syscall(SYS_mbind, begin, bytes, kernel_mode(policy), mask.words, kMaxNode, 0);
    return result == 0 ? 0 : errno;
}

ThreadPolicy thread_memory_policy() {
    ThreadPolicy policy;
    NodeMask mask;
    int mode = 0;
    if (::syscall(SYS_get_mempolicy, &mode, mask.words, kMaxNode, nullptr, 0) != 0) {
        return policy;
    }
    constexpr int kFlags = 0xe000;  // MPOL_MODE_FLAGS; older headers miss one of them
    const auto bare = size_t(mode & ~kFlags);
    policy.is_known = true;
    policy.is_default = bare == MPOL_DEFAULT;
    policy.text = bare < std::size(kModeNames) ? kModeNames[bare] : fmt::format("mode {}", bare);
    if (const std::vector<int> nodes = mask.nodes(); !nodes.empty()) {
        policy.text += fmt::format(" over nodes {}", fmt::join(nodes, ","));
    }
    return policy;
}

bool query_page_nodes(const std::byte* begin, std::span<int> nodes) {
    constexpr size_t kChunk = 4096;
    std::vector<const void*> pages(std::min(nodes.size(), kChunk));
    for (size_t first = 0; first < nodes.size(); first += kChunk) {
        const size_t count = std::min(nodes.size() - first, kChunk);
        for (size_t i = 0; i < count; ++i) {
            pages[i] = begin + int64_t(first + i) * page_bytes();
        }
        // Without target nodes nothing moves: the statuses are the pages' nodes.
        if (::syscall(SYS_move_pages, 0, count, pages.data(), nullptr, &nodes[first], 0) != 0) {
            return false;
        }
    }
    for (int& node : nodes) {
        node = std::max(node, -1);
    }
    return true;
}
#else
int set_memory_policy(std::byte*, int64_t, MemoryPolicy, std::span<const int>) {
    return ENOSYS;
}
ThreadPolicy thread_memory_policy() {
    return {};
}
bool query_page_nodes(const std::byte*, std::span<int>) {
    return false;
}
#endif

}  // namespace leat
