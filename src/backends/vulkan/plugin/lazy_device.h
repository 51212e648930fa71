// LazyDevice: a device of the backend. It is described from the beginning and opened by the first
// call that needs it, so that a host with several GPUs pays only for those that it uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/queue.h"
#include "backends/vulkan/device/waiter.h"
#include "backends/vulkan/kernel/kernel.h"
#include "backends/vulkan/memory/staging_ring.h"
#include "backends/vulkan/plugin/pipeline_cache.h"
#include "backends/vulkan/plugin/settings.h"

namespace leat::vulkan {

// The queues that every device has for the host, in the order of their numbers.
enum class QueueRole : uint8_t { kCompute, kCopy };
constexpr int32_t kQueuesPerDevice = 2;

// Where submissions of one queue of the host go. The ring is its thread's; null where memory is
// mapped.
struct DeviceQueue {
    std::shared_ptr<Queue> queue;
    std::unique_ptr<StagingRing> ring;
};

struct OpenDevice {
    std::shared_ptr<Device> device;
    // The copy queue submits to the compute queue where no family of the device only copies.
    DeviceQueue compute;
    DeviceQueue copy;
    std::unique_ptr<PipelineCache> pipelines;
    // For slabs that are written outside of any queue, under its lock.
    std::mutex packing_mutex;
    DeviceQueue packing;
    std::unique_ptr<Waiter> waiter;  // the first to go: it waits for what is outstanding

    DeviceQueue& queue_of(QueueRole role) { return role == QueueRole::kCompute ? compute : copy; }
};

// Thread-safe. Outlives slabs and executables of the device.
class LazyDevice {
  public:
    // `domain`: its number among the domains of the backend. `disk`: null, or outlives it.
    LazyDevice(std::shared_ptr<const VulkanApi> instance,
               DeviceInfo info,
               int32_t domain,
               const Settings& settings,
               DiskCache* disk);
    LazyDevice(const LazyDevice&) = delete;
    LazyDevice& operator=(const LazyDevice&) = delete;

    int32_t domain() const { return domain_; }
    const DeviceInfo& info() const { return info_; }
    const Settings& settings() const { return settings_; }
    const KernelLimits& limits() const { return limits_; }
    // Before the limits are used; outlives their use.
    void choose_by(const MeasuredVariants* measured) { limits_.measured = measured; }
    // Tensors lie in memory that the host sees.
    bool is_mapped() const { return is_mapped_; }
    // Throws where the driver does not make it; the next call tries again.
    OpenDevice& open();

    // Counts memory of slabs; throws kLeatOutOfMemory above the limit.
    void take_bytes(int64_t bytes);
    void give_bytes(int64_t bytes) noexcept { used_bytes_.fetch_sub(bytes); }

  private:
    DeviceQueue make_queue(const std::shared_ptr<Queue>& queue) const;

    std::shared_ptr<const VulkanApi> instance_;
    DeviceInfo info_;
    int32_t domain_;
    const Settings& settings_;
    DiskCache* disk_;
    KernelLimits limits_;
    bool is_mapped_;
    std::atomic<int64_t> used_bytes_{0};
    std::mutex mutex_;
    std::unique_ptr<OpenDevice> open_;
};

}  // namespace leat::vulkan
