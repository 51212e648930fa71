#include "backends/vulkan/plugin/device_description.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "backends/vulkan/device/device_choice.h"
#include "backends/vulkan/device/device_info.h"
#include "backends/vulkan/device/instance.h"
#include "backends/vulkan/device/loader.h"
#include "backends/vulkan/device/tier.h"
#include "base/json.h"

namespace leat::vulkan {
namespace {

std::string hex(const uint8_t* bytes, size_t count) {
    std::string text;
    text.reserve(2 * count);
    for (size_t i = 0; i < count; ++i) {
        text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
}

Json identity_json(const DeviceInfo& info) {
    Json json = Json::object();
    json.set("api_version", version_text(info.properties.apiVersion));
    json.set("driver", info.driver);
    json.set("driver_id", int64_t{info.properties12.driverID});
    json.set("driver_version", int64_t{info.properties.driverVersion});
    const VkConformanceVersion& conformance = info.properties12.conformanceVersion;
    json.set("conformance", fmt::format("{}.{}.{}.{}", conformance.major, conformance.minor,
                                        conformance.subminor, conformance.patch));
    json.set("vendor_id", int64_t{info.properties.vendorID});
    json.set("device_id", int64_t{info.properties.deviceID});
    json.set("device_uuid", hex(info.properties11.deviceUUID, VK_UUID_SIZE));
    json.set("driver_uuid", hex(info.properties11.driverUUID, VK_UUID_SIZE));
    json.set("pipeline_cache_uuid", hex(info.properties.pipelineCacheUUID, VK_UUID_SIZE));
    json.set("pci", fmt::format("{:04x}:{:02x}:{:02x}.{}", info.pci.pciDomain, info.pci.pciBus,
                                info.pci.pciDevice, info.pci.pciFunction));
    return json;
}

Json memory_json(const DeviceInfo& info) {
    Json heaps = Json::array();
    for (uint32_t i = 0; i < info.memory.memoryHeapCount; ++i) {
        Json heap = Json::object();
        heap.set("size_bytes", int64_t(info.memory.memoryHeaps[i].size));
        heap.set("flags", int64_t{info.memory.memoryHeaps[i].flags});
        if (i < info.heap_budgets_bytes.size()) {
            heap.set("budget_bytes", int64_t(info.heap_budgets_bytes[i]));
            heap.set("usage_bytes", int64_t(info.heap_usages_bytes[i]));
        }
        heaps.push(std::move(heap));
    }
    Json types = Json::array();
    for (uint32_t i = 0; i < info.memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = info.memory.memoryTypes[i].propertyFlags;
        Json type = Json::object();
        type.set("heap", int64_t{info.memory.memoryTypes[i].heapIndex});
        type.set("flags", int64_t{flags});
        type.set("device_local", (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0);
        type.set("host_visible", (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0);
        type.set("host_coherent", (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0);
        type.set("host_cached", (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0);
        types.push(std::move(type));
    }
    Json json = Json::object();
    json.set("heaps", std::move(heaps)).set("types", std::move(types));
    return json;
}

Json queues_json(const DeviceInfo& info) {
    Json families = Json::array();
    for (const VkQueueFamilyProperties& one : info.queue_families) {
        Json family = Json::object();
        family.set("queues", int64_t{one.queueCount}).set("flags", int64_t{one.queueFlags});
        family.set("graphics", (one.queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0);
        family.set("compute", (one.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0);
        family.set("transfer", (one.queueFlags & VK_QUEUE_TRANSFER_BIT) != 0);
        family.set("timestamp_bits", int64_t{one.timestampValidBits});
        families.push(std::move(family));
    }
    return families;
}

Json matrices_json(const DeviceInfo& info) {
    Json shapes = Json::array();
    for (const CooperativeMatrixProperties& one : info.cooperative_matrix_shapes) {
        Json shape = Json::object();
        shape.set("m", int64_t{one.m}).set("n", int64_t{one.n}).set("k", int64_t{one.k});
        shape.set("a_type", int64_t{one.a_type}).set("b_type", int64_t{one.b_type});
        shape.set("c_type", int64_t{one.c_type}).set("result_type", int64_t{one.result_type});
        shape.set("saturating", one.saturating_accumulation != VK_FALSE);
        shape.set("scope", int64_t{one.scope});
        shapes.push(std::move(shape));
    }
    return shapes;
}

Json device_json(const DeviceInfo& info, const DefaultUse& use) {
    const Tier tier = tier_of(info);
    Json json = Json::object();
    json.set("name", info.name).set("kind", name_of(info.kind));
    json.set("used_by_default", use.is_used).set("reason", use.reason);
    json.set("tier", tier.level).set("next_tier_needs", tier.missing);
    json.set("identity", identity_json(info));
    json.set("timestamp_period_ns", double{info.properties.limits.timestampPeriod});
    Json limits = Json::object();
    for (const auto& [name, value] : limit_list(info)) {
        limits.set(name, int64_t(value));
    }
    json.set("limits", std::move(limits));
    Json features = Json::object();
    for (const auto& [name, value] : feature_list(info)) {
        features.set(name, value);
    }
    json.set("features", std::move(features));
    json.set("memory", memory_json(info)).set("queue_families", queues_json(info));
    json.set("cooperative_matrices", matrices_json(info));
    Json extensions = Json::array();
    for (const VkExtensionProperties& one : info.extensions) {
        extensions.push(fmt::format("{} {}", one.extensionName, one.specVersion));
    }
    json.set("extensions", std::move(extensions));
    return json;
}

Json description(bool is_available, std::string_view reason, Json devices) {
    Json json = Json::object();
    json.set("available", is_available).set("reason", reason).set("devices", std::move(devices));
    return json;
}

Result<std::vector<DeviceInfo>> find_devices() {
    Result<std::shared_ptr<const Loader>> loader = Loader::open();
    if (!loader.ok()) {
        return loader.error();
    }
    Result<std::shared_ptr<const VulkanApi>> instance = VulkanApi::create(*loader);
    if (!instance.ok()) {
        return instance.error();
    }
    return list_devices(**instance);
}

}  // namespace

std::string describe_devices() {
    const Result<std::vector<DeviceInfo>> devices = find_devices();
    if (!devices.ok()) {
        return description(false, devices.error().message(), Json::array()).dump(-1);
    }
    const std::vector<DefaultUse> uses = default_use(*devices);
    Json list = Json::array();
    for (size_t i = 0; i < devices->size(); ++i) {
        list.push(device_json((*devices)[i], uses[i]));
    }
    const char* reason = devices->empty() ? "no Vulkan device was found" : "";
    return description(!devices->empty(), reason, std::move(list)).dump(-1);
}

}  // namespace leat::vulkan
