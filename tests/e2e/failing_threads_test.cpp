// The system refuses threads, or address space for them: whoever wanted some goes on with less or
// says no, and nothing hangs, ends the process, or is spoilt for later.
#include "support/failing_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/host_device/tile_team.h"
#include "leat/leat.h"
#include "leat/scheduler/task_graph.h"
#include "support/child_process.h"
#include "support/device_runs.h"

namespace leat {
namespace {

using scheduler::Domain;
using scheduler::Executor;
using scheduler::ExecutorOptions;
using scheduler::TaskGraph;
using scheduler::ThreadSource;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing_support::in_child;
using testing_support::ThreadFault;

constexpr int kThreads = 4;
constexpr int kNodes = 100;

// Of independent nodes that each take long enough for helpers to be called.
class CountingGraph {
  public:
    CountingGraph() {
        for (int i = 0; i < kNodes; ++i) {
            graph_.add("count", [this] {
                for (int j = 0; j < 20000; ++j) {
                    asm volatile("");
                }
                ++count_;
            });
        }
    }
    // Success: each node ran once.
    Status run(Executor& executor) {
        count_ = 0;
        Status status = graph_.run(executor);
        return !status.ok() || count_ == kNodes ? status : Status::bare(StatusCode::kInternal);
    }

  private:
    TaskGraph graph_;
    std::atomic<int> count_{0};
};

ExecutorOptions options_of(ThreadSource source, int threads = kThreads) {
    ExecutorOptions options;
    options.threads = threads;
    options.pin = false;
    options.source = source;
    return options;
}

class FailingThreadsTest : public ::testing::TestWithParam<ThreadSource> {};
INSTANTIATE_TEST_SUITE_P(Sources,
                         FailingThreadsTest,
                         ::testing::Values(ThreadSource::kTbb, ThreadSource::kStdThread));

// In a process of its own: oneTBB keeps its threads for the next test.
int run_with_few_threads(ThreadSource source, int given) {
    CountingGraph graph;
    {
        const ThreadFault fault(given);
        Executor executor(options_of(source));
        for (int round = 0; round < 20; ++round) {
            if (!graph.run(executor).ok()) {
                return 1;
            }
        }
        const bool has_fewer = executor.worker_count() < kThreads;
        if (has_fewer == executor.report().note.empty()) {
            return 2;
        }
    }
    Executor executor(options_of(source));
    if (executor.worker_count() != kThreads) {
        return 3;
    }
    for (int round = 0; round < 20; ++round) {
        if (!graph.run(executor).ok()) {
            return 4;
        }
    }
    return 0;
}

TEST_P(FailingThreadsTest, AnExecutorDoesWithThoseThatThereAre) {
    for (int given = 0; given <= kThreads; ++given) {
        EXPECT_EQ(in_child([&] { return run_with_few_threads(GetParam(), given); }), "0")
            << given << " threads given";
    }
}

// The threads come to an end after the executor was made: no helper ever comes.
TEST_P(FailingThreadsTest, AnExecutorThatGetsNoThreadLaterRunsAlone) {
    const auto child = [&] {
        CountingGraph graph;
        Executor executor(options_of(GetParam()));
        const ThreadFault fault(0);
        for (int round = 0; round < 200; ++round) {
            if (!graph.run(executor).ok()) {
                return 1;
            }
        }
        return 0;
    };
    EXPECT_EQ(in_child(child), "0");
}

TEST(FailingThreads, TheBlockingPoolSaysNoOrDoesWithLess) {
    Executor executor;
    TaskGraph graph;
    std::atomic<int> count{0};
    for (int i = 0; i < 10; ++i) {
        graph.add("block", [&] { ++count; }).on(Domain::blocking());
    }
    {
        const ThreadFault fault(0);
        const Status status = graph.run(executor);
        EXPECT_EQ(status.code(), StatusCode::kBusy);
        EXPECT_THAT(status.message(), HasSubstr("no thread for the blocking pool"));
        EXPECT_GT(fault.refused(), 0);
    }
    {
        const ThreadFault fault(1);
        count = 0;
        EXPECT_TRUE(graph.run(executor).ok());
        EXPECT_EQ(count, 10);
    }
    count = 0;
    EXPECT_TRUE(graph.run(executor).ok());
    EXPECT_EQ(count, 10);
}

TEST(FailingThreads, ATileTeamHasFewerWorkers) {
    for (int given = 0; given < kThreads; ++given) {
        const ThreadFault fault(given);
        const host_device::TileTeam team(kThreads);
        EXPECT_EQ(team.workers(), given + 1);
    }
}

Graph relu() {
    Graph graph("relu");
    const ValueId x = graph.input("x", DType::kFloat32, {4, 4});
    graph.output("y", graph.add("Relu", {x}));
    return graph;
}

Status run_on_sim(const Runtime& runtime) {
    CompileOptions options;
    options.devices = "sim,cpu";
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime.compile(relu(), options));
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    std::vector<float> x(16, -1);
    LEAT_RETURN_IF_ERROR(request.bind<float>("x", x));
    return request.run();
}

// A device's queues, clock and callbacks have a thread each, some of them made by the first run.
TEST(FailingThreads, ADeviceSaysNo) {
    int failures = 0;
    for (int given = 0; given < 8; ++given) {
        const Runtime runtime(testing_support::sim_options(1, {}));
        {
            const ThreadFault fault(given);
            const Status status = run_on_sim(runtime);
            EXPECT_EQ(status.ok(), fault.refused() == 0) << status.message();
            failures += status.ok() ? 0 : 1;
        }
        const Status status = run_on_sim(runtime);
        EXPECT_TRUE(status.ok()) << given << " threads given: " << status.message();
    }
    EXPECT_GT(failures, 1);
}

// --- address space ---

int64_t mapped_bytes() {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * int64_t{::sysconf(_SC_PAGESIZE)};
}

void limit_address_space(rlim_t bytes) {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_AS, &limit);
}

