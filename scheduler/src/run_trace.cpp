// A program's trace as a file.
#include <fmt/format.h>

#include <map>

#include "leat/scheduler/executor.h"
#include "program_impl.h"
#include "trace/chrome_trace.h"

namespace leat::scheduler {

std::string ProgramState::trace_json(std::span<const std::string> task_names,
                                     std::span<const TraceCounters> counters) const {
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
    for (const TraceCounters& own : counters) {
        trace.add_counters(own.name, 0, own.values);
    }
    trace.add_note("dropped_events", std::to_string(run.dropped));
    return trace.json();
}

}  // namespace leat::scheduler
