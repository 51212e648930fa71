// Which variants of kernels are the fastest on a device.
#pragma once

#include <memory>

#include "backends/vulkan/plugin/lazy_device.h"
#include "backends/vulkan/shader/tuned_variants.h"

namespace leat::vulkan {

// Of all tunable_kernels(): what was measured before, and, where the setting `tune` asks for it,
// what is measured when a class of problems is met first. That takes the compute queue for up to
// seconds. The device, and the cache unless it is null, outlive it.
std::unique_ptr<MeasuredVariants> make_kernel_tuner(LazyDevice& device,
                                                    plugin::Host host,
                                                    DiskCache* disk);

}  // namespace leat::vulkan
