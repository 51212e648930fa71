// Reports about a plan.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace leat {

// The buffers of the arena. Each has the name of the largest value in it.
std::vector<BufferReport> report_buffers(const GraphData& graph, const Plan& plan);

// "node 'x' (Op)" of each step that fell back to the plain kernel.
std::vector<std::string> reference_kernels(const Plan& plan);

// Fills the report with all but times and buffers.
void report_plan(const PlanContext& context, Plan& plan);

}  // namespace leat
