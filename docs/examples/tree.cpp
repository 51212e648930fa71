// A reduction tree: partial sums of a large array, added in pairs.
#include <leat/scheduler/task_graph.h>

#include <cstdio>
#include <numeric>
#include <vector>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own

int main() {
    constexpr size_t kParts = 16;
    constexpr size_t kPartSize = 100'000;

    TaskGraph graph;
    const auto numbers = graph.add("numbers", [] {
        std::vector<double> all(kParts * kPartSize);
        std::iota(all.begin(), all.end(), 1.0);
        return all;
    });
    // The parts share the array: each sees it as const.
    std::vector<Node<double>> level;
    for (size_t part = 0; part < kParts; ++part) {
        level.push_back(graph.add(
            "part",
            [part](const std::vector<double>& all) {
                const auto begin = all.begin() + std::ptrdiff_t(part * kPartSize);
                return std::accumulate(begin, begin + kPartSize, 0.0);
            },
            numbers));
    }
    while (level.size() > 1) {
        std::vector<Node<double>> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2) {
            next.push_back(graph.add(
                "add", [](double a, double b) { return a + b; }, level[i], level[i + 1]));
        }
        level = next;
    }

    Executor executor({.threads = 4});
    if (const leat::Status status = graph.run(executor); !status.ok()) {
        return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    const double count = kParts * kPartSize;
    const double sum = *graph.result(level[0]);
    std::printf("the sum of 1 to %.0f is %.0f\n", count, sum);
    return sum == count * (count + 1) / 2 ? 0 : 1;
}
