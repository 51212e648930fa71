// Step times of profiled runs, as a table, JSON or a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "leat/runtime.h"
#include "leat/status.h"

namespace leat::bench {

// Medians over `runs` profiled runs, in execution order.
Result<std::vector<StepTime>> profile_steps(Request& request, int64_t runs);

// Rows by step and by operator; `sort` is time, order, name or bytes; `top` rows (0: all).
std::string step_table(std::span<const StepTime> steps, const std::string& sort, int64_t top);
Json steps_json(std::span<const StepTime> steps);
// Trace Event Format: opens in Perfetto and chrome://tracing.
Json trace_json(std::span<const StepTime> steps);

}  // namespace leat::bench
