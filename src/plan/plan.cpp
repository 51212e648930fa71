#include "plan/plan.h"

#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "plan/devices/plan_devices.h"
#include "plan/plan_constants.h"
#include "plan/plan_memory.h"
#include "plan/plan_report.h"
#include "plan/regions/region.h"
#include "plan/step_preparer.h"

namespace leat {
namespace {

// Streamed constants are copied so many parts ahead.
Result<std::shared_ptr<Plan>> make_plan_with(const PlanContext& context,
                                             PlanKey key,
                                             std::span<const ValueFact> input_facts,
                                             int32_t copies_ahead) {
    Stopwatch watch;
    auto plan = std::make_shared<Plan>();
    plan->key = std::move(key);
    PlanReport& report = plan->report;
    LEAT_ASSIGN_OR_RETURN(plan->facts, find_facts(context, input_facts));
    report.inference_time_ns = watch.lap_ns();
    LEAT_ASSIGN_OR_RETURN(PreparedSteps steps, prepare_steps(context, plan->facts, copies_ahead));
    report.kernel_time_ns = watch.lap_ns();
    report.backend_time_ns = steps.backend_time_ns;
    plan->work = std::move(steps.work);
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const MemoryPlanner> planner,
                          order_steps(context, std::move(steps.problem), plan->work));
    LEAT_ASSIGN_OR_RETURN(plan->memory, place_memory(context, std::move(planner), plan->work));
    if (!context.is_body) {
        LEAT_RETURN_IF_ERROR(check_memory_of_bodies(context, plan->work));
    }
    report.memory_time_ns = watch.lap_ns();
    LEAT_ASSIGN_OR_RETURN(plan->program,
                          make_program(context, *plan->memory.layout.waits, plan->work));
    plan->storage = place_values(context, plan->facts, plan->memory, plan->work);
    report.plan_time_ns = watch.total_ns();
    report_plan(context, *plan);
    return plan;
}

// By plans for further_facts, which nobody runs. Where there is none, all stays as it is: who asks
// for these shapes is told why.
void arrange_for_others(const PlanContext& context, Plan& plan) {
    PlanContext again = context;
    again.seed = &plan;
    again.further_facts = {};
    for (const std::vector<ValueFact>& facts : context.further_facts) {
        PlanKey key{plan.key.group, {}, plan.key.values};
        for (const ValueFact& fact : facts) {
            key.shapes.push_back(fact.type.fixed_shape().value_or(Shape()));
        }
        const Result<std::shared_ptr<Plan>> other =
            make_plan_with(again, std::move(key), facts, plan.work.copies_ahead);
        if (other.ok()) {
            take_arrangements((*other)->memory.layout.plan, plan.memory.layout.plan);
            take_arrangements((*other)->work.devices, plan.work.devices);
        }
    }
}

}  // namespace

const ReplanSeed& no_seed() {
    static const ReplanSeed kNone;
    return kNone;
}

SolvedChoice Plan::solution() const {
    return {int(memory.run_ahead), work.largest_result_bytes, work.copies_ahead,
            memory.planner->solution_of(memory.layout)};
}

int64_t Plan::own_bytes() const {
    int64_t bytes = int64_t(sizeof(Plan) + (facts.known.size() + facts.needed.size()) / 8);
    bytes += int64_t(work.args.size() * (sizeof(TensorArg) + sizeof(Storage)));
    bytes += int64_t(facts.values.size() *
                     (sizeof(ValueFact) + sizeof(int32_t)));  // some are shared with other plans
    bytes += int64_t(work.steps.size() * sizeof(PlanStep));
    bytes += int64_t(work.kernels.size() * 512);  // a kernel object is a few hundred bytes
    bytes += int64_t(program.tasks.size() * sizeof(StepTask)) + work.devices.own_bytes();
    for (const PlanStep& step : work.steps) {
        for (const BodyPlan& body : plans_of_bodies(step)) {
            bytes += body.plan->own_bytes();
        }
    }
    for (const Tensor& tensor : work.constants) {
        // Weights belong to the graph and the store; what the plan computed is small.
        bytes += tensor.byte_count() <= kSmallConstantBytes ? tensor.byte_count() : 0;
    }
    return bytes;
}

Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context,
                                              const PlanKey& key,
                                              std::span<const ValueFact> input_facts) {
    const std::optional<SolvedChoice>& solved = context.seed->solved;
    const bool may_try_again = !solved && !context.placed.placement.streams.empty();
    Result<std::shared_ptr<Plan>> plan =
        make_plan_with(context, key, input_facts, solved ? solved->copies_ahead : kCopiesAhead[0]);
    for (size_t i = 1; i < std::size(kCopiesAhead) && may_try_again; ++i) {
        if (plan.ok() || plan.error().code() != StatusCode::kOutOfMemory) {
            break;
        }
        plan = make_plan_with(context, key, input_facts, kCopiesAhead[i]);
    }
    if (!plan.ok()) {
        return plan.error();
    }
    if (!context.further_facts.empty()) {
        arrange_for_others(context, **plan);
    }
    return std::shared_ptr<const Plan>(*std::move(plan));
}

Result<std::vector<MemoryTradeOff>> trade_offs(const PlanContext& context,
                                               std::span<const ValueFact> input_facts) {
    LEAT_ASSIGN_OR_RETURN(const PlanFacts facts, find_facts(context, input_facts));
    LEAT_ASSIGN_OR_RETURN(PreparedSteps steps, prepare_steps(context, facts, kCopiesAhead[0]));
    LEAT_ASSIGN_OR_RETURN(const std::shared_ptr<const MemoryPlanner> planner,
                          order_steps(context, std::move(steps.problem), steps.work));
    LEAT_ASSIGN_OR_RETURN(const std::vector<PlanMemory> choices, LayoutChooser(planner).all());
    std::vector<MemoryTradeOff> rows;
    rows.reserve(choices.size());
    for (const PlanMemory& choice : choices) {
        const MemoryLayout& layout = choice.layout;
        LEAT_ASSIGN_OR_RETURN(const PlanProgram program,
                              make_program(context, *layout.waits, steps.work));
        rows.push_back({int(choice.run_ahead), layout.plan.height_bytes,
                        layout.plan.lower_bound_bytes, layout.added_waits,
                        program.compiled.stats().parallel_ns});
    }
    return rows;
}

}  // namespace leat
