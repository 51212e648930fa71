// Running bodies: regions with addresses.
#pragma once

#include <memory>

#include "leat/status.h"
#include "plan/regions/region.h"

namespace leat {

// kOutOfMemory: there is none for the addresses of a body's plan.
Result<std::unique_ptr<RegionState>> make_region_state(const Region& region);

}  // namespace leat
