// The trace of an instance: which node ran where and when. What ran on workers is in the traces of
// the programs, its own and those of its sub-graphs; what ran in the blocking pool is recorded
// here.
#include <fmt/core.h>

#include <map>

#include "task_graph/task_graph_instance.h"
#include "trace/chrome_trace.h"

namespace leat::scheduler::detail {

struct InstanceData::GraphTrace {
    void add(const std::string& node,
             int32_t row,
             const std::string& row_name,
             int64_t from_ns,
             int64_t to_ns) {
        rows.try_emplace(row, row_name);
        events.add(node, "node", row, from_ns - begin_ns, to_ns - begin_ns);
    }

    ChromeTrace events{"leat task graph"};
    std::map<int32_t, std::string> rows;  // by thread: what it was first
    int64_t begin_ns = 0;                 // of the run
    int64_t dropped = 0;
};

void InstanceData::clear_job_trace() {
    if (job_trace_ != nullptr) {
        job_trace_->clear();
    }
    for (const auto& child : children_) {
        child->clear_job_trace();
    }
}

void InstanceData::add_events(GraphTrace& trace) const {
    const RunTrace run = state_->trace();
    // Else a sub-graph that had no turn in the last run.
    if (run.begin_ns == trace.begin_ns) {
        for (const TaskEvent& event : run.events) {
            const TaskPlan& task = plan_->tasks[size_t(event.task)];
            if (task.phase == TaskPhase::kCall) {
                // A sub-graph has its own numbers of workers; they say nothing about the thread.
                trace.add(path_of(task.node), event.thread,
                          parent_ == nullptr ? fmt::format("worker {}", event.worker) : "thread",
                          event.begin_ns, event.end_ns);
            }
        }
        trace.dropped += run.dropped;
    }
    if (job_trace_ != nullptr) {
        for (const TraceEvent& event : job_trace_->events()) {
            trace.add(path_of(event.id), event.thread, "blocking pool", event.begin_ns,
                      event.end_ns);
        }
        trace.dropped += job_trace_->dropped();
    }
    for (const auto& child : children_) {
        child->add_events(trace);
    }
}

std::string InstanceData::trace_json() {
    GraphTrace trace;
    const UseScope moment = UseScope::moment(use_);
    if (moment && plan_ != nullptr && plan_->is_traced) {
        trace.begin_ns = state_->trace().begin_ns;
        add_events(trace);
        for (const auto& [row, name] : trace.rows) {
            trace.events.name_thread(row, name);
        }
        trace.events.add_note("dropped_events", std::to_string(trace.dropped));
    }
    return trace.events.json();
}

}  // namespace leat::scheduler::detail
