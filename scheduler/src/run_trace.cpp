// A program's trace as a file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "leat/scheduler/executor.h"
#include "program_impl.h"
#include "trace/chrome_trace.h"

namespace leat::scheduler {
namespace {

// Beyond the small numbers of threads.
constexpr int32_t kFirstRow = 1'000'000;

// Spans of a line do not overlap: each goes to the first line that is free when it begins. Returns
// the number of the next line.
int32_t add_row(const TraceRow& row, int64_t run_begin_ns, int32_t line, ChromeTrace& trace) {
    std::vector<const TraceSpan*> spans;
    spans.reserve(row.spans.size());
    for (const TraceSpan& span : row.spans) {
        spans.push_back(&span);
    }
    std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan* a, const TraceSpan* b) {
        return a->begin_ns < b->begin_ns;
    });
    std::vector<int64_t> busy_until_ns;  // by line
    for (const TraceSpan* span : spans) {
        const auto free = std::find_if(busy_until_ns.begin(), busy_until_ns.end(),
                                       [span](int64_t end_ns) { return end_ns <= span->begin_ns; });
        const auto own = int32_t(free - busy_until_ns.begin());
        if (free == busy_until_ns.end()) {
            busy_until_ns.push_back(0);
            trace.name_thread(line + own,
                              own == 0 ? row.name : fmt::format("{} ({})", row.name, own + 1));
        }
        busy_until_ns[size_t(own)] = span->end_ns;
        trace.add(span->name, "device", line + own, span->begin_ns - run_begin_ns,
                  span->end_ns - run_begin_ns);
    }
    return line + int32_t(busy_until_ns.size());
}

}  // namespace

std::string ProgramState::trace_json(std::span<const std::string> task_names,
                                     std::span<const TraceCounters> counters,
                                     std::span<const TraceRow> rows) const {
    const RunTrace run = trace();
    const CompactDag& dag = program().impl().dag;
    ChromeTrace trace("leat program");
    std::map<int32_t, int32_t> workers;  // by thread: the first number that it had
    for (const TaskEvent& event : run.events) {
        const auto task = size_t(event.task);
        workers.try_emplace(event.thread, event.worker);
        const bool is_divisible = dag.task(int32_t(task)).tile_count != 1;
        const std::string tiles =
            is_divisible ? fmt::format("tiles [{}, {}), ", event.tile_begin, event.tile_end) : "";
        trace.add(task < task_names.size() ? task_names[task] : fmt::format("task {}", task),
                  "task", event.thread, event.begin_ns - run.begin_ns, event.end_ns - run.begin_ns,
                  fmt::format("{}CPU {}", tiles, event.cpu));
    }
    for (const auto& [thread, worker] : workers) {
        trace.name_thread(thread, fmt::format("worker {}", worker));
    }
    int32_t line = kFirstRow;
    for (const TraceRow& row : rows) {
        line = add_row(row, run.begin_ns, line, trace);
    }
    for (const TraceCounters& own : counters) {
        trace.add_counters(own.name, 0, own.values);
    }
    trace.add_note("dropped_events", std::to_string(run.dropped));
    return trace.json();
}

}  // namespace leat::scheduler
