#include "backends/host_device/host_slab.h"

#include <fmt/core.h>

#include "backends/queues/transfer.h"

namespace leat::host_device {

HostSlab::HostSlab(MemorySource& source, int64_t bytes)
    : source_(source), data_(nullptr), bytes_(bytes), is_owner_(true) {
    const int64_t used = source_.used_bytes.fetch_add(bytes) + bytes;
    if (source_.limit_bytes != 0 && used > source_.limit_bytes) {
        source_.used_bytes.fetch_sub(bytes);
        throw plugin::Error(kLeatOutOfMemory,
                            fmt::format("{} bytes more than the {} in use; the limit is {}", bytes,
                                        used - bytes, source_.limit_bytes));
    }
    try {
        data_ = static_cast<std::byte*>(source_.host.allocate(bytes, source_.alignment_bytes));
    } catch (const std::bad_alloc&) {
        source_.used_bytes.fetch_sub(bytes);
        throw;
    }
}

HostSlab::HostSlab(MemorySource& source, void* memory, int64_t bytes)
    : source_(source), data_(static_cast<std::byte*>(memory)), bytes_(bytes), is_owner_(false) {}

HostSlab::~HostSlab() {
    if (is_owner_) {
        source_.host.deallocate(data_, bytes_, source_.alignment_bytes);
        source_.used_bytes.fetch_sub(bytes_);
    }
}

int32_t domain_of(LeatPlacement placement) {
    return placement.slab == nullptr
               ? LEAT_HOST_DOMAIN
               : static_cast<const HostSlab&>(plugin::object_of(placement.slab)).domain();
}

std::byte* address_of(LeatPlacement placement, int64_t bytes) {
    if (placement.slab == nullptr) {
        plugin::invalid_argument("a range without a slab");
    }
    const auto& slab = static_cast<const HostSlab&>(plugin::object_of(placement.slab));
    queues::check_range(placement.offset_bytes, bytes, slab.bytes());
    return slab.data() + placement.offset_bytes;
}

}  // namespace leat::host_device
