// What a device on the host tells of itself: one domain, a compute queue and a copy queue.
#pragma once

#include <array>
#include <cstdint>

#include "leat/plugin_backend.h"

namespace leat::host_device {

constexpr int32_t kComputeQueue = 0;
constexpr int32_t kQueueCount = 2;

struct DeviceOptions {
    const char* name = "";
    const char* memory_name = "";
    int32_t kind = kLeatDeviceOther;
    int64_t capacity_bytes = 0;
    int64_t alignment_bytes = 64;  // a power of two
    int64_t limit_bytes = 0;       // slabs beyond it are out of memory; 0: no limit
    int workers = 1;               // that run tiles, among them the compute queue's thread
    bool is_host_memory = false;   // false: host memory has to be copied
};

// Rows refer to each other, so a table stays where it is.
struct DeviceTable {
    explicit DeviceTable(const DeviceOptions& options);
    DeviceTable(const DeviceTable&) = delete;
    DeviceTable& operator=(const DeviceTable&) = delete;

    LeatDomainInfo domain = plugin::made<LeatDomainInfo>();
    std::array<LeatQueueInfo, kQueueCount> queues = {plugin::made<LeatQueueInfo>(),
                                                     plugin::made<LeatQueueInfo>()};
    std::array<LeatLinkInfo, 2> links = {plugin::made<LeatLinkInfo>(),
                                         plugin::made<LeatLinkInfo>()};
    const LeatDomainInfo* domain_row = &domain;
    std::array<const LeatQueueInfo*, kQueueCount> queue_rows = {queues.data(), &queues[1]};
    std::array<const LeatLinkInfo*, 2> link_rows = {links.data(), &links[1]};
    LeatDeviceInfo device = plugin::made<LeatDeviceInfo>();
};

}  // namespace leat::host_device
