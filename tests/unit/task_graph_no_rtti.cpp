// Built without run-time type information, and without exceptions where the build says so: every
// kind of node, of a type that the library knows nothing of.
#include <leat/scheduler/task_graph.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

using Number = std::unique_ptr<int>;

Subgraph<Number(Number)> adding(int by) {
    TaskGraph graph;
    const auto x = graph.source<Number>("x");
    const auto y = graph.add(
        "add", [by](Number v) { return std::make_unique<int>(*v + by); }, x);
    return Subgraph(std::move(graph), Sources(x), y);
}

int fail(const leat::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

}  // namespace

//  x --> once --> branch --> three --> up --> pool --> sum
int main() {
    TaskGraph graph;
    const auto x = graph.source<Number>("x");
    const auto is_small = graph.add("is_small", [] { return true; });
    const auto once = graph.add_subgraph("once", adding(1), x);
    const auto branch = graph.add_if("branch", is_small, adding(10), adding(1000), once);
    const auto three = graph.add_repeat("three", 3, adding(100), branch);
    const auto up = graph.add_while(
        "up", [](const Number& v) { return *v < 2000; }, adding(1000), three);
    const auto pool = graph
                          .add(
                              "pool", [](Number v) { return v; }, up)
                          .on(Domain::blocking());
    const auto sum = graph.add(
        "sum",
        [](NodeScope& scope, const Number& v) -> leat::Result<int> {
            std::vector<int> parts(4, 0);
            leat::Status status = scope.parallel_for(4, 1, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    parts[size_t(i)] = *v;
                }
            });
            return status.ok() ? leat::Result<int>(parts[0] + parts[3]) : std::move(status);
        },
        pool);

    Executor executor({.threads = 2});
    for (int run = 0; run < 3; ++run) {
        leat::Status status = graph.set(x, std::make_unique<int>(run));
        if (status.ok()) {
            status = graph.run(executor);
        }
        if (!status.ok()) {
            return fail(status);
        }
        const leat::Result<int> taken = graph.take(sum);
        if (!taken.ok() || *taken != 2 * (2311 + run)) {
            return taken.ok() ? std::fprintf(stderr, "%d\n", *taken), 1 : fail(taken.error());
        }
    }
    leat::Result<GraphInstance> instance = graph.make_instance(executor);
    if (!instance.ok() || !instance->set(x, std::make_unique<int>(5)).ok()) {
        return fail(instance.error());
    }
    if (const leat::Status status = instance->run(executor); !status.ok()) {
        return fail(status);
    }
    return *instance->result(sum) == 2 * 2316 ? 0 : 1;
}
