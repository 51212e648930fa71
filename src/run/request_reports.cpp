// What a request says of its runs: times of steps, where its pages are, shards, traces.
#include <fmt/format.h>

#include <iterator>

#include "memory/domains/page_placement.h"
#include "run/request_impl.h"
#include "run/segments_run.h"
#include "run/step_times.h"

namespace leat {
namespace {

constexpr const char* kNoTrace = "{\"traceEvents\":[]}\n";

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
                                std::map<const NodeData*, std::vector<StepTime>>& times) {
    const PlanWork& work = instance.plan().work;
    for (size_t s = 0; s < work.steps.size(); ++s) {
        std::vector<StepTime> rows;
        LEAT_RETURN_IF_ERROR(instance.time_step(int32_t(s), rows));
        if (!work.steps[s].is_transfer) {  // that is no node of the graph
            add_times(rows, times[work.steps[s].node]);
        }
    }
    return {};
}

Result<std::vector<StepTime>> RequestState::profile() {
    has_results_ = false;
    LEAT_RETURN_IF_ERROR(check_bound());
    if (segments_ != nullptr) {
        LEAT_RETURN_IF_ERROR(prepare_values());
        std::vector<StepTime> times;
        std::vector<Value> values = inputs;
        Result<std::vector<Value>> found = segments_->profile(values, times);
        if (!found.ok()) {
            return std::move(found).error().with_file(compiled->graph.file);
        }
        LEAT_RETURN_IF_ERROR(take_segment_results(*std::move(found)));
        return times;
    }
    LEAT_RETURN_IF_ERROR(select_instances({}, {}));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    // In the graph's order; a plan may have its own.
    std::map<const NodeData*, std::vector<StepTime>> timed;
    for (const int part : active_) {
        LEAT_RETURN_IF_ERROR(time_steps(*parts_[size_t(part)].current(), timed));
    }
    LEAT_RETURN_IF_ERROR(collect_results());
    std::vector<StepTime> times;
    times.reserve(timed.size());
    for (auto& [node, rows] : timed) {
        std::move(rows.begin(), rows.end(), std::back_inserter(times));
    }
    return times;
}

void RequestState::add_pages_to(PlacementReport& report, NumaMaps& maps) const {
    for (const RequestPart& part : parts_) {
        part.add_to(report, maps);
    }
    if (segments_ != nullptr) {
        segments_->for_each_request(
            [&](const RequestState& request) { request.add_pages_to(report, maps); });
    }
}

PlacementReport RequestState::placement_report() const {
    PlacementReport report;
    report.page_bytes = page_bytes();
    const PageSettings settings = read_page_settings("");
    report.is_balanced_by_system = settings.is_balancing;
    report.huge_pages = settings.huge_pages;
    NumaMaps maps;
    add_pages_to(report, maps);
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
    if (!reading.has_begun()) {
        return {};
    }
    if (const ValuePool* pool = impl_->state->pool(); pool != nullptr) {
        RunReport report;
        report.pool_bytes = pool->held_bytes();
        report.pool_peak_bytes = pool->peak_bytes();
        return report;
    }
    if (impl_->state->current() == nullptr) {
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

std::string RequestState::trace_json(int shard) const {
    SegmentsTrace trace{this, {}};
    if (segments_ != nullptr) {
        trace.first = nullptr;
        segments_->add_trace("", trace);
    }
    const Instance* const traced = trace.first == nullptr ? nullptr : trace.first->instance(shard);
    return traced == nullptr || !compiled->options.is_traced
               ? kNoTrace
               : traced->trace_json(page_counters(placement_report()),
                                    trace.first->compiled->placed.placement.forecast, trace.rows);
}

std::string Request::trace_json(int shard) const {
    const Reading reading(impl_->users);
    return reading.has_begun() ? impl_->state->trace_json(shard) : kNoTrace;
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
