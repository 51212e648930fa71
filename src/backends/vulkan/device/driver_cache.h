// DriverCache: what a driver keeps of the pipelines that it made, from one process to the next.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/owned.h"
#include "base/files/disk_cache.h"

namespace leat::vulkan {

// What the bytes are of: the device, its driver and both versions. Not pipelineCacheUUID alone,
// which is the same in all builds of some drivers.
std::string driver_cache_key(const DeviceInfo& info);

// Safe to use from any thread. The driver may keep nothing here: Mesa's software device has a cache
// of its own.
class DriverCache {
  public:
    // With what was kept for this device, if that can be used. `disk` outlives it.
    static Result<std::unique_ptr<DriverCache>> open(std::shared_ptr<const Device> device,
                                                     DiskCache& disk);

    VkPipelineCache handle() const { return cache_.get(); }
    // Keeps what the driver has, if that has changed. Of processes that do so the last one wins.
    void save();

  private:
    DriverCache(std::shared_ptr<const Device> device, DiskCache& disk)
        : device_(std::move(device)), disk_(disk) {}
    Status create(std::string_view kept);
    std::string bytes() const;

    std::shared_ptr<const Device> device_;
    DiskCache& disk_;
    OwnedPipelineCache cache_;
    std::mutex mutex_;
    size_t kept_hash_ = 0;
};

}  // namespace leat::vulkan
