#include "run/body_run.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/monotonic_clock.h"
#include "run/device_trace.h"
#include "run/region_run.h"
#include "run/step_times.h"
#include "run/task_stop.h"

namespace leat {
namespace {

// What a trace shows of a body at most: a long loop would fill any memory.
constexpr size_t kMostTracedSpans = 8192;

int64_t tiles_between_questions(const PlanStep& step) {
    const auto tiles = double(step.kernel->tile_count);
    return std::max<int64_t>(
        int64_t(tiles * std::min(1.0, kBetweenQuestionsNs / std::max(step.cost_ns, 1.0))), 1);
}

// Inline, as little steps take no longer than a call or two.
inline Status run_tiles(const BodyCall& call, scheduler::TaskScope* scope) {
    const HostKernel& kernel = *call.step->kernel;
    if (scope == nullptr || call.tiles_at_a_time >= kernel.tile_count) {
        return kernel.run(call.args, 0, kernel.tile_count);
    }
    for (int64_t tile = 0; tile < kernel.tile_count;) {
        if (tile > 0 && scope->is_cancelled()) {
            return Status::bare(StatusCode::kCancelled);
        }
        const int64_t end = std::min(tile + call.tiles_at_a_time, kernel.tile_count);
        LEAT_RETURN_IF_ERROR(kernel.run(call.args, tile, end));
        tile = end;
    }
    return {};
}

// All of it by this thread.
inline Status run_call(const BodyCall& call, scheduler::TaskScope* scope) {
    if (call.asks && scope != nullptr && scope->is_cancelled()) {
        return Status::bare(StatusCode::kCancelled);  // the run knows why
    }
    Status status = call.step->region != nullptr
                        ? Region::state_of(*call.args.state).run(call.args, scope)
                        : run_tiles(call, scope);
    return status.ok() ? Status() : std::move(status).with_node(call.step->node->label());
}

}  // namespace

BodyRun::BodyRun(const BodyPlan& body, int sets)
    : body_(body), state_(body.plan->program.compiled) {
    for (int i = 0; i < sets; ++i) {
        sets_.emplace_back(*body.plan);
    }
}

Status BodyRun::make_states() {
    states_.resize(plan().work.steps.size());
    times_ns_.resize(states_.size());
    spans_.reserve(plan().program.is_traced ? kMostTracedSpans : 0);
    LEAT_RETURN_IF_ERROR(make_host_states(plan(), states_, host_states_));
    LEAT_RETURN_IF_ERROR(make_device_states(plan(), states_));
    for (BodyAddresses& set : sets_) {
        make_calls(set);
    }
    for (size_t call = 0; call < sets_[0].calls.size(); ++call) {
        if (sets_[0].calls[call].step->kernel->is_reference) {
            long_calls_.push_back(call);
        }
    }
    return {};
}

void BodyRun::make_calls(BodyAddresses& set) {
    double since_question_ns = 0;
    for (const StepTask& task : plan().program.tasks) {
        if (task.kind == StepTask::Kind::kFinish) {
            continue;  // the call waits for the device
        }
        const PlanStep& step = plan().work.steps[size_t(task.step)];
        BodyCall call;
        call.step = &step;
        call.args.inputs = set.values.inputs_of(step);
        call.args.outputs = set.values.outputs_of(step);
        call.args.state = states_[size_t(task.step)].get();
        call.tiles_at_a_time = tiles_between_questions(step);
        call.asks = since_question_ns > kBetweenQuestionsNs;
        since_question_ns = (call.asks ? 0 : since_question_ns) + step.cost_ns;
        set.calls.push_back(call);
    }
}

void BodyRun::link(std::byte* arena, std::byte* scratch, int64_t scratch_bytes) {
    scratch_ = scratch;
    scratch_bytes_ = scratch_bytes;
    for (BodyAddresses& set : sets_) {
        set.values.link(arena);
        for (BodyCall& call : set.calls) {
            call.args.scratch = scratch;
            call.args.shared = plan().work.own_memory_of(*call.step, arena);
        }
    }
    link_regions(plan(), states_, arena);
}

Status BodyRun::run(int set, scheduler::TaskScope* scope) {
    running_ = &sets_[size_t(set)];
    for (const size_t call : long_calls_) {
        running_->calls[call].args.stop = stop_of(scope);
    }
    for (KernelState* const state : host_states_) {
        state->begin_run();
    }
    if (is_timed_) {
        return run_timed();
    }
    if (plan().program.is_traced) {
        const int64_t begin_ns = monotonic_ns();
        Status status = run_steps(scope);
        trace(-1, begin_ns);
        return status;
    }
    return run_steps(scope);
}

void BodyRun::clear_trace() noexcept {
    spans_.clear();
    for_each_region(plan(), states_,
                    [](const PlanStep& /*step*/, RegionState& region) { region.clear_trace(); });
}

void BodyRun::add_trace(const std::string& around, std::vector<scheduler::TraceRow>& rows) const {
    scheduler::TraceRow runs{around, {}, false};
    scheduler::TraceRow steps{"steps of " + around, {}, false};
    for (const BodySpan& span : spans_) {
        if (span.call < 0) {
            runs.spans.push_back(
                {fmt::format("run {}", runs.spans.size()), span.begin_ns, span.end_ns});
        } else {
            const NodeData& node = *sets_[0].calls[size_t(span.call)].step->node;
            steps.spans.push_back({trace_name(node), span.begin_ns, span.end_ns});
        }
    }
    for (scheduler::TraceRow* row : {&runs, &steps}) {
        if (!row->spans.empty()) {
            rows.push_back(std::move(*row));
        }
    }
    for_each_region(plan(), states_, [&](const PlanStep& /*step*/, RegionState& region) {
        region.add_trace(around, rows);
    });
}

void BodyRun::set_timing(bool is_on) noexcept {
    is_timed_ = is_on;
    if (is_on) {
        std::fill(times_ns_.begin(), times_ns_.end(), 0);
        runs_ = 0;
    }
    for_each_region(plan(), states_, [&](const PlanStep& /*step*/, RegionState& region) {
        region.set_timing(is_on);
    });
}

Status BodyRun::add_times(const std::string& around, std::vector<StepTime>& rows) const {
    for (size_t s = 0; s < times_ns_.size(); ++s) {
        const PlanStep& step = plan().work.steps[s];
        LEAT_ASSIGN_OR_RETURN(rows.emplace_back(), step_time(plan().work, step, runs_));
        rows.back().time_ns = times_ns_[s];
        rows.back().within = around;
        if (step.region != nullptr) {
            LEAT_RETURN_IF_ERROR(Region::state_of(*states_[s]).add_times(around, rows));
        }
    }
    return {};
}

Status BodyRun::run_steps(scheduler::TaskScope* scope) {
    if (!body_.is_inline && scope != nullptr) {
        return scope->run(state_, {run_task, this});
    }
    const bool is_traced = plan().program.is_traced;
    for (const BodyCall& call : running_->calls) {
        const int64_t begin_ns = is_traced ? monotonic_ns() : 0;
        LEAT_RETURN_IF_ERROR(run_call(call, scope));
        if (is_traced) {
            trace(int32_t(&call - running_->calls.data()), begin_ns);
        }
    }
    return {};
}

void BodyRun::trace(int32_t call, int64_t begin_ns) {
    if (spans_.size() < spans_.capacity()) {
        spans_.push_back({call, begin_ns, monotonic_ns()});
    }
}

Status BodyRun::run_timed() {
    ++runs_;
    for (const BodyCall& call : running_->calls) {
        const int64_t begin_ns = monotonic_ns();
        Status status = run_call(call, nullptr);
        times_ns_[index_of(*call.step)] += monotonic_ns() - begin_ns;
        LEAT_RETURN_IF_ERROR(status);
    }
    return {};
}

bool BodyRun::run_task(void* self, scheduler::TaskId id, scheduler::TaskScope& scope) {
    const auto& run = *static_cast<const BodyRun*>(self);
    const BodyCall& call = run.running_->calls[size_t(id)];
    KernelArgs args = call.args;
    args.scratch = run.scratch_ + scope.worker() * run.scratch_bytes_;
    args.stop = stop_of(&scope);
    Status status = call.step->region != nullptr
                        ? Region::state_of(*args.state).run(args, &scope)
                        : call.step->kernel->run(args, scope.tile_begin(), scope.tile_end());
    return status.ok() || scope.fail(std::move(status).with_node(call.step->node->label()));
}

}  // namespace leat
