// The device that a benchmark of the Vulkan layer runs on.
#pragma once

#include <memory>
#include <string_view>

#include "backends/vulkan/queue.h"
#include "backends/vulkan/recording.h"

namespace leat::vulkan {

// `name` as in "vulkan:NAME": a number or name~TEXT.
Result<std::shared_ptr<Device>> open_device(std::string_view name);

// Microseconds from the submission of a run to its end.
Result<double> time_run(Queue& queue, Recording& recording);

}  // namespace leat::vulkan
