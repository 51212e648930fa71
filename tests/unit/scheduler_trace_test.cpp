// Traces of programs: what is recorded, when it is replaced, what does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "leat/scheduler/executor.h"
#include "leat/scheduler/topology.h"
#include "support/step_program.h"

namespace leat::scheduler {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Gear kGears[] = {Gear::kInline, Gear::kCompiled, Gear::kDynamic};

using TaskBody = std::function<bool(int32_t task, TaskScope& scope)>;
TaskFunction call_tasks(const TaskBody& body) {
    return {[](void* context, TaskId task, TaskScope& scope) {
                return (*static_cast<const TaskBody*>(context))(int32_t(task), scope);
            },
            const_cast<TaskBody*>(&body)};
}

const TaskBody kNothing = [](int32_t, TaskScope&) { return true; };

Program compile_traced(const TaskDag& dag, Gear gear, int64_t events_per_worker = 1000) {
    CompileOptions options;
    options.workers = 3;
    options.gear = gear;
    options.is_traced = true;
    options.trace_events_per_worker = events_per_worker;
    return Program::compile(dag, options).value();
}

TaskDag independent_tasks(int count) {
    TaskDag dag;
    for (int i = 0; i < count; ++i) {
        dag.add({.cost_ns = 1000});
    }
    return dag;
}

// Up to two predecessors each; every fourth task has tiles, some none.
TaskDag random_dag(uint32_t seed, int tasks, bool has_tiles) {
    std::mt19937 random(seed);
    TaskDag dag;
    for (int i = 0; i < tasks; ++i) {
        const bool is_tiled = has_tiles && random() % 4 == 0;
        const TaskId task = dag.add(
            {.cost_ns = double(random() % 2000), .tile_count = is_tiled ? int(random() % 40) : 1});
        for (int edge = 0; edge < 2 && i > 0; ++edge) {
            dag.precede(TaskId(random() % uint32_t(i)), task);
        }
    }
    return dag;
}

std::vector<std::string> tasks_of(const RunTrace& trace) {
    std::vector<std::string> tasks;
    tasks.reserve(trace.events.size());
    for (const TaskEvent& event : trace.events) {
        tasks.push_back(std::to_string(int32_t(event.task)));
    }
    return tasks;
}

int64_t tile_count_of(const TaskDag& dag, TaskId task) {
    for (const auto& [id, special] : dag.special_tasks()) {
        if (id == task) {
            return special.tile_count;
        }
    }
    return 1;
}

// Every tile of every task in exactly one event.
void expect_complete(const TaskDag& dag, const RunTrace& trace) {
    std::map<TaskId, std::multiset<int64_t>> tiles;
    for (const TaskEvent& event : trace.events) {
        for (int64_t tile = event.tile_begin; tile < event.tile_end; ++tile) {
            tiles[event.task].insert(tile);
        }
    }
    for (int32_t task = 0; task < dag.task_count(); ++task) {
        const int64_t count = tile_count_of(dag, TaskId(task));
        std::multiset<int64_t> wanted;
        for (int64_t tile = 0; tile < count; ++tile) {
            wanted.insert(tile);
        }
        EXPECT_EQ(tiles[TaskId(task)], wanted) << "task " << task;
    }
}

// One after the other on a thread, and for each worker in the order of the events.
void expect_disjoint_rows(const RunTrace& trace) {
    std::map<int32_t, std::vector<TaskEvent>> rows;
    std::map<int32_t, int64_t> ends;
    for (const TaskEvent& event : trace.events) {
        EXPECT_LE(trace.begin_ns, event.begin_ns);
        EXPECT_LE(event.begin_ns, event.end_ns);
        EXPECT_LE(ends[event.worker], event.begin_ns);
        ends[event.worker] = event.end_ns;
        rows[event.thread].push_back(event);
    }
    for (auto& [thread, row] : rows) {
        std::sort(row.begin(), row.end(), [](const TaskEvent& a, const TaskEvent& b) {
            return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns < b.end_ns;
        });
        for (size_t i = 1; i < row.size(); ++i) {
            EXPECT_LE(row[i - 1].end_ns, row[i].begin_ns) << "thread " << thread;
        }
    }
}

void expect_edges_kept(const TaskDag& dag, const RunTrace& trace) {
    std::map<TaskId, int64_t> begins;
    std::map<TaskId, int64_t> ends;
    for (const TaskEvent& event : trace.events) {
        const auto begin = begins.try_emplace(event.task, event.begin_ns).first;
        begin->second = std::min(begin->second, event.begin_ns);
        ends[event.task] = std::max(ends[event.task], event.end_ns);
    }
    for (const TaskDag::Edge& edge : dag.edges()) {
        if (begins.count(edge.before) != 0 && begins.count(edge.after) != 0) {
            EXPECT_LE(ends[edge.before], begins[edge.after])
                << int32_t(edge.before) << " -> " << int32_t(edge.after);
        }
    }
}

class TraceTest : public ::testing::TestWithParam<Gear> {
  protected:
    static ExecutorOptions threads() {
        ExecutorOptions options;
        options.threads = 3;
        options.source = ThreadSource::kStdThread;
        return options;
    }
    Executor executor_{threads()};
};
INSTANTIATE_TEST_SUITE_P(Gears, TraceTest, ::testing::ValuesIn(kGears), [](const auto& gear) {
    return std::string(name_of(gear.param));
});

TEST_P(TraceTest, HoldsEveryTaskOnceInAnOrderThatTheGraphAllows) {
    for (uint32_t seed = 1; seed <= 10; ++seed) {
        const TaskDag dag = random_dag(seed, 100, seed % 2 == 0);
        ProgramState state(compile_traced(dag, GetParam(), 5000));
        const TaskBody body = [](int32_t task, TaskScope&) {
            if (task % 16 == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
            return true;
        };
        ASSERT_TRUE(executor_.run(state, call_tasks(body)).ok());
        const RunTrace trace = state.trace();
        EXPECT_EQ(trace.dropped, 0);
        expect_complete(dag, trace);
        expect_disjoint_rows(trace);
        expect_edges_kept(dag, trace);
    }
}

TEST_P(TraceTest, HoldsTheTilesOfATask) {
    TaskDag dag;
    dag.add({.cost_ns = 1e6, .tile_count = 100});
    dag.add({.cost_ns = 1e6, .tile_count = 50});
    dag.precede(TaskId(0), TaskId(1));
    ProgramState state(compile_traced(dag, GetParam()));
    ASSERT_TRUE(executor_.run(state, call_tasks(kNothing)).ok());
    expect_complete(dag, state.trace());
    expect_edges_kept(dag, state.trace());
    EXPECT_THAT(state.trace_json(), HasSubstr("\"detail\":\"tiles ["));
}

TEST_P(TraceTest, NamesTheCpus) {
    const std::vector<int> allowed = affinity_cpus();
    ProgramState state(compile_traced(independent_tasks(8), GetParam()));
    ASSERT_TRUE(executor_.run(state, call_tasks(kNothing)).ok());
    for (const TaskEvent& event : state.trace().events) {
        EXPECT_THAT(allowed, ::testing::Contains(event.cpu));
    }
    EXPECT_THAT(state.trace_json(), HasSubstr("CPU "));
}

TEST_P(TraceTest, OfTheLastRunReplacesTheOneBefore) {
    const TaskDag dag = independent_tasks(5);
    ProgramState state(compile_traced(dag, GetParam()));
    EXPECT_EQ(state.trace().begin_ns, 0);
    ASSERT_TRUE(executor_.run(state, call_tasks(kNothing)).ok());
    const RunTrace first = state.trace();
    RunHandle handle = executor_.start(state, call_tasks(kNothing));
    ASSERT_TRUE(handle.wait().ok());
    const RunTrace second = state.trace();
    EXPECT_GT(second.begin_ns, first.events.back().end_ns);
    expect_complete(dag, second);
    expect_disjoint_rows(second);
}

TEST_P(TraceTest, CountsWhatDoesNotFit) {
    ProgramState state(compile_traced(independent_tasks(50), GetParam(), 3));
    for (int run = 0; run < 2; ++run) {
        ASSERT_TRUE(executor_.run(state, call_tasks(kNothing)).ok());
        const RunTrace trace = state.trace();
        EXPECT_GE(trace.events.size(), 3U);
        EXPECT_LE(trace.events.size(), 9U);
        EXPECT_EQ(int64_t(trace.events.size()) + trace.dropped, 50);
    }
    EXPECT_THAT(state.trace_json(),
                HasSubstr("\"dropped_events\":\"" + std::to_string(state.trace().dropped)));
}

size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

//  0 --> 1, and on a row beside them what takes as long as 0
TEST_P(TraceTest, ShowsRowsArrowsAndWhoIsBusy) {
    TaskDag dag = independent_tasks(2);
    dag.precede(TaskId(0), TaskId(1));
    ProgramState state(compile_traced(dag, GetParam()));
    ASSERT_TRUE(executor_.run(state, call_tasks(kNothing)).ok());
    const RunTrace run = state.trace();
    ASSERT_EQ(run.events.size(), 2U);
    const auto first = std::find_if(run.events.begin(), run.events.end(),
                                    [](const auto& event) { return event.task == TaskId(0); });
    const std::vector<TraceRow> rows = {
        {"queue", {{"copy", first->begin_ns, first->end_ns}}},
        {"forecast of queue", {{"copy", run.begin_ns, run.begin_ns + 5}}, true}};
    const std::vector<TraceArrow> arrows = {{"to queue", {0}, {-1, 0, 0}},
                                            {"back", {-1, 0, 0}, {1}},
                                            {"no such task", {7}, {1}},
                                            {"no such span", {0}, {-1, 0, 1}},
                                            {"no such row", {0}, {-1, 2, 0}}};
    const std::string trace = state.trace_json({}, {{}, rows, arrows});
    EXPECT_EQ(count_of(trace, "\"ph\":\"s\""), 2U) << trace;
    EXPECT_EQ(count_of(trace, "\"ph\":\"f\",\"bp\":\"e\""), 2U);
    EXPECT_EQ(count_of(trace, "{\"workers\":1,\"queue\":1}"), 1U);
    EXPECT_GE(count_of(trace, "{\"workers\":0,\"queue\":0}"), 1U);
    EXPECT_EQ(count_of(trace, "\"cat\":\"forecast\""), 1U);
    EXPECT_THAT(state.trace_json(), Not(HasSubstr("busy")));
}

TEST_P(TraceTest, OfAFailedRunHoldsWhatRan) {
    TaskDag dag = independent_tasks(3);
    dag.precede(TaskId(0), TaskId(1));
    dag.precede(TaskId(1), TaskId(2));
    ProgramState state(compile_traced(dag, GetParam()));
    const TaskBody body = [](int32_t task, TaskScope&) { return task != 1; };
    EXPECT_FALSE(executor_.run(state, call_tasks(body)).ok());
    EXPECT_THAT(tasks_of(state.trace()), ::testing::UnorderedElementsAre("0", "1"));
}

TEST_P(TraceTest, IsEmptyWhereTheProgramIsNotTraced) {
    CompileOptions options;
    options.workers = 3;
    options.gear = GetParam();
    ProgramState state(Program::compile(independent_tasks(5), options).value());
    ASSERT_TRUE(executor_.run(state, call_tasks(kNothing)).ok());
    EXPECT_TRUE(state.trace().events.empty());
    EXPECT_EQ(state.trace().dropped, 0);
    EXPECT_THAT(state.trace_json(), Not(HasSubstr("\"X\"")));
}

//  0 (runs `inner` three times) --> 1
TEST_P(TraceTest, OfAProgramInsideATaskHoldsAllItsRuns) {
    TaskDag dag = independent_tasks(2);
    dag.precede(TaskId(0), TaskId(1));
    for (const bool is_outer_traced : {true, false}) {
        CompileOptions options;
        options.workers = 3;
        options.gear = GetParam();
        options.is_traced = is_outer_traced;
        ProgramState outer(Program::compile(dag, options).value());
        ProgramState inner(compile_traced(independent_tasks(4), GetParam()));
        const TaskBody body = [&](int32_t task, TaskScope& scope) {
            Status status;
            for (int i = 0; i < 3 && task == 0 && status.ok(); ++i) {
                status = scope.run(inner, call_tasks(kNothing));
            }
            return status.ok();
        };
        for (int run = 0; run < 2; ++run) {
            ASSERT_TRUE(executor_.run(outer, call_tasks(body)).ok());
            EXPECT_EQ(inner.trace().events.size(), 12U);
            EXPECT_EQ(inner.trace().begin_ns == outer.trace().begin_ns, is_outer_traced);
        }
        ASSERT_TRUE(executor_.run(inner, call_tasks(kNothing)).ok());
        EXPECT_EQ(inner.trace().events.size(), 4U);
    }
}

TEST_P(TraceTest, CanBeReadWhileTheRunGoesOn) {
    constexpr int kTasks = 400;
    ProgramState state(compile_traced(independent_tasks(kTasks), GetParam()));
    std::atomic<bool> has_begun{false};
    const TaskBody body = [&](int32_t, TaskScope&) {
        has_begun = true;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        return true;
    };
    std::thread reader([&] {
        while (!has_begun) {
            std::this_thread::yield();
        }
        size_t before = 0;
        for (int look = 0; look < 20; ++look) {
            const RunTrace trace = state.trace();
            EXPECT_GE(trace.events.size(), before);
            before = trace.events.size();
            expect_disjoint_rows(trace);
        }
    });
    ASSERT_TRUE(executor_.run(state, call_tasks(body)).ok());
    reader.join();
    EXPECT_EQ(state.trace().events.size(), size_t(kTasks));
}

TEST(TraceJson, NamesTasksAndWorkers) {
    ProgramState state(compile_traced(independent_tasks(2), Gear::kInline));
    ExecutorOptions options;
    options.source = ThreadSource::kStdThread;
    Executor executor(options);
    ASSERT_TRUE(executor.run(state, call_tasks(kNothing)).ok());
    const std::vector<std::string> names = {"a \"quoted\" name"};
    EXPECT_THAT(state.trace_json(names),
                AllOf(HasSubstr(R"("name":"a \"quoted\" name")"), HasSubstr(R"("name":"task 1")"),
                      HasSubstr(R"("name":"worker 0")"), HasSubstr(R"("dropped_events":"0")"),
                      Not(HasSubstr("tiles"))));
}

}  // namespace
}  // namespace leat::scheduler
