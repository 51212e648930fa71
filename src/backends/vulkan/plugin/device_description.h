// What the Vulkan backend tells of the machine: all that is needed to judge a device without having
// it.
#pragma once

#include <string>

namespace leat::vulkan {

// JSON, as LeatDeviceDescription says: every device of the loader, used or not, in the order of
// list_devices(). Without a loader or driver the reason is that.
std::string describe_devices();

}  // namespace leat::vulkan
