// Three ways to end a run early: a stop token, a deadline, and a handle.
#include <leat/scheduler/task_graph.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stop_token>
#include <thread>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own
using namespace std::chrono_literals;

namespace {

// A search without end: it looks now and then whether somebody still wants the answer.
int64_t search(NodeScope& scope, int64_t start) {
    while (!scope.is_cancelled()) {
        ++start;
        std::this_thread::yield();
    }
    return start;
}

}  // namespace

int main() {
    TaskGraph graph;
    const auto start = graph.add("start", [] { return int64_t{0}; });
    const auto found = graph.add("search", &search, start);
    bool is_told = false;
    graph.add(
        "tell", [&is_told](int64_t) { is_told = true; }, found);
    Executor executor({.threads = 2});

    // A stop token: from any thread.
    std::stop_source stop;
    std::jthread user([&stop] {
        std::this_thread::sleep_for(5ms);
        stop.request_stop();
    });
    leat::Status status = graph.run(executor, {.stop = stop.get_token()});
    std::printf("%s\n", status.message().c_str());
    bool is_right = status.code() == leat::StatusCode::kCancelled;

    // A deadline. The graph can run again after every kind of end.
    status = graph.run(executor, {.deadline = std::chrono::steady_clock::now() + 5ms});
    std::printf("%s\n", status.message().c_str());
    is_right = is_right && status.code() == leat::StatusCode::kTimeout;

    // A handle. Destroying it, or the graph, would cancel the run and wait too.
    GraphRun run = graph.start(executor);
    std::this_thread::sleep_for(5ms);
    run.cancel();
    status = run.wait();
    std::printf("%s\n", status.message().c_str());
    is_right = is_right && status.code() == leat::StatusCode::kCancelled;

    // What had not started did not start.
    return is_right && !is_told ? 0 : 1;
}
