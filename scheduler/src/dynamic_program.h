// The dynamic gear's compiled form and its counters. (To be written.)
#pragma once

#include <cstdint>
#include <vector>

#include "compact_dag.h"

namespace leat::scheduler {

struct DynamicProgram {};
struct DynamicCounters {};

}  // namespace leat::scheduler
