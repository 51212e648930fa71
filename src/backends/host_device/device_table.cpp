#include "backends/host_device/device_table.h"

#include "backends/host_device/host_slab.h"

namespace leat::host_device {

DeviceTable::DeviceTable(const DeviceOptions& options) {
    domain.name = options.memory_name;
    domain.capacity_bytes = options.capacity_bytes;
    domain.alignment_bytes = options.alignment_bytes;
    domain.import_alignment_bytes = kImportAlignmentBytes;
    domain.is_mappable = 1;
    domain.is_coherent = 1;
    queues[0].kinds = kLeatQueueCompute | kLeatQueueCopy;
    queues[0].name = "compute";
    queues[1].queue = 1;
    queues[1].kinds = kLeatQueueCopy;
    queues[1].name = "copy";
    links[0].from_domain = LEAT_HOST_DOMAIN;
    links[1].to_domain = LEAT_HOST_DOMAIN;
    for (LeatLinkInfo& link : links) {
        link.latency_ns = 5000;  // about a thread's wake-up
        link.bytes_per_s = 5e9;  // about a memcpy
        link.is_mappable = options.is_host_memory ? 1 : 0;
    }
    device.name = options.name;
    device.kind = options.kind;
    device.numa_node = -1;
    device.domain_count = 1;
    device.domains = &domain_row;
    device.queue_count = kQueueCount;
    device.queues = queue_rows.data();
    device.link_count = int32_t(link_rows.size());
    device.links = link_rows.data();
    // A thread for each queue, one for callbacks, and the workers beside the compute queue's.
    device.thread_count = kQueueCount + 1 + options.workers - 1;
}

}  // namespace leat::host_device
