#include "backends/host_device/device_table.h"

#include <fmt/core.h>

#include "backends/host_device/host_slab.h"

namespace leat::host_device {
namespace {

constexpr LinkRates kHostLink{5000, 5e9};  // about a thread's wake-up, and a memcpy

}  // namespace

DeviceTable::DeviceTable(const DeviceOptions& options, int32_t index)
    : name_(options.device_count == 1 ? options.name : fmt::format("{} {}", options.name, index)) {
    domain_.domain = index;
    domain_.name = options.memory_name;
    domain_.capacity_bytes = options.capacity_bytes;
    domain_.alignment_bytes = options.alignment_bytes;
    domain_.import_alignment_bytes = kImportAlignmentBytes;
    domain_.is_mappable = options.is_mappable ? 1 : 0;
    domain_.is_coherent = 1;
    add_queues(options, index);
    set_links(options, index);
    device_.name = name_.c_str();
    device_.kind = options.kind;
    device_.numa_node = -1;
    device_.domain_count = 1;
    device_.domains = &domain_row_;
    device_.queue_count = int32_t(queue_rows_.size());
    device_.queues = queue_rows_.data();
    device_.link_count = int32_t(link_rows_.size());
    device_.links = link_rows_.data();
    // A thread for each queue, and the workers beside the compute queue's. One thread makes the
    // callbacks of all devices.
    device_.thread_count = options.queues_per_device() + options.workers - 1 +
                           (index == 0 ? 1 + options.further_threads : 0);
}

void DeviceTable::add_queues(const DeviceOptions& options, int32_t index) {
    const int32_t count = options.queues_per_device();
    queues_.reserve(size_t(count));
    for (int32_t i = 0; i < count; ++i) {
        LeatQueueInfo& queue = queues_.emplace_back(plugin::made<LeatQueueInfo>());
        const bool computes = i < options.compute_queues;
        queue.queue = index * count + i;
        queue.kinds = computes ? kLeatQueueCompute | kLeatQueueCopy : kLeatQueueCopy;
        queue.name = computes ? "compute" : "copy";
        queue_rows_.push_back(&queue);
    }
}

void DeviceTable::set_links(const DeviceOptions& options, int32_t index) {
    links_[0].from_domain = LEAT_HOST_DOMAIN;
    links_[0].to_domain = index;
    links_[1].from_domain = index;
    links_[1].to_domain = LEAT_HOST_DOMAIN;
    const LinkRates rates = options.links.empty() ? kHostLink : options.links[size_t(index)];
    for (LeatLinkInfo& link : links_) {
        link.latency_ns = rates.latency_ns;
        link.bytes_per_s = rates.bytes_per_s;
        link.is_mappable = options.is_host_memory ? 1 : 0;
        link.channel = 1 + channel_of(options, index, link.from_domain == LEAT_HOST_DOMAIN);
    }
}

DeviceTables make_tables(const DeviceOptions& options) {
    DeviceTables tables;
    for (int32_t i = 0; i < options.device_count; ++i) {
        tables.push_back(std::make_unique<DeviceTable>(options, i));
    }
    return tables;
}

}  // namespace leat::host_device
