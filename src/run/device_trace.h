// What the trace of a run shows beside the tasks of its program: what devices did, along which ways
// values went, and what the forecast expected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/placement_report.h"
#include "leat/scheduler/executor.h"
#include "plan/plan.h"

namespace leat {

// "name (Op)"; without a name "Op".
std::string trace_name(const NodeData& node);

// A step on its device, on the clock of the trace.
struct FlightTime {
    int32_t step = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    std::vector<scheduler::TraceSpan> inside;  // steps of a part, if the device tells when they ran
};

struct DeviceTrace {
    std::vector<scheduler::TraceRow> rows;      // a device each, then those of the forecast
    std::vector<scheduler::TraceArrow> arrows;  // from who makes a value to who reads it elsewhere
};

// `run_begin_ns`: where the forecast begins.
DeviceTrace device_trace(const Plan& plan,
                         std::span<const FlightTime> flights,
                         const PlacementForecast& forecast,
                         int64_t run_begin_ns);

}  // namespace leat
