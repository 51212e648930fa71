// The dynamic gear's compiled form and its counters. (To be written.)
#pragma once

#include <cstdint>
#include <vector>

#include "compact_dag.h"

namespace leat::scheduler {

struct DynamicProgram {
    static DynamicProgram make(const CompactDag& /*dag*/, int /*workers*/) { return {}; }
    int64_t bytes() const { return 0; }
};
struct DynamicCounters {
    explicit DynamicCounters(const DynamicProgram& /*program*/) {}
};

}  // namespace leat::scheduler
