// Placements by the Runtime's queues against the exact optimum and against simple rules.
//
//   queue_quality [MOST_STEPS]
//
// Up to 12 operators: the forecast over the exact optimum; where the branch and bound's steps do
// not end, over the shortest that it met, and whether 1.05 of the optimum is proved is told apart.
// 100 to 2,000 tasks of the checking corpus with one lane of the host: three rules over the
// forecast, tasks and transfers of a rule run one after the other. Processor time of the slowest
// problem beside it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "partition/queue/queue_partition.h"
#include "ratios.h"
#include "support/exact_queues.h"
#include "support/partition_corpus.h"
#include "support/placement_corpus.h"
#include "support/queue_corpus.h"

namespace leat::micro {
namespace {

struct Timed {
    double forecast_ns = 0;
    double ms = 0;
};

Timed partition(const PartitionProblem& problem) {
    Timed timed;
    const double begin_ms = processor_ms();
    const Result<QueuePartition> found = partition_by_queues(problem, {});
    timed.ms = processor_ms() - begin_ms;
    LEAT_CHECK(found.ok(), "{}", found.error().message());
    timed.forecast_ns = found->schedule.makespan_ns;
    return timed;
}

void compare_with_optimum(int32_t operators, double submit_ns, int devices, int64_t most_steps) {
    constexpr int kGraphs = 90;
    Ratios ratios;
    double slowest_ms = 0;
    int optimal = 0;
    int near = 0;
    for (uint64_t seed = 0; seed < kGraphs; ++seed) {
        constexpr double kTransfers[] = {0.1, 0.5, 2};
        const PartitionProblem problem = queue_problem(
            {7000 + seed, operators, devices, kTransfers[seed % 3], submit_ns, seed % 6 >= 3});
        const Timed found = partition(problem);
        slowest_ms = std::max(slowest_ms, found.ms);
        const QueueOptimum shorter =
            exact_queues(problem, found.forecast_ns * (1 - 1e-9), most_steps);
        ratios.all.push_back(
            std::isinf(shorter.makespan_ns) ? 1 : found.forecast_ns / shorter.makespan_ns);
        optimal += shorter.is_proved ? 1 : 0;
        const bool is_near = shorter.is_proved ||
                             exact_queues(problem, found.forecast_ns / 1.05, most_steps).is_proved;
        near += is_near && ratios.all.back() <= 1.05 ? 1 : 0;
    }
    fmt::print(
        "{} operators, {} devices, submission {:g} us: {} graphs, geometric mean {:.4f}, most "
        "{:.4f}; optimum known of {}, proved within 1.05: {}; slowest {:.1f} ms\n",
        operators, devices, submit_ns * 1e-3, kGraphs, ratios.geometric_mean(), ratios.most(),
        optimal, near, slowest_ms);
}

void compare_with_rules(double submit_ns) {
    RuleRatios rules;
    for (const scheduler::CorpusGraph& graph :
         scheduler::large_corpus(scheduler::Corpus::kChecking)) {
        const PartitionProblem problem =
            with_ends(partition_problem(scheduler::corpus_problem(graph), submit_ns));
        const Timed found = partition(problem);
        std::vector<int32_t> units = all_on(problem, 1);
        units.front() = units.back() = 0;
        rules.accelerator.all.push_back(serial_ns(problem, units) / found.forecast_ns);
        rules.host.all.push_back(serial_ns(problem, all_on(problem, 0)) / found.forecast_ns);
        rules.cut.all.push_back(serial_ns(problem, min_cut_units(problem)) / found.forecast_ns);
        rules.slowest_ms = std::max(rules.slowest_ms, found.ms);
    }
    rules.print(submit_ns, "all on the host");
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    const int64_t most_steps = argc > 1 ? std::atoll(argv[1]) : 300'000;
    for (const double submit_ns : {0.0, 2e3, 20e3}) {
        for (const int32_t operators : {4, 8, 12}) {
            for (const int devices : {1, 2}) {
                leat::micro::compare_with_optimum(operators, submit_ns, devices, most_steps);
            }
        }
    }
    leat::micro::compare_with_rules(0);
    leat::micro::compare_with_rules(10e3);
}
