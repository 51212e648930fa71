#include "backends/vulkan/device/driver_cache.h"

#include <fmt/core.h>

#include <functional>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace leat::vulkan {
namespace {

constexpr std::string_view kPipelineCacheKind = "pipelines";

}  // namespace

std::string driver_cache_key(const DeviceInfo& info) {
    const VkPhysicalDeviceProperties& own = info.properties;
    std::string key = fmt::format(
        "vendor {:#x} device {:#x} '{}', driver {:#x} '{}', Vulkan {:#x}, ", own.vendorID,
        own.deviceID, info.name, own.driverVersion, info.driver, own.apiVersion);
    for (const uint8_t byte : own.pipelineCacheUUID) {
        fmt::format_to(std::back_inserter(key), "{:02x}", byte);
    }
    return key;
}

Result<std::unique_ptr<DriverCache>> DriverCache::open(std::shared_ptr<const Device> device,
                                                       DiskCache& disk) {
    const std::string key = driver_cache_key(device->info());
    std::unique_ptr<DriverCache> opened(new DriverCache(std::move(device), disk));
    if (const std::optional<std::string> kept = disk.load(kPipelineCacheKind, key)) {
        const Status status = opened->create(*kept);
        if (status.ok()) {
            opened->kept_hash_ = std::hash<std::string>()(*kept);
            return opened;
        }
        disk.report_unusable(kPipelineCacheKind, key, status.message());
    }
    LEAT_RETURN_IF_ERROR(opened->create({}));
    return opened;
}

Status DriverCache::create(std::string_view kept) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = kept.size();
    info.pInitialData = kept.empty() ? nullptr : kept.data();
    const DeviceCalls& vk = device_->calls();
    LEAT_ASSIGN_OR_RETURN(cache_,
                          device_->make_owned(vk.CreatePipelineCache, info, vk.DestroyPipelineCache,
                                              "CreatePipelineCache"));
    return Status();
}

// Empty where the driver keeps nothing, or does not tell.
std::string DriverCache::bytes() const {
    const auto get = [this](size_t& size, void* data) {
        return device_->calls().GetPipelineCacheData(device_->handle(), cache_.get(), &size, data);
    };
    size_t size_bytes = 0;
    if (get(size_bytes, nullptr) != VK_SUCCESS) {
        return {};
    }
    std::string bytes(size_bytes, '\0');
    // Incomplete: another thread made a pipeline in between, and saves afterwards.
    if (get(size_bytes, bytes.data()) != VK_SUCCESS ||
        size_bytes <= sizeof(VkPipelineCacheHeaderVersionOne)) {
        return {};
    }
    bytes.resize(size_bytes);
    return bytes;
}

void DriverCache::save() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string now = bytes();
    const size_t hash = std::hash<std::string>()(now);
    if (!now.empty() && hash != kept_hash_) {
        disk_.store(kPipelineCacheKind, driver_cache_key(device_->info()), now);
        kept_hash_ = hash;
    }
}

}  // namespace leat::vulkan