// More than the C library keeps stacks for.
constexpr int kManyThreads = 12;

// 0: all as usual; 10: with fewer helpers, said so; 11: no memory for the executor; 12: for the
// run.
int run_with_little_memory(ThreadSource source, int64_t room_bytes) {
    CountingGraph graph;
    int end = 0;
    std::optional<Executor> executor;
    limit_address_space(rlim_t(mapped_bytes() + room_bytes));
    try {
        executor.emplace(options_of(source, kManyThreads));
        for (int round = 0; round < 20; ++round) {
            const Status status = graph.run(*executor);
            if (!status.ok() && status.code() != StatusCode::kOutOfMemory) {
                return 1;
            }
            end = status.ok() ? end : 12;
        }
    } catch (const std::bad_alloc&) {
        end = 11;
    }
    limit_address_space(RLIM_INFINITY);
    if (executor && executor->worker_count() < kManyThreads) {
        if (executor->report().note.empty()) {
            return 2;
        }
        end = 10;
    }
    for (int turn = 0; turn < 2; ++turn) {
        if (!executor) {
            executor.emplace(options_of(source, kManyThreads));
        }
        for (int round = 0; round < 20; ++round) {
            if (!graph.run(*executor).ok()) {
                return 3;
            }
        }
        executor.reset();  // and once more with a new one
    }
    if (Executor(options_of(source, kManyThreads)).worker_count() != kManyThreads) {
        return 4;
    }
    return end;
}

TEST_P(FailingThreadsTest, LittleAddressSpaceIsNoHangAndSpoilsNothing) {
    std::set<std::string> ends;
    for (int64_t room_kib = 0; room_kib <= 1 << 22;
         room_kib = room_kib < 4096 ? room_kib + 128 : room_kib * 5 / 4) {
        const std::string end =
            in_child([&] { return run_with_little_memory(GetParam(), room_kib * 1024); });
        EXPECT_THAT((std::set<std::string>{"0", "10", "11", "12"}), Contains(end))
            << room_kib << " KiB";
        ends.insert(end);
    }
    EXPECT_THAT(ends, Contains("10"));
    EXPECT_THAT(ends, Contains("0"));
}

}  // namespace
}  // namespace leat
