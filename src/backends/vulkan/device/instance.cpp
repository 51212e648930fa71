#include "backends/vulkan/device/instance.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/vulkan/device/call_result.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL pass_on(VkDebugUtilsMessageSeverityFlagBitsEXT /*severity*/,
                                       VkDebugUtilsMessageTypeFlagsEXT /*types*/,
                                       const VkDebugUtilsMessengerCallbackDataEXT* data,
                                       void* sink) {
    // What the layer says of its own settings is nobody's fault.
    if (std::strstr(data->pMessage, "Internal Warning: ") == nullptr) {
        (*static_cast<const MessageSink*>(sink))(data->pMessage);
    }
    return VK_FALSE;
}

Status find_layer(const GlobalCalls& calls) {
    uint32_t count = 0;
    LEAT_RETURN_IF_ERROR(to_status(calls.EnumerateInstanceLayerProperties(&count, nullptr),
                                   "EnumerateInstanceLayerProperties"));
    std::vector<VkLayerProperties> layers(count);
    LEAT_RETURN_IF_ERROR(to_status(calls.EnumerateInstanceLayerProperties(&count, layers.data()),
                                   "EnumerateInstanceLayerProperties"));
    const bool is_found =
        std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
            return std::strcmp(layer.layerName, kValidationLayer) == 0;
        });
    if (!is_found) {
        return not_found("the layer {} is not installed", kValidationLayer)
            .with_hint("Debian's package is vulkan-validationlayers");
    }
    return Status();
}

std::vector<VkValidationFeatureEnableEXT> checks_of(const VulkanApiOptions& options) {
    std::vector<VkValidationFeatureEnableEXT> checks;
    if (options.checks_synchronization) {
        checks.push_back(VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT);
    }
    if (options.checks_on_device) {
        checks.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT);
    }
    return checks;
}

}  // namespace

VulkanApi::VulkanApi(std::shared_ptr<const Loader> loader, VulkanApiOptions options)
    : loader_(std::move(loader)), options_(std::move(options)) {}

Result<std::shared_ptr<const VulkanApi>> VulkanApi::create(std::shared_ptr<const Loader> loader,
                                                           VulkanApiOptions options) {
    std::shared_ptr<VulkanApi> instance(new VulkanApi(std::move(loader), std::move(options)));
    LEAT_RETURN_IF_ERROR(instance->make());
    LEAT_RETURN_IF_ERROR(instance->load_calls());
    LEAT_RETURN_IF_ERROR(instance->listen());
    return std::shared_ptr<const VulkanApi>(std::move(instance));
}

VulkanApi::~VulkanApi() {
    if (messenger_ != nullptr) {
        calls_.DestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
    }
    if (calls_.DestroyInstance != nullptr) {
        calls_.DestroyInstance(handle_, nullptr);
    }
}

Status VulkanApi::make() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pEngineName = "leat";
    // The highest version that the backend uses, whatever the loader's: 1.1 allows that.
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    const std::vector<VkValidationFeatureEnableEXT> checks = checks_of(options_);
    VkValidationFeaturesEXT features{};
    features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features.enabledValidationFeatureCount = uint32_t(checks.size());
    features.pEnabledValidationFeatures = checks.data();
    // Checks of calls beside those on the device take several times as long, and newer layers warn.
    const VkValidationFeatureDisableEXT disabled = VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT;
    features.disabledValidationFeatureCount = options_.checks_on_device ? 1 : 0;
    features.pDisabledValidationFeatures = &disabled;
    const char* layer = kValidationLayer;
    const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (options_.is_validated) {
        LEAT_RETURN_IF_ERROR(find_layer(loader_->calls()));
        info.pNext = &features;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &extension;
    }
    const VkResult result = loader_->calls().CreateInstance(&info, nullptr, &handle_);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        return not_found("no Vulkan driver is installed");
    }
    return to_status(result, "CreateInstance");
}

Status VulkanApi::load_calls() {
    const PFN_vkGetInstanceProcAddr get = loader_->get_instance_proc_addr();
#define LEAT_VK_LOAD(name) calls_.name = reinterpret_cast<PFN_vk##name>(get(handle_, "vk" #name));
    LEAT_VK_INSTANCE_CALLS(LEAT_VK_LOAD)
    LEAT_VK_OPTIONAL_INSTANCE_CALLS(LEAT_VK_LOAD)
#undef LEAT_VK_LOAD
    calls_.GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
        reinterpret_cast<GetCooperativeMatrixProperties>(
            get(handle_, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
#define LEAT_VK_REQUIRE(name)                                                                  \
    if (calls_.name == nullptr) {                                                              \
        return make_error(StatusCode::kVersionMismatch, "the Vulkan instance lacks vk" #name); \
    }
    LEAT_VK_INSTANCE_CALLS(LEAT_VK_REQUIRE)
#undef LEAT_VK_REQUIRE
    return Status();
}

Status VulkanApi::listen() {
    if (!options_.is_validated || !options_.on_message) {
        return Status();
    }
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info.pfnUserCallback = pass_on;
    info.pUserData = &options_.on_message;
    return to_status(calls_.CreateDebugUtilsMessengerEXT(handle_, &info, nullptr, &messenger_),
                     "CreateDebugUtilsMessengerEXT");
}

Result<std::vector<VkPhysicalDevice>> VulkanApi::physical_devices() const {
    uint32_t count = 0;
    LEAT_RETURN_IF_ERROR(to_status(calls_.EnumeratePhysicalDevices(handle_, &count, nullptr),
                                   "EnumeratePhysicalDevices"));
    std::vector<VkPhysicalDevice> devices(count);
    LEAT_RETURN_IF_ERROR(to_status(calls_.EnumeratePhysicalDevices(handle_, &count, devices.data()),
                                   "EnumeratePhysicalDevices"));
    return devices;
}

}  // namespace leat::vulkan
