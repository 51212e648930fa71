// A task graph, traced or not, allocates nothing from its second run on. Counts every malloc of the
// process, on any thread.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "leat/scheduler/task_graph.h"

namespace {
std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;
}  // namespace

extern "C" {
void* __libc_malloc(size_t);  // NOLINT

void* malloc(size_t bytes) {
    if (counting.load(std::memory_order_relaxed)) {
        allocations.fetch_add(1, std::memory_order_relaxed);
    }
    return __libc_malloc(bytes);
}
}

namespace leat::scheduler {
namespace {

using Block = std::array<double, 64>;

//  x --> double (three times) --> pool --> square --> sum      x has two consumers
//   \-------------------------------------------------^
TEST(TaskGraphAllocation, IsNoneFromTheSecondRunOn) {
    for (const int variant : {0, 1, 2, 3}) {
        const int threads = variant % 2 == 0 ? 1 : 4;
        const bool is_traced = variant >= 2;
        TaskGraph step;
        const auto s = step.source<Block>("s");
        const auto twice = step.add(
            "twice",
            [](Block v) {
                v[0] *= 2;
                return v;
            },
            s);
        TaskGraph graph(GraphOptions{.is_traced = is_traced});
        const auto x = graph.source<Block>("x");
        const auto repeated =
            graph.add_repeat("repeat", 3, Subgraph(std::move(step), Sources(s), twice), x);
        const auto pool = graph
                              .add(
                                  "pool", [](Block v) { return v; }, repeated)
                              .on(Domain::blocking());
        const auto square = graph.add(
            "square", [](const Block& v) { return v[0] * v[0]; }, pool);
        const auto sum = graph.add(
            "sum", [](double a, const Block& b) { return a + b[0]; }, square, x);
        Executor executor({.threads = threads, .pin = false});
        for (int run = 0; run < 100; ++run) {
            // The first runs also start threads, which wake up in their own time.
            counting = run >= 20;
            ASSERT_TRUE(graph.set(x, Block{double(run)}).ok());
            ASSERT_TRUE(graph.run(executor).ok());
            counting = false;
            EXPECT_EQ(graph.take(sum).value(), 64.0 * run * run + run);
        }
        EXPECT_EQ(allocations, 0) << threads << " threads" << (is_traced ? ", traced" : "");
    }
}

}  // namespace
}  // namespace leat::scheduler
