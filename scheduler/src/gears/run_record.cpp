#include "gears/run_record.h"

#include "gears/program_impl.h"

namespace leat::scheduler {

RunRecord::RunRecord(const Program::Impl& program)
    : times_ns_(program.options.is_traced ? size_t(program.stats.tasks) : 0) {
    if (!program.options.is_traced) {
        return;
    }
    // A run that is started has one helper more than lists: see RunHandle::Impl.
    const int workers = program.stats.workers + 1;
    trace_.reserve(size_t(workers));
    for (int worker = 0; worker < workers; ++worker) {
        trace_.push_back(std::make_unique<TraceBuffer>(program.options.trace_events_per_worker));
    }
}

void RunRecord::begin_trace(int64_t begin_ns) {
    if (begin_ns == trace_begin_ns_) {
        return;  // again in the same outermost run
    }
    trace_begin_ns_ = begin_ns;
    for (const auto& buffer : trace_) {
        buffer->clear();
    }
}

RunTrace RunRecord::trace() const {
    RunTrace trace;
    trace.begin_ns = trace_begin_ns_;
    for (size_t worker = 0; worker < trace_.size(); ++worker) {
        const std::span<const TraceEvent> events = trace_[worker]->events();
        trace.events.reserve(trace.events.size() + events.size());
        for (const TraceEvent& event : events) {
            trace.events.push_back({TaskId(event.id), int32_t(worker), event.thread,
                                    event.tiles.begin, event.tiles.end, event.begin_ns,
                                    event.end_ns, event.cpu});
        }
        trace.dropped += trace_[worker]->dropped();
    }
    return trace;
}

std::vector<double> RunRecord::times_ns() const {
    std::vector<double> times;
    times.reserve(times_ns_.size());
    for (const std::atomic<int64_t>& sum : times_ns_) {
        times.push_back(stats_.runs > 0
                            ? double(sum.load(std::memory_order_relaxed)) / double(stats_.runs)
                            : Task::kUnknownCost);
    }
    return times;
}

}  // namespace leat::scheduler
