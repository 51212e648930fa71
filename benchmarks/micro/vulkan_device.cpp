#include "vulkan_device.h"

#include <limits>
#include <vector>

#include "backends/vulkan/device_choice.h"
#include "base/error.h"
#include "base/monotonic_clock.h"

namespace leat::vulkan {

Result<std::shared_ptr<Device>> open_device(std::string_view name) {
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Loader> loader, Loader::open());
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Instance> instance,
                          Instance::create(std::move(loader)));
    LEAT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, list_devices(*instance));
    LEAT_ASSIGN_OR_RETURN(const size_t index, choose_device(devices, name));
    return Device::create(instance, devices[index]);
}

Result<double> time_run(Queue& queue, Recording& recording) {
    const int64_t begin_ns = monotonic_ns();
    LEAT_ASSIGN_OR_RETURN(const uint64_t point, recording.replay());
    LEAT_RETURN_IF_ERROR(queue.wait(point, std::numeric_limits<int64_t>::max()).error());
    return double(monotonic_ns() - begin_ns) * 1e-3;
}

}  // namespace leat::vulkan
