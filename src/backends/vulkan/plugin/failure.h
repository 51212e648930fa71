// Errors of the device layer as those of the ABI.
#pragma once

#include "backends/lowered/failure.h"

namespace leat::vulkan {

using lowered::throw_if;
using lowered::value_or_throw;

}  // namespace leat::vulkan
