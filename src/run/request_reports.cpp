// What a request says of its runs: times of steps, where its pages are, shards, traces.
#include <fmt/format.h>

#include <chrono>

#include "memory/domains/page_placement.h"
#include "plan/kernel_answers.h"
#include "run/request_impl.h"

namespace leat {
namespace {

// The placement report beside a trace.
std::vector<scheduler::TraceCounters> page_counters(const PlacementReport& report) {
    std::vector<scheduler::TraceCounters> all;
    all.reserve(report.memory.size());
    for (const PagePlacement& own : report.memory) {
        all.push_back({own.numa_nodes.empty() ? fmt::format("pages of {}", own.memory)
                                              : fmt::format("pages of {} for node {}", own.memory,
                                                            fmt::join(own.numa_nodes, ", ")),
                       {{"wanted", own.wanted_pages},
                        {"there", own.there_pages},
                        {"elsewhere", own.elsewhere_pages},
                        {"absent", own.absent_pages},
                        {"huge", own.huge_pages}}});
    }
    return all;
}

}  // namespace

// Adds a run of each step, one after the other, to the times.
Status RequestState::time_steps(const Instance& instance,
                                std::map<const NodeData*, StepTime>& times) {
    const Plan& plan = instance.plan();
    for (size_t s = 0; s < plan.work.steps.size(); ++s) {
        const PlanStep& step = plan.work.steps[s];
        const auto start = std::chrono::steady_clock::now();
        LEAT_RETURN_IF_ERROR(instance.run_step(int32_t(s), 0, step.kernel->tile_count, 0));
        const auto end = std::chrono::steady_clock::now();
        if (step.is_transfer) {
            continue;  // no node of the graph
        }
        StepTime& time = times[step.node];
        const bool is_first = time.shapes.empty();
        time.estimated_ns += step.cost_ns;
        time.node = step.node->name;
        time.op_type = step.node->op_type;
        time.kernel = step.kernel->kernel_name;
        time.time_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
        const std::span<const TensorArg> ins = plan.work.inputs_of(step);
        const std::span<const TensorArg> outs = plan.work.outputs_of(step);
        if (step.node->def->cost != nullptr) {
            const Result<Cost> cost = checked_cost(*step.node, ins, outs);
            if (!cost.ok()) {
                return cost.error().with_node(step.node->label());
            }
            time.flops += cost->flops;
            time.bytes += cost->bytes;
        }
        time.shapes += is_first ? "" : "; ";
        for (const TensorArg& arg : ins) {
            time.shapes += arg.shape.to_string();
            time.shapes += " ";
        }
        time.shapes += "-> ";
        time.shapes += outs[0].shape.to_string();
    }
    return {};
}

Result<std::vector<StepTime>> RequestState::profile() {
    has_results_ = false;
    LEAT_RETURN_IF_ERROR(check_bound());
    LEAT_RETURN_IF_ERROR(select_instances({}, {}));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    std::map<const NodeData*, StepTime> timed;  // in the graph's order; a plan may have its own
    for (const int part : active_) {
        LEAT_RETURN_IF_ERROR(time_steps(*parts_[size_t(part)].current(), timed));
    }
    LEAT_RETURN_IF_ERROR(collect_results());
    std::vector<StepTime> times;
    times.reserve(timed.size());
    for (auto& [node, time] : timed) {
        times.push_back(std::move(time));
    }
    return times;
}

PlacementReport RequestState::placement_report() const {
    PlacementReport report;
    report.page_bytes = page_bytes();
    const PageSettings settings = read_page_settings("");
    report.is_balanced_by_system = settings.is_balancing;
    report.huge_pages = settings.huge_pages;
    NumaMaps maps;
    for (const RequestPart& part : parts_) {
        part.add_to(report, maps);
    }
    for (const std::shared_ptr<const Slab>& slab : compiled->runtime->weights.slabs()) {
        add_placement(*slab, *compiled->runtime->domains, "weights", report, maps);
    }
    return report;
}

DivisionReport RequestState::division_report() const {
    DivisionReport report;
    if (division_ == nullptr) {
        return report;
    }
    report.undivided_because = division_->reason;
    for (const int part : is_divided() ? active_ : std::vector<int>()) {
        const Runtime::Impl& runtime = *compiled->runtime;
        const MemoryDomainId home = *runtime.groups[size_t(part)].home;
        const BatchRows& rows = division_->rows[size_t(part)];
        report.shards.push_back({runtime.domains->at(home).os_node, rows.begin, rows.count});
    }
    return report;
}

Result<std::vector<StepTime>> Request::profile() {
    return impl_->use_alone("profile the graph", [&] { return impl_->state->profile(); });
}

RunReport Request::run_report() const {
    const Reading reading(impl_->users);
    if (!reading.has_begun() || impl_->state->current() == nullptr) {
        return {};
    }
    const scheduler::RunStats stats = impl_->state->current()->run_stats();
    RunReport report = {stats.runs, stats.wall_ns, stats.imbalance, stats.advises_recompile,
                        stats.adopted_across_domains};
    report.transfers = impl_->state->current()->plan().report.transfer_count;
    report.transfer_bytes = impl_->state->current()->plan().report.transfer_bytes;
    return report;
}

PlacementReport Request::placement_report() const {
    const Reading reading(impl_->users);
    return reading.has_begun() ? impl_->state->placement_report() : PlacementReport();
}

std::string Request::trace_json(int shard) const {
    const Reading reading(impl_->users);
    const Instance* instance = reading.has_begun() ? impl_->state->instance(shard) : nullptr;
    return instance == nullptr || !impl_->state->compiled->options.is_traced
               ? "{\"traceEvents\":[]}\n"
               : instance->trace_json(page_counters(impl_->state->placement_report()),
                                      impl_->state->compiled->placed.placement.forecast);
}

DivisionReport Request::division() const {
    const Reading reading(impl_->users);
    return reading.has_begun() ? impl_->state->division_report() : DivisionReport();
}

int Request::threads_used() const {
    const Reading reading(impl_->users);
    int threads = 0;
    for (int shard = 0; reading.has_begun(); ++shard) {
        const Instance* instance = impl_->state->instance(shard);
        if (instance == nullptr) {
            break;
        }
        threads += instance->workers_used();
    }
    return threads;
}

const PlanReport& Request::plan_report() const {
    static const PlanReport kNone;
    const Reading reading(impl_->users);
    return !reading.has_begun() || impl_->state->current() == nullptr
               ? kNone
               : impl_->state->current()->plan().report;
}

}  // namespace leat
