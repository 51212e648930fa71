// Graphs as nodes of another: once, in a branch, in loops.
#include <leat/scheduler/task_graph.h>

#include <cstdio>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

// From source x to the value of y.
Subgraph<double(double)> scaled_by(double factor) {
    TaskGraph inner;
    auto x = inner.source<double>("x");
    auto y = inner.add(
        "scale", [factor](double v) { return v * factor; }, x);
    return Subgraph(std::move(inner), Sources(x), y);
}

}  // namespace

//  start --> once
//   | \ \--> either <-- is_large
//   |  \---> settled
//   \------> tenth
int main() {
    TaskGraph graph;
    auto start = graph.add("start", [] { return 8.0; });
    auto is_large = graph.add(
        "is large", [](double v) { return v > 100; }, start);
    auto once = graph.add_subgraph("once", scaled_by(3), start);
    auto either = graph.add_if("either", is_large, scaled_by(0.5), scaled_by(2), start);
    auto settled = graph.add_while(
        "settle", [](double v) { return v > 1; }, scaled_by(0.5), start);
    auto tenth = graph.add_repeat("ten times", 10, scaled_by(2), start);
    Executor executor({.threads = 2});
    if (const leat::Status status = graph.run(executor); !status.ok()) {
        return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    std::printf("%g %g %g %g\n", *graph.result(once), *graph.result(either), *graph.result(settled),
                *graph.result(tenth));
    return *graph.result(once) == 24 && *graph.result(either) == 16 &&
                   *graph.result(settled) == 1 && *graph.result(tenth) == 8192
               ? 0
               : 1;
}
