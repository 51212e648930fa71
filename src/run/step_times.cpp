#include "run/step_times.h"

#include <algorithm>
#include <iterator>
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
    const bool are_same =
        std::equal(rows.begin(), rows.end(), sum.begin(), sum.end(),
                   [](const StepTime& row, const StepTime& other) {
                       return row.within == other.within && row.node == other.node;
                   });
    if (!are_same) {
        std::move(rows.begin(), rows.end(), std::back_inserter(sum));
        return;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
        sum[i].time_ns += rows[i].time_ns;
        sum[i].estimated_ns += rows[i].estimated_ns;
        sum[i].flops += rows[i].flops;
        sum[i].bytes += rows[i].bytes;
        sum[i].runs += rows[i].runs;
        sum[i].shapes += "; " + rows[i].shapes;
    }
}

}  // namespace leat
