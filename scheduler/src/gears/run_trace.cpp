// A program's trace as a file.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "gears/program_impl.h"
#include "leat/scheduler/executor.h"
#include "trace/chrome_trace.h"

namespace leat::scheduler {
namespace {

// Beyond the small numbers of threads.
constexpr int32_t kFirstRow = 1'000'000;

// An interval as it is drawn. Times: of the run.
struct Drawn {
    int32_t line = -1;  // negative: it is not
    int64_t begin_ns = 0;
    int64_t end_ns = 0;

    // Inside of it.
    int64_t last_ns() const { return std::max(begin_ns, end_ns - 1); }
};

class TraceWriter {
  public:
    TraceWriter(const RunTrace& run, const CompactDag& dag, std::span<const std::string> task_names)
        : run_(run), dag_(dag), task_names_(task_names) {}

    std::string write(const TraceAdditions& additions) {
        add_tasks();
        int32_t line = kFirstRow;
        for (const TraceRow& row : additions.rows) {
            line = add_row(row, line);
        }
        for (const TraceArrow& arrow : additions.arrows) {
            add_arrow(arrow);
        }
        for (const TraceCounters& own : additions.counters) {
            trace_.add_counters(own.name, 0, own.values);
        }
        if (!additions.rows.empty()) {
            add_busy(additions.rows);
        }
        trace_.add_note("dropped_events", std::to_string(run_.dropped));
        return trace_.json();
    }

  private:
    void add_tasks() {
        std::map<int32_t, int32_t> workers;  // by thread: the first number that it had
        for (const TaskEvent& event : run_.events) {
            const auto task = size_t(event.task);
            workers.try_emplace(event.thread, event.worker);
            const bool is_divisible = dag_.task(int32_t(task)).tile_count != 1;
            const std::string tiles =
                is_divisible ? fmt::format("tiles [{}, {}), ", event.tile_begin, event.tile_end)
                             : "";
            const Drawn drawn{event.thread, event.begin_ns - run_.begin_ns,
                              event.end_ns - run_.begin_ns};
            trace_.add(task < task_names_.size() ? task_names_[task] : fmt::format("task {}", task),
                       "task", drawn.line, drawn.begin_ns, drawn.end_ns,
                       fmt::format("{}CPU {}", tiles, event.cpu));
            note_call(int32_t(task), drawn);
        }
        for (const auto& [thread, worker] : workers) {
            trace_.name_thread(thread, fmt::format("worker {}", worker));
        }
    }

    void note_call(int32_t task, const Drawn& drawn) {
        const auto [calls, is_new] = calls_.try_emplace(task, drawn, drawn);
        auto& [first, last] = calls->second;
        first = drawn.begin_ns < first.begin_ns ? drawn : first;
        last = drawn.end_ns > last.end_ns ? drawn : last;
    }

    // Spans of a line do not overlap: each goes to the first line that is free when it begins.
    // Returns the number of the next line.
    int32_t add_row(const TraceRow& row, int32_t line) {
        std::vector<size_t> order(row.spans.size());
        for (size_t span = 0; span < order.size(); ++span) {
            order[span] = span;
        }
        std::stable_sort(order.begin(), order.end(), [&row](size_t a, size_t b) {
            return row.spans[a].begin_ns < row.spans[b].begin_ns;
        });
        std::vector<Drawn>& drawn = rows_.emplace_back(row.spans.size());
        std::vector<int64_t> busy_until_ns;  // by line
        for (const size_t index : order) {
            const TraceSpan& span = row.spans[index];
            const auto free =
                std::find_if(busy_until_ns.begin(), busy_until_ns.end(),
                             [&span](int64_t end_ns) { return end_ns <= span.begin_ns; });
            const auto own = int32_t(free - busy_until_ns.begin());
            if (free == busy_until_ns.end()) {
                busy_until_ns.push_back(0);
                trace_.name_thread(line + own,
                                   own == 0 ? row.name : fmt::format("{} ({})", row.name, own + 1));
            }
            busy_until_ns[size_t(own)] = span.end_ns;
            drawn[index] = {line + own, span.begin_ns - run_.begin_ns, span.end_ns - run_.begin_ns};
            trace_.add(span.name, row.is_forecast ? "forecast" : "device", drawn[index].line,
                       drawn[index].begin_ns, drawn[index].end_ns);
        }
        return line + int32_t(busy_until_ns.size());
    }

    Drawn find(const TraceEnd& end, bool is_begin) const {
        if (end.task >= 0) {
            const auto calls = calls_.find(end.task);
            return calls == calls_.end() ? Drawn()
                   : is_begin            ? calls->second.second
                                         : calls->second.first;
        }
        const bool is_span = end.row >= 0 && size_t(end.row) < rows_.size() && end.span >= 0 &&
                             size_t(end.span) < rows_[size_t(end.row)].size();
        return is_span ? rows_[size_t(end.row)][size_t(end.span)] : Drawn();
    }

    void add_arrow(const TraceArrow& arrow) {
        const Drawn from = find(arrow.from, true);
        const Drawn to = find(arrow.to, false);
        if (from.line >= 0 && to.line >= 0) {
            trace_.add_arrow(arrow.name, from.line, from.last_ns(), to.line, to.begin_ns);
        }
    }

    // Each time that one of the numbers changes.
    void add_busy(std::span<const TraceRow> all_rows) {
        std::vector<TraceRow> rows;
        std::copy_if(all_rows.begin(), all_rows.end(), std::back_inserter(rows),
                     [](const TraceRow& row) { return !row.is_forecast; });
        std::map<int64_t, std::vector<int64_t>> changes;  // by time: of the workers, of each row
        const auto change = [&](int64_t at_ns, size_t counter, int64_t by) {
            std::vector<int64_t>& own = changes[at_ns - run_.begin_ns];
            own.resize(rows.size() + 1);
            own[counter] += by;
        };
        for (const TaskEvent& event : run_.events) {
            change(event.begin_ns, 0, 1);
            change(event.end_ns, 0, -1);
        }
        for (size_t row = 0; row < rows.size(); ++row) {
            for (const TraceSpan& span : rows[row].spans) {
                change(span.begin_ns, row + 1, 1);
                change(span.end_ns, row + 1, -1);
            }
        }
        std::vector<std::pair<std::string, int64_t>> counters = {{"workers", 0}};
        for (const TraceRow& row : rows) {
            counters.emplace_back(row.name, 0);
        }
        for (const auto& [at_ns, by] : changes) {
            for (size_t counter = 0; counter < counters.size(); ++counter) {
                counters[counter].second += by[counter];
            }
            trace_.add_counters("busy", at_ns, counters);
        }
    }

    const RunTrace& run_;
    const CompactDag& dag_;
    std::span<const std::string> task_names_;
    ChromeTrace trace_{"leat program"};
    std::map<int32_t, std::pair<Drawn, Drawn>> calls_;  // by task: the first, and that ended last
    std::vector<std::vector<Drawn>> rows_;              // by row and span
};

}  // namespace

std::string ProgramState::trace_json(std::span<const std::string> task_names,
                                     const TraceAdditions& additions) const {
    const RunTrace run = trace();
    return TraceWriter(run, program().impl().dag, task_names).write(additions);
}

}  // namespace leat::scheduler
