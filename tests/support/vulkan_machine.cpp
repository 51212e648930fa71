#include "support/vulkan_machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/vulkan/device/loader.h"
#include "backends/vulkan/device/tier.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

// Set for further runs of tests, in which every message of the layer is a failure. "device": with
// GPU-assisted validation, which needs fences; else with synchronization validation.
constexpr const char* kValidationVariable = "LEAT_TEST_VULKAN_VALIDATION";

void validate(std::string_view kind, VulkanApiOptions& options, OpenOptions& device_options) {
    options.is_validated = true;
    options.checks_on_device = kind == "device";
    options.checks_synchronization = !options.checks_on_device;
    device_options.uses_fences = device_options.uses_fences || options.checks_on_device;
    options.on_message = [](std::string_view message) {
        ADD_FAILURE() << "validation: " << message;
    };
}

// 0: there is no layer.
uint32_t version_of_layer() {
    const auto loader = Loader::open();
    if (!loader.ok()) {
        return 0;
    }
    uint32_t count = 0;
    (void)(*loader)->calls().EnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    (void)(*loader)->calls().EnumerateInstanceLayerProperties(&count, layers.data());
    for (const VkLayerProperties& layer : layers) {
        if (std::string_view(layer.layerName) == "VK_LAYER_KHRONOS_validation") {
            return layer.specVersion;
        }
    }
    return 0;
}

}  // namespace

// 1.4.309 sometimes tells of strays on Mesa 25.0 and sometimes does not.
bool layer_tells_of_strays() {
    return version_of_layer() < VK_MAKE_API_VERSION(0, 1, 4, 0);
}

Result<std::shared_ptr<Device>> make_test_device(VulkanApiOptions instance_options,
                                                 OpenOptions device_options) {
    const char* kind = std::getenv(kValidationVariable);
    if (kind != nullptr && !instance_options.is_validated) {
        validate(kind, instance_options, device_options);
    }
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Loader> loader, Loader::open());
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const VulkanApi> instance,
                          VulkanApi::create(std::move(loader), std::move(instance_options)));
    LEAT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, list_devices(*instance));
    for (const DeviceInfo& info : devices) {
        if (tier_of(info).level != kNoTier) {
            return Device::create(instance, info, device_options);
        }
    }
    return not_found("no usable Vulkan device among {}", devices.size());
}

}  // namespace leat::vulkan
