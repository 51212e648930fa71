// The example of the README.
#include <leat/scheduler/task_graph.h>

#include <cstdio>
#include <vector>

int main() {
    leat::scheduler::TaskGraph graph;
    auto load = graph.add("load", [] { return std::vector<float>{1, 2, 3}; });
    auto sum = graph.add(
        "sum", [](const std::vector<float>& v) { return v[0] + v[1] + v[2]; }, load);
    auto size = graph.add(
        "size", [](const std::vector<float>& v) { return float(v.size()); }, load);
    auto mean = graph.add(
        "mean", [](float total, float n) { return total / n; }, sum, size);
    leat::scheduler::Executor executor({.threads = 2});
    leat::Status status = graph.run(executor);  // again and again: compiled once, allocates nothing
    if (!status.ok()) {
        return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    float result = *graph.result(mean);
    std::printf("mean %g\n", double(result));
    return result == 2 ? 0 : 1;
}
