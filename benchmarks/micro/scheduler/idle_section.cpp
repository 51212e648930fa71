// What a process pays that runs a small graph ten times a second: CPU time while it does, CPU time
// after the last run, and the time of other work in the process.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench.h"
#include "capacity.h"
#include "table.h"

namespace leat::micro {
namespace {

constexpr int kThreads = 2;
constexpr int64_t kPeriodNs = 100'000'000;

int64_t cpu_time_ns() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto ns = [](const timeval& time) {
        return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1'000;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

void run_at_10_hz(PreparedGraph* graph, int runs) {
    for (int run = 0; run < runs; ++run) {
        if (graph != nullptr) {
            graph->run();
        }
        sleep_ns(kPeriodNs);
    }
}

// Wall time of fixed work on one thread per CPU while `graph`, if any, runs at 10 Hz.
double other_work_ns(PreparedGraph* graph, bool quick) {
    std::atomic<bool> working{true};
    const int64_t iterations = quick ? 200'000'000 : 1'000'000'000;  // 0.2 s or 1 s, about
    const int64_t begin = now_ns();
    std::vector<std::thread> workers;
    std::atomic<int> left{int(std::max(1U, std::thread::hardware_concurrency()))};
    const int count = left.load();
    std::atomic<int64_t> end_ns{0};
    workers.reserve(size_t(count));
    for (int i = 0; i < count; ++i) {
        workers.emplace_back([&] {
            multiply_chain(iterations, 1);
            if (left.fetch_sub(1) == 1) {
                end_ns.store(now_ns());
                working.store(false);
            }
        });
    }
    while (working.load()) {
        run_at_10_hz(graph, 1);
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
    return double(end_ns.load() - begin);
}

struct IdleResult {
    double cpu_share = 0;   // of one core, at 10 Hz
    double tail_5_ns = 0;   // CPU time in the 5 ms after the last run
    double tail_50_ns = 0;  // from 5 ms to 50 ms after it
    double slowdown = 0;    // of other work
};

// graph: null for a process that only sleeps.
IdleResult measure_one(PreparedGraph* graph, bool quick) {
    const int runs = quick ? 10 : 50;
    IdleResult result;
    run_at_10_hz(graph, 2);
    const int64_t cpu = cpu_time_ns();
    const int64_t begin = now_ns();
    run_at_10_hz(graph, runs);
    result.cpu_share = double(cpu_time_ns() - cpu) / double(now_ns() - begin);
    constexpr int kTails = 5;
    std::vector<double> early;
    std::vector<double> late;
    for (int i = 0; i < kTails; ++i) {
        if (graph != nullptr) {
            graph->run();
        }
        const int64_t at_end = cpu_time_ns();
        sleep_ns(5'000'000);
        const int64_t after_5 = cpu_time_ns();
        sleep_ns(45'000'000);
        early.push_back(double(after_5 - at_end));
        late.push_back(double(cpu_time_ns() - after_5));
    }
    result.tail_5_ns = spread_of(std::move(early)).median;
    result.tail_50_ns = spread_of(std::move(late)).median;
    std::vector<double> ratios;
    for (int i = 0; i < 3; ++i) {
        const double alone_ns = other_work_ns(nullptr, quick);
        ratios.push_back(other_work_ns(graph, quick) / alone_ns);
    }
    result.slowdown = spread_of(std::move(ratios)).median;
    return result;
}

void report(
    Bench& bench, Table& table, const std::string& name, const IdleResult& result, double cores) {
    const auto add = [&](const char* metric, const char* unit, double value) {
        bench.results.add({"idle", metric, name, "random4", "empty", kThreads},
                          {value, value, value, 1}, unit, cores, cores >= kParallelCores);
    };
    add("cpu share", "%", result.cpu_share * 100);
    add("cpu in 5 ms after", "ns", result.tail_5_ns);
    add("cpu 5 to 50 ms after", "ns", result.tail_50_ns);
    add("slowdown", "x", result.slowdown);
    table.add({name, fmt::format("{:.2f} %", result.cpu_share * 100),
               format_number(result.tail_5_ns / 1e3), format_number(result.tail_50_ns / 1e3),
               fmt::format("{:.3f}", result.slowdown)});
}

}  // namespace

void measure_idle(Bench& bench) {
    const Graph graph = make_named_graph("random4", 1'000);
    Table table({"executor", "CPU at 10 Hz", "us of CPU, 0-5 ms after", "us of CPU, 5-50 ms after",
                 "other work, x"});
    const bool quick = bench.options.quick;
    const double cores = effective_cores(kThreads);
    report(bench, table, "none", measure_one(nullptr, quick), cores);
    for (const ExecutorEntry& entry : bench.entries) {
        if (entry.serial_only) {
            continue;
        }
        // One at a time: the helpers of others, and only they, must not count.
        const std::unique_ptr<Executor> executor =
            entry.make({.threads = kThreads, .latency_mode = false});
        const std::unique_ptr<PreparedGraph> prepared =
            executor->prepare({.graph = &graph, .body = empty_body(), .costs_ns = {}});
        executor->activate();
        report(bench, table, std::string(entry.name), measure_one(prepared.get(), quick), cores);
        executor->deactivate();
    }
    fmt::print(bench.out, "\nidle: random4 of 1,000 empty nodes ten times a second, {} threads\n",
               kThreads);
    table.print(bench.out);
}

}  // namespace leat::micro
