// Sequences and the search over them: what is evaluated from the first change on, or given up
// early, against whole evaluations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "leat/scheduler/placement.h"
#include "placement/list_scheduling.h"
#include "placement/local_search.h"
#include "placement/placement_model.h"
#include "placement/placement_sequence.h"
#include "support/placement_corpus.h"

namespace leat::scheduler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A corpus graph on two equal lanes of domain 0 and one lane in each of two others. Links of all
// kinds: shared by several pairs, for one pair, not exclusive, none from domain 2 to 1.
PlacementProblem three_domains(const CorpusGraph& graph) {
    PlacementProblem problem = corpus_problem(graph);
    problem.domain_count = 3;
    problem.domain_of_lane = {0, 0, 1, 2};
    std::vector<double> cost_ns;
    for (size_t row = 0; row < problem.cost_ns.size(); row += 3) {
        const double accelerator = problem.cost_ns[row + 2];
        cost_ns.insert(cost_ns.end(), {problem.cost_ns[row], problem.cost_ns[row], accelerator,
                                       row % 2 == 0 ? 2 * accelerator : 0.5 * accelerator});
    }
    problem.cost_ns = std::move(cost_ns);
    problem.links.assign(3, problem.links[0]);
    problem.links[1].bytes_per_s /= 2;
    problem.links[2].is_exclusive = false;
    constexpr int32_t kNoLink = PlacementProblem::kNoLink;
    problem.link_between = {kNoLink, 0, 1, 0, kNoLink, 2, 1, kNoLink, kNoLink};
    return problem;
}

// Whether the operation at `position` may go before the one in front of it.
bool can_go_first(const PlacementModel& model, const Sequence& sequence, size_t position) {
    const int32_t op = sequence.ops[position];
    const int32_t before = sequence.ops[position - 1];
    if (!is_task(model, op) || !is_task(model, before)) {
        return false;
    }
    const auto inputs = model.inputs[op];
    return std::none_of(inputs.begin(), inputs.end(),
                        [&](int32_t value) { return model.producer[size_t(value)] == before; });
}

TEST(SequenceTimes, EvaluatesAChangeLikeTheWholeSequence) {
    const PlacementProblem problem = three_domains({5, 60, 0.5});
    const Result<PlacementModel> model = PlacementModel::make(problem);
    const Sequence sequence = list_schedule(*model, heft_rule(*model));
    SequenceTimes times(*model);
    const double makespan = times.evaluate(sequence);
    int changes = 0;
    for (size_t i = 1; i < sequence.ops.size(); ++i) {
        if (!can_go_first(*model, sequence, i)) {
            continue;
        }
        ++changes;
        Sequence changed = sequence;
        std::swap(changed.ops[i - 1], changed.ops[i]);
        SequenceTimes whole(*model);
        const double expected = whole.evaluate(changed);
        const std::vector<double> loads = times.loads(changed);
        // Nothing is kept: every change is tried on the same sequence.
        EXPECT_EQ(times.try_change(changed, i - 1, loads, expected), expected);
        EXPECT_EQ(times.try_change(changed, i - 1, loads, 0.999 * expected), kInfinity);
    }
    EXPECT_GT(changes, 10);
    EXPECT_EQ(times.try_change(sequence, 0, times.loads(sequence), makespan), makespan);
}

TEST(PlacementModel, PoolsEqualLanesOfADomain) {
    PlacementProblem problem;
    problem.task_count = 1;
    problem.domain_count = 2;
    problem.domain_of_lane = {0, 0, 1, 0};
    problem.cost_ns = {3, 4, 3, 3};
    const Result<PlacementModel> model = PlacementModel::make(problem);
    EXPECT_EQ(model->pool_of_lane, (std::vector<int32_t>{0, 1, 2, 0}));
    EXPECT_EQ(model->pools, 3);
}

TEST(LocalSearch, ReportsTheMakespanOfItsSequence) {
    for (const CorpusGraph& graph : {CorpusGraph{1, 14, 2}, CorpusGraph{2, 60, 0.5}}) {
        const PlacementProblem problem = three_domains(graph);
        const Result<PlacementModel> model = PlacementModel::make(problem);
        SequenceSearch search(*model, 1);
        search.start_from(list_schedule(*model, heft_rule(*model)));
        const double first_ns = search.best_ns();
        for (int i = 0; i < 2000; ++i) {
            search.step(0.05);
        }
        const Schedule schedule = make_schedule(*model, search.best());
        EXPECT_LE(search.best_ns(), first_ns);
        EXPECT_EQ(schedule.makespan_ns, search.best_ns());
        EXPECT_TRUE(check_schedule(problem, schedule).ok())
            << check_schedule(problem, schedule).message();
    }
}

TEST(PlacementModel, HoldsEachItemOfARowOnceInOrder) {
    const std::vector<IntRows::Entry> entries = {{2, 5}, {0, 7}, {2, 1}, {0, 7}, {4, 3},
                                                 {2, 5}, {0, 9}, {2, 1}, {2, 4}, {0, 7}};
    const IntRows rows(6, entries);
    const std::vector<std::vector<int32_t>> expected = {{7, 9}, {}, {1, 4, 5}, {}, {3}, {}};
    for (size_t row = 0; row < expected.size(); ++row) {
        const auto items = rows[int32_t(row)];
        EXPECT_EQ(std::vector<int32_t>(items.begin(), items.end()), expected[row]) << row;
    }
    EXPECT_TRUE(IntRows(1, {})[0].empty());
}

}  // namespace
}  // namespace leat::scheduler
