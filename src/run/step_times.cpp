#include "run/step_times.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "plan/kernel_answers.h"

namespace leat {

Result<StepTime> step_time(const PlanWork& work, const PlanStep& step, int64_t runs) {
    StepTime time;
    time.node = step.node->name;
    time.op_type = step.node->op_type;
    time.kernel = step.kernel->kernel_name;
    time.estimated_ns = step.cost_ns * double(runs);
    time.runs = runs;
    const std::span<const TensorArg> ins = work.inputs_of(step);
    const std::span<const TensorArg> outs = work.outputs_of(step);
    if (step.node->def->cost != nullptr && !step.is_transfer) {
        const Result<Cost> cost = checked_cost(*step.node, ins, outs);
        if (!cost.ok()) {
            return cost.error().with_node(step.node->label());
        }
        time.flops = cost->flops * double(runs);
        time.bytes = cost->bytes * runs;
    }
    for (const TensorArg& arg : ins) {
        time.shapes += arg.shape.to_string() + " ";
    }
    time.shapes += "-> ";
    time.shapes += outs.empty() ? "" : outs[0].shape.to_string();
    return time;
}

void add_times(std::vector<StepTime>& rows, std::vector<StepTime>& sum) {
    for (StepTime& row : rows) {
        const auto same = std::find_if(sum.begin(), sum.end(), [&row](const StepTime& other) {
            return other.within == row.within && other.node == row.node;
        });
        if (same == sum.end()) {
            sum.push_back(std::move(row));
            continue;
        }
        same->time_ns += row.time_ns;
        same->estimated_ns += row.estimated_ns;
        same->flops += row.flops;
        same->bytes += row.bytes;
        same->runs += row.runs;
        same->shapes += "; " + row.shapes;
    }
}

}  // namespace leat
