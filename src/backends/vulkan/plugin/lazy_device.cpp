#include "backends/vulkan/plugin/lazy_device.h"

#include <fmt/core.h>

#include <utility>

#include "backends/vulkan/memory/memory_types.h"
#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/shader/shader_features.h"

namespace leat::vulkan {
namespace {

KernelLimits limits_of(const DeviceInfo& info, const Settings& settings) {
    KernelLimits limits = kernel_limits(info);
    for (const std::string& feature : settings.lacked_features) {
        remove_feature(feature, limits);
    }
    limits.is_fast = settings.is_fast;
    if (settings.emulates_matrices) {
        limits.f16_matrices = limits.bf16_matrices = MatrixShape{16, 16, 16, true};
        limits.i8_matrices = MatrixShape{16, 16, 32, true};
    }
    return limits;
}

}  // namespace

LazyDevice::LazyDevice(std::shared_ptr<const VulkanApi> instance,
                       DeviceInfo info,
                       int32_t domain,
                       const Settings& settings,
                       DiskCache* disk)
    : instance_(std::move(instance)),
      info_(std::move(info)),
      domain_(domain),
      settings_(settings),
      disk_(disk),
      limits_(limits_of(info_, settings)),
      is_mapped_(is_unified(info_) && !settings.is_always_staged) {}

DeviceQueue LazyDevice::make_queue(const std::shared_ptr<Queue>& queue) const {
    DeviceQueue made;
    made.queue = queue;
    if (!is_mapped_) {
        made.ring = value_or_throw(StagingRing::create(queue));
    }
    return made;
}

OpenDevice& LazyDevice::open() {
    const std::lock_guard lock(mutex_);
    if (open_ != nullptr) {
        return *open_;
    }
    auto opened = std::make_unique<OpenDevice>();
    opened->device =
        value_or_throw(Device::create(instance_, info_, {.uses_fences = settings_.uses_fences}));
    const QueueFamilies& families = opened->device->families();
    const auto compute = value_or_throw(Queue::create(opened->device, families.compute));
    const auto copy = families.transfer
                          ? value_or_throw(Queue::create(opened->device, *families.transfer))
                          : compute;
    opened->compute = make_queue(compute);
    opened->copy = make_queue(copy);
    opened->packing = make_queue(copy);
    opened->pipelines = std::make_unique<PipelineCache>(compute, disk_, settings_.checks_addresses);
    opened->waiter = std::make_unique<Waiter>();
    open_ = std::move(opened);
    return *open_;
}

void LazyDevice::take_bytes(int64_t bytes) {
    const int64_t used = used_bytes_.fetch_add(bytes) + bytes;
    if (settings_.memory_limit_bytes != 0 && used > settings_.memory_limit_bytes) {
        used_bytes_.fetch_sub(bytes);
        throw plugin::Error(kLeatOutOfMemory,
                            fmt::format("{} bytes more than the {} in use; '{}' may have {}", bytes,
                                        used - bytes, info_.name, settings_.memory_limit_bytes));
    }
}

}  // namespace leat::vulkan
