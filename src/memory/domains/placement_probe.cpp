#include "memory/domains/placement_probe.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "leat/scheduler/thread_binding.h"

namespace leat {
namespace {

// One page of its own, given back at the end.
class ProbePage {
  public:
    ProbePage() {
        void* memory = ::mmap(nullptr, size_t(page_bytes()), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        data_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
    }
    ~ProbePage() {
        if (data_ != nullptr) {
            ::munmap(data_, size_t(page_bytes()));
        }
    }
    ProbePage(const ProbePage&) = delete;
    ProbePage& operator=(const ProbePage&) = delete;

    std::byte* data() const { return data_; }
    void touch() { *static_cast<volatile std::byte*>(data_) = std::byte{1}; }
    // -1: unknown.
    int node() const {
        int node = -1;
        (void)query_page_nodes(data_, {&node, 1});
        return node;
    }

  private:
    std::byte* data_ = nullptr;
};

// 0: pages go there, as far as the kernel tells; else the error number, or -1: a page went
// elsewhere.
int try_policy(const MemoryDomain& domain, MemoryPolicy policy) {
    ProbePage page;
    if (page.data() == nullptr) {
        return ENOMEM;
    }
    const int node = domain.os_node;
    const int error = set_memory_policy(page.data(), page_bytes(), policy, {&node, 1});
    if (error != 0) {
        return error;
    }
    page.touch();
    const int found = page.node();
    return found < 0 || found == node || policy == MemoryPolicy::kPrefer ? 0 : -1;
}

bool can_touch_first(const MemoryDomain& domain) {
    return scheduler::ThreadBinding(domain.cpus).bind();
}

}  // namespace

PlacementProbe probe_placement(const MemoryDomain& domain, bool can_bind) {
    const ThreadPolicy own = thread_memory_policy();
    if (own.is_known && !own.is_default) {
        return {MemoryPolicy::kUser,
                fmt::format("the process's own memory policy ({}) is kept", own.text)};
    }
    std::string reason = "the kernel does not let memory policies be used";
    if (own.is_known) {
        const int error = can_bind ? try_policy(domain, MemoryPolicy::kBind) : ENOMEM;
        if (error == 0) {
            return {MemoryPolicy::kBind, ""};
        }
        reason = !can_bind   ? fmt::format("node {} is full", domain.os_node)
                 : error < 0 ? "pages that are bound go elsewhere"
                             : fmt::format("mbind: {}", std::strerror(error));
        if (try_policy(domain, MemoryPolicy::kPrefer) == 0) {
            return {MemoryPolicy::kPrefer, reason};
        }
    }
    return {can_touch_first(domain) ? MemoryPolicy::kFirstTouch : MemoryPolicy::kNone, reason};
}

}  // namespace leat
