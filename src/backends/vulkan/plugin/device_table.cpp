#include "backends/vulkan/plugin/device_table.h"

#include <algorithm>

#include "backends/vulkan/memory/arena.h"

namespace leat::vulkan {
namespace {

// Rough: a submit and its wait, a memcpy, a PCIe 4 slot with 16 lanes.
constexpr double kLatencyNs = 50'000;
constexpr double kMappedBytesPerS = 10e9;
constexpr double kBusBytesPerS = 20e9;
// The queues' threads, the device's waiter, and the thread that makes the backend's callbacks.
constexpr int32_t kThreads = kQueuesPerDevice + 2;

// What a driver says is in use elsewhere is not there for leat.
int64_t capacity_bytes(const LazyDevice& device) {
    const DeviceInfo& info = device.info();
    uint64_t largest = 0;
    for (uint32_t i = 0; i < info.memory.memoryHeapCount; ++i) {
        const VkMemoryHeap& heap = info.memory.memoryHeaps[i];
        if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
            const bool has_budget = i < info.heap_budgets_bytes.size();
            const uint64_t bytes =
                has_budget ? std::min<uint64_t>(heap.size, info.heap_budgets_bytes[i]) : heap.size;
            largest = std::max(largest, bytes);
        }
    }
    const int64_t limit = device.settings().memory_limit_bytes;
    return limit != 0 ? std::min(limit, int64_t(largest)) : int64_t(largest);
}

int32_t kind_of(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::kDiscrete:
            return kLeatDeviceDiscrete;
        case DeviceKind::kIntegrated:
            return kLeatDeviceIntegrated;
        case DeviceKind::kCpu:
            return kLeatDeviceCpu;
        default:
            return kLeatDeviceOther;
    }
}

}  // namespace

VulkanDeviceTable::VulkanDeviceTable(const LazyDevice& device, int32_t first_queue) {
    queues_.fill(plugin::made<LeatQueueInfo>());
    links_.fill(plugin::made<LeatLinkInfo>());
    describe_memory(device);
    describe_queues(device, first_queue);
    describe_links(device);
    device_.name = device.info().name.c_str();
    device_.kind = kind_of(device.info().kind);
    device_.numa_node = -1;
    device_.domain_count = 1;
    device_.domains = &domain_row_;
    device_.queue_count = kQueuesPerDevice;
    device_.queues = queue_rows_.data();
    device_.link_count = int32_t(link_rows_.size());
    device_.links = link_rows_.data();
    device_.thread_count = kThreads;
}

void VulkanDeviceTable::describe_memory(const LazyDevice& device) {
    domain_.domain = device.domain();
    domain_.name = device.is_mapped() ? "memory of the host and the device" : "device memory";
    domain_.capacity_bytes = capacity_bytes(device);
    domain_.alignment_bytes = kArenaAlignmentBytes;
    domain_.import_alignment_bytes = device.info().host_import_alignment_bytes;
    domain_.is_mappable = device.is_mapped() ? 1 : 0;
    domain_.is_coherent = 1;
}

void VulkanDeviceTable::describe_queues(const LazyDevice& /*device*/, int32_t first_queue) {
    queues_[0].queue = first_queue;
    queues_[0].kinds = kLeatQueueCompute | kLeatQueueCopy;
    queues_[0].name = "compute";
    queues_[1].queue = first_queue + 1;
    queues_[1].kinds = kLeatQueueCopy;
    queues_[1].name = "copy";
}

void VulkanDeviceTable::describe_links(const LazyDevice& device) {
    for (LeatLinkInfo& link : links_) {
        link.from_domain = LEAT_HOST_DOMAIN;
        link.to_domain = LEAT_HOST_DOMAIN;
        link.latency_ns = kLatencyNs;
        link.bytes_per_s = device.is_mapped() ? kMappedBytesPerS : kBusBytesPerS;
        link.is_mappable = device.is_mapped() ? 1 : 0;
    }
    links_[0].to_domain = device.domain();
    links_[1].from_domain = device.domain();
}

}  // namespace leat::vulkan
