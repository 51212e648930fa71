// What the device is, for the host.
#pragma once

#include "leat/plugin_backend.h"
#include "slab.h"

namespace my {

// Tables that point at each other, so they stay where they are.
struct DeviceTable {
    LeatDomainInfo domain = leat::plugin::made<LeatDomainInfo>();
    LeatQueueInfo queue = leat::plugin::made<LeatQueueInfo>();
    LeatLinkInfo in = leat::plugin::made<LeatLinkInfo>();
    LeatLinkInfo out = leat::plugin::made<LeatLinkInfo>();
    const LeatDomainInfo* domains[1] = {&domain};
    const LeatQueueInfo* queues[1] = {&queue};
    const LeatLinkInfo* links[2] = {&in, &out};
    LeatDeviceInfo device = leat::plugin::made<LeatDeviceInfo>();

    DeviceTable() {
        domain.name = "my memory";
        domain.capacity_bytes = int64_t{1} << 32;
        domain.alignment_bytes = kAlignmentBytes;
        domain.is_mappable = 1;
        domain.is_coherent = 1;
        queue.kinds = kLeatQueueCompute | kLeatQueueCopy;
        queue.name = "my queue";
        in.from_domain = LEAT_HOST_DOMAIN;
        out.to_domain = LEAT_HOST_DOMAIN;
        in.latency_ns = out.latency_ns = 5000;
        in.bytes_per_s = out.bytes_per_s = 5e9;
        device.name = "my device";
        device.kind = kLeatDeviceCpu;
        device.numa_node = -1;
        device.domain_count = 1;
        device.domains = domains;
        device.queue_count = 1;
        device.queues = queues;
        device.link_count = 2;
        device.links = links;
        device.thread_count = 1;
    }
    DeviceTable(const DeviceTable&) = delete;
    DeviceTable& operator=(const DeviceTable&) = delete;
};

}  // namespace my
