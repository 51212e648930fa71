// Partitions by cost against the exact optimum and against simple rules, on the checking corpus.
//
//   partition_quality
//
// Up to 12 tasks: the forecast over the optimum of single tasks without submissions, which no
// partition is below. 100 to 2,000 tasks: three rules over the forecast, tasks and transfers of a
// rule run one after the other. Processor time of the slowest problem beside it.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "partition/cost_partition.h"
#include "ratios.h"
#include "support/exact_placement.h"
#include "support/partition_corpus.h"
#include "support/placement_corpus.h"

namespace leat::micro {
namespace {

using scheduler::Corpus;
using scheduler::CorpusGraph;

struct Timed {
    double forecast_ns = 0;
    double ms = 0;
};

Timed partition(const PartitionProblem& problem) {
    Timed timed;
    const double begin_ms = processor_ms();
    const Result<CostPartition> found = partition_by_cost(problem, {});
    timed.ms = processor_ms() - begin_ms;
    LEAT_CHECK(found.ok(), "{}", found.error().message());
    timed.forecast_ns = found->schedule.makespan_ns;
    return timed;
}

void compare_with_optimum(int32_t tasks, double submit_ns) {
    Ratios ratios;
    double slowest_ms = 0;
    for (const CorpusGraph& graph : scheduler::small_corpus(Corpus::kChecking, tasks, 100)) {
        const scheduler::PlacementProblem corpus = scheduler::corpus_problem(graph);
        const Timed found = partition(partition_problem(corpus, submit_ns));
        const Result<scheduler::Schedule> known = scheduler::place(corpus);
        ratios.all.push_back(found.forecast_ns /
                             scheduler::exact_schedule(corpus, *known).makespan_ns);
        slowest_ms = std::max(slowest_ms, found.ms);
    }
    fmt::print(
        "{} tasks, submission {:g} us, to the optimum without submissions: {} graphs, "
        "geometric mean {:.4f}, most {:.4f}, slowest {:.1f} ms\n",
        tasks, submit_ns * 1e-3, ratios.all.size(), ratios.geometric_mean(), ratios.most(),
        slowest_ms);
}

void compare_with_rules(double submit_ns) {
    RuleRatios rules;
    for (const CorpusGraph& graph : scheduler::large_corpus(Corpus::kChecking)) {
        const PartitionProblem problem =
            partition_problem(scheduler::corpus_problem(graph), submit_ns);
        const Timed found = partition(problem);
        rules.accelerator.all.push_back(serial_ns(problem, all_on(problem, 1)) / found.forecast_ns);
        rules.host.all.push_back(one_unit_ns(problem, 0) / found.forecast_ns);
        rules.cut.all.push_back(serial_ns(problem, min_cut_units(problem)) / found.forecast_ns);
        rules.slowest_ms = std::max(rules.slowest_ms, found.ms);
    }
    rules.print(submit_ns, "all on the two CPU lanes");
}

}  // namespace
}  // namespace leat::micro

int main() {
    for (const int32_t tasks : {4, 8, 12}) {
        leat::micro::compare_with_optimum(tasks, 0);
    }
    leat::micro::compare_with_optimum(12, 2e3);
    leat::micro::compare_with_rules(0);
    leat::micro::compare_with_rules(10e3);
}
