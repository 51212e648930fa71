#include "support/vulkan_machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "backends/vulkan/tier.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

// Set for a second run of all tests, in which every message of the layer is a failure.
constexpr const char* kValidationVariable = "LEAT_TEST_VULKAN_VALIDATION";

void validate(InstanceOptions& options) {
    options.is_validated = true;
    options.checks_synchronization = true;
    options.on_message = [](std::string_view message) {
        ADD_FAILURE() << "validation: " << message;
    };
}

}  // namespace

Result<std::shared_ptr<Device>> make_test_device(InstanceOptions instance_options,
                                                 DeviceOptions device_options) {
    if (std::getenv(kValidationVariable) != nullptr && !instance_options.is_validated) {
        validate(instance_options);
    }
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Loader> loader, Loader::open());
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Instance> instance,
                          Instance::create(std::move(loader), std::move(instance_options)));
    LEAT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, list_devices(*instance));
    for (const DeviceInfo& info : devices) {
        if (tier_of(info).level != kNoTier) {
            return Device::create(instance, info, device_options);
        }
    }
    return not_found("no usable Vulkan device among {}", devices.size());
}

}  // namespace leat::vulkan
