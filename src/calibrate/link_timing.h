// Times of copies between the host's memory and that of a device.
#pragma once

#include "machine/device_part.h"
#include "partition/measured_costs.h"

namespace leat {

// By copies of several sizes through the device's queues, or by the host's thread where it reaches
// the memory, as runs copy. Nothing is kept of the memory that this takes. The error of a device
// that fails.
Result<MeasuredLinks> measure_links(const DevicePlace& place);

}  // namespace leat
