// The Vulkan device that tests run on: the first one of any kind that is usable, which is Mesa's
// software one on machines without a GPU.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/vulkan/device/device.h"

namespace leat::vulkan {

// Messages of the validation layer, from any thread.
class MessageLog {
  public:
    MessageSink sink() {
        return [this](std::string_view message) {
            const std::lock_guard<std::mutex> lock(mutex_);
            messages_.emplace_back(message);
        };
    }
    std::vector<std::string> messages() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return messages_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> messages_;
};

// An error where the machine has no loader, driver, usable device or validation layer.
Result<std::shared_ptr<Device>> make_test_device(VulkanApiOptions instance_options = {},
                                                 OpenOptions device_options = {});

// Whether GPU-assisted validation of the machine's layer is known to tell of each stray access.
bool layer_tells_of_strays();

}  // namespace leat::vulkan

// auto device = the device, or the test is skipped with the reason.
#define LEAT_DEVICE_OR_SKIP(name, ...)                                        \
    const auto name##_result = ::leat::vulkan::make_test_device(__VA_ARGS__); \
    if (!name##_result.ok()) {                                                \
        GTEST_SKIP() << name##_result.error().message();                      \
    }                                                                         \
    const std::shared_ptr<::leat::vulkan::Device>& name = *name##_result
