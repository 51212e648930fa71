// What the first Executor of a process costs: its construction, which asks the system for the
// threads that oneTBB will start and lets it start them, and its first run. The peer is oneTBB's
// own first use: an arena of as many slots, and tasks that all of its threads enter.
//
// executor_start [--threads N] [--rounds N]: each round makes one process for each side, in turn;
// medians of the rounds in microseconds.
#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_graph.h"

namespace {

using Clock = std::chrono::steady_clock;
namespace tbb = oneapi::tbb;

struct Times {
    double make_us = 0;
    double run_us = 0;
};

double us_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// One task for each thread; none ends before all have come, or a while has passed.
class Meeting {
  public:
    explicit Meeting(int wanted) : wanted_(wanted) {}
    void enter() {
        constexpr auto kPatience = std::chrono::milliseconds(50);
        const Clock::time_point begin = Clock::now();
        ++here_;
        while (here_ < wanted_ && Clock::now() - begin < kPatience) {
            std::this_thread::yield();
        }
        ++left_;
    }
    void wait() const {
        while (left_ < wanted_) {
            std::this_thread::yield();
        }
    }

  private:
    const int wanted_;
    std::atomic<int> here_{0};
    std::atomic<int> left_{0};
};

Times leat_start(int threads) {
    leat::scheduler::ExecutorOptions options;
    options.threads = threads;
    options.pin = false;
    leat::scheduler::TaskGraph graph;
    Meeting meeting(1);
    graph.add("only", [&meeting] { meeting.enter(); });
    const Clock::time_point begin = Clock::now();
    leat::scheduler::Executor executor(options);
    const double made_us = us_since(begin);
    const Clock::time_point run = Clock::now();
    if (!graph.run(executor).ok() || executor.worker_count() != threads) {
        std::abort();
    }
    return {made_us, us_since(run)};
}

Times tbb_start(int threads) {
    const Clock::time_point begin = Clock::now();
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                      size_t(threads));
    tbb::task_arena arena(threads, 1);
    arena.initialize();
    const double made_us = us_since(begin);
    const Clock::time_point run = Clock::now();
    Meeting meeting(threads - 1);
    for (int i = 1; i < threads; ++i) {
        arena.enqueue([&meeting] { meeting.enter(); });
    }
    meeting.wait();
    return {made_us, us_since(run)};
}

// In a process of its own.
Times in_child(Times (*start)(int), int threads) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) {
        std::abort();
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const Times times = start(threads);
        const bool is_sent = ::write(pipe_ends[1], &times, sizeof(times)) == ssize_t(sizeof(times));
        ::_exit(is_sent ? 0 : 1);
    }
    Times times;
    if (::read(pipe_ends[0], &times, sizeof(times)) != ssize_t(sizeof(times))) {
        std::abort();
    }
    (void)::waitpid(child, nullptr, 0);
    (void)::close(pipe_ends[0]);
    (void)::close(pipe_ends[1]);
    return times;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

int number_after(int argc, char** argv, std::string_view name, int fallback) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (name == argv[i]) {
            return std::max(std::atoi(argv[i + 1]), 1);
        }
    }
    return fallback;
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = std::max(number_after(argc, argv, "--threads", 8), 2);
    const int rounds = number_after(argc, argv, "--rounds", 101);
    std::vector<double> made[2];
    std::vector<double> ran[2];
    for (int round = 0; round < rounds; ++round) {
        for (int side = 0; side < 2; ++side) {
            const Times times = in_child(side == 0 ? leat_start : tbb_start, threads);
            made[side].push_back(times.make_us);
            ran[side].push_back(times.run_us);
        }
    }
    for (int side = 0; side < 2; ++side) {
        fmt::print("{:<8} {} threads: made in {:.0f} us, first run {:.0f} us\n",
                   side == 0 ? "Executor" : "oneTBB", threads, median(made[side]),
                   median(ran[side]));
    }
    return 0;
}
