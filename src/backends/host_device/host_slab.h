// Memory of a device on the host: a domain of its own, with a limit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leat/plugin_backend.h"

namespace leat::host_device {

// Of host memory that becomes a slab.
constexpr int64_t kImportAlignmentBytes = 64;

// Where slabs take memory from; outlives them. Thread-safe.
struct MemorySource {
    MemorySource(plugin::Host host_services, int32_t number, int64_t alignment, int64_t limit)
        : host(host_services), domain(number), alignment_bytes(alignment), limit_bytes(limit) {}

    plugin::Host host;
    int32_t domain;
    int64_t alignment_bytes;
    int64_t limit_bytes;  // 0: none
    std::atomic<int64_t> used_bytes{0};
};

class HostSlab final : public plugin::Slab {
  public:
    // Throws kLeatOutOfMemory beyond the limit.
    HostSlab(MemorySource& source, int64_t bytes);
    // Borrows `memory`.
    HostSlab(MemorySource& source, void* memory, int64_t bytes);
    ~HostSlab() override;

    std::byte* data() const { return data_; }
    int64_t bytes() const { return bytes_; }
    int32_t domain() const { return source_.domain; }

  private:
    MemorySource& source_;
    std::byte* data_;
    int64_t bytes_;
    bool is_owner_;
};

// The domain of a range's slab; the host's where there is none.
int32_t domain_of(LeatPlacement placement);

// The address of a range of a slab; throws where there is no such range.
std::byte* address_of(LeatPlacement placement, int64_t bytes);

}  // namespace leat::host_device
