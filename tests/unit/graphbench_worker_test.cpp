// Jobs in workers: what ends one, who is told, and that the next go on.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "graphbench/exit_codes.h"
#include "graphbench/worker.h"

namespace leat::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Record {
    std::vector<size_t> begun;
    std::vector<JobEnd> ends;
    int code = 0;
};

using Work = std::function<int(const WorkerJobs::RunAll&)>;

Record run(size_t count, const Work& work, double limit_s = 0) {
    Record record;
    WorkerJobs jobs;
    jobs.count = count;
    jobs.limit_s = limit_s;
    jobs.work = work;
    jobs.on_begin = [&](size_t job) { record.begun.push_back(job); };
    jobs.on_end = [&](size_t job, const JobEnd& end) {
        EXPECT_EQ(job, record.ends.size());
        record.ends.push_back(end);
    };
    record.code = run_in_workers(jobs);
    return record;
}

Work each(const WorkerJobs::RunJob& job) {
    return [job](const WorkerJobs::RunAll& run_all) {
        run_all(job);
        return 0;
    };
}

TEST(Worker, RunsJobsInOneOtherProcess) {
    const auto pid = [](size_t) { return std::to_string(getpid()); };
    const Record record = run(3, each(pid));
    EXPECT_EQ(record.code, 0);
    EXPECT_THAT(record.begun, ElementsAre(0, 1, 2));
    ASSERT_EQ(record.ends.size(), 3U);
    EXPECT_NE(record.ends[0].result, std::to_string(getpid()));
    EXPECT_EQ(record.ends[0].result, record.ends[2].result);
    EXPECT_THAT(record.ends[2].failure, IsEmpty());
}

TEST(Worker, LongResultsComeWhole) {
    const auto text = [](size_t job) { return std::string(300'000 + job, char('a' + job)); };
    const Record record = run(2, each(text));
    ASSERT_EQ(record.ends.size(), 2U);
    EXPECT_EQ(record.ends[1].result, std::string(300'001, 'b'));
}

TEST(Worker, AJobThatEndsItIsToldAndTheNextRun) {
    const auto job = [](size_t number) -> std::string {
        if (number == 1) {
            std::signal(SIGABRT, SIG_DFL);
            std::abort();
        }
        if (number == 2) {
            std::_Exit(3);
        }
        if (number == 3) {
            std::_Exit(0);
        }
        return "done";
    };
    const Record record = run(5, each(job));
    EXPECT_EQ(record.code, 0);
    EXPECT_THAT(record.begun, ElementsAre(0, 1, 2, 3, 4));
    ASSERT_EQ(record.ends.size(), 5U);
    EXPECT_EQ(record.ends[0].result, "done");
    EXPECT_THAT(record.ends[1].failure, HasSubstr("signal 6 (SIGABRT, Aborted)"));
    EXPECT_EQ(record.ends[2].failure, "ended with exit code 3");
    EXPECT_EQ(record.ends[3].failure, "ended the process with exit code 0");
    EXPECT_EQ(record.ends[4].result, "done");
}

TEST(Worker, OneThatHangsIsKilledAtTheLimit) {
    const auto job = [](size_t number) -> std::string {
        if (number == 0) {
            std::this_thread::sleep_for(std::chrono::hours(1));
        }
        return "done";
    };
    const Record record = run(2, each(job), 0.5);
    ASSERT_EQ(record.ends.size(), 2U);
    EXPECT_THAT(record.ends[0].failure, HasSubstr("did not end within 0.5 s"));
    EXPECT_GE(record.ends[0].time_ns, 500'000'000);
    EXPECT_EQ(record.ends[1].result, "done");
}

// Worker i has the jobs i, i + 3, ...: one that ends in a job gets a successor for the rest of its
// own.
TEST(Worker, SeveralShareTheJobs) {
    std::map<size_t, JobEnd> ends;
    WorkerJobs jobs;
    jobs.count = 8;
    jobs.workers = 3;
    jobs.work = each([](size_t number) -> std::string {
        if (number == 4) {
            std::_Exit(3);
        }
        return fmt::format("{} {}", number, getpid());
    });
    jobs.on_begin = [](size_t) {};
    jobs.on_end = [&ends](size_t job, const JobEnd& end) {
        EXPECT_TRUE(ends.emplace(job, end).second) << job;
    };
    EXPECT_EQ(run_in_workers(jobs), 0);
    ASSERT_EQ(ends.size(), 8U);
    const auto worker_of = [&ends](size_t job) {
        const std::string& text = ends[job].result;
        return text.substr(text.find(' ') + 1);
    };
    for (const size_t job : {0, 1, 2, 3, 5, 6, 7}) {
        EXPECT_THAT(ends[job].result, StartsWith(std::to_string(job) + " "));
    }
    EXPECT_EQ(ends[4].failure, "ended with exit code 3");
    EXPECT_EQ(worker_of(0), worker_of(6));
    EXPECT_EQ(worker_of(2), worker_of(5));
    EXPECT_NE(worker_of(0), worker_of(2));
    EXPECT_NE(worker_of(1), worker_of(7)) << "it has ended in job 4";
}

TEST(Worker, MoreOfThemThanJobsAreNotStarted) {
    WorkerJobs jobs;
    jobs.count = 2;
    jobs.workers = 1'000'000;
    size_t ended = 0;
    jobs.work = each([](size_t) { return std::string(); });
    jobs.on_begin = [](size_t) {};
    jobs.on_end = [&ended](size_t, const JobEnd&) { ++ended; };
    EXPECT_EQ(run_in_workers(jobs), 0);
    EXPECT_EQ(ended, 2U);
}

// What a job leaves behind may end its process later.
TEST(Worker, AnEndAfterTheLastJobIsItsFailure) {
    const Record record = run(2, [](const WorkerJobs::RunAll& run_all) {
        run_all([](size_t) { return std::string("done"); });
        std::_Exit(9);
        return 0;
    });
    ASSERT_EQ(record.ends.size(), 2U);
    EXPECT_THAT(record.ends[0].failure, IsEmpty());
    EXPECT_EQ(record.ends[1].result, "done");
    EXPECT_EQ(record.ends[1].failure, "ended with exit code 9");
}

TEST(Worker, OneThatCannotBeginEndsTheCommand) {
    const Record record = run(2, [](const WorkerJobs::RunAll&) { return int(kExitDevice); });
    EXPECT_EQ(record.code, kExitDevice);
    EXPECT_THAT(record.begun, IsEmpty());
    EXPECT_THAT(record.ends, IsEmpty());
    const Record killed = run(2, [](const WorkerJobs::RunAll&) {
        std::raise(SIGKILL);
        return 0;
    });
    EXPECT_EQ(killed.code, kExitRuntime);
    const Record idle = run(2, [](const WorkerJobs::RunAll&) { return 0; });
    EXPECT_EQ(idle.code, kExitInternal) << "no job was run, so it must not look like success";
}

// It holds the pipe open.
TEST(Worker, AProcessThatAJobStartedDoesNotKeepIt) {
    const auto job = [](size_t number) -> std::string {
        if (number == 0) {
            if (fork() == 0) {
                std::this_thread::sleep_for(std::chrono::seconds(20));
                std::_Exit(0);
            }
            std::_Exit(4);
        }
        return "done";
    };
    const auto begin = std::chrono::steady_clock::now();
    const Record record = run(2, each(job));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
    ASSERT_EQ(record.ends.size(), 2U);
    EXPECT_EQ(record.ends[0].failure, "ended with exit code 4");
    EXPECT_EQ(record.ends[1].result, "done");
}

}  // namespace
}  // namespace leat::bench
