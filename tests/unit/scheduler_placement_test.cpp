// Placement: cases by hand, bad input, and the quality bars over seeded corpora.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "leat/scheduler/placement.h"
#include "placement_best_known.h"
#include "support/exact_placement.h"
#include "support/placement_corpus.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEAT_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LEAT_UNDER_SANITIZER 1
#endif
#endif

namespace leat::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

#if defined(LEAT_UNDER_SANITIZER)
constexpr int kSmallGraphsPerRatio = 20;
constexpr int32_t kLargestGraph = 300;
#else
constexpr int kSmallGraphsPerRatio = 100;
constexpr int32_t kLargestGraph = 2000;
#endif
constexpr double kExact = 1 + 1e-9;

PlacementOptions only(PlacementRule rule) {
    PlacementOptions options;
    options.rules = {rule};
    options.search_steps = 0;
    return options;
}

Schedule place_checked(const PlacementProblem& problem, const PlacementOptions& options = {}) {
    Result<Schedule> schedule = place(problem, options);
    EXPECT_TRUE(schedule.ok()) << schedule.error().message();
    const Status status = check_schedule(problem, *schedule);
    EXPECT_TRUE(status.ok()) << status.message();
    return *schedule;
}

// Two CPU lanes and an accelerator; 1 byte takes 1 ns on the link, one for each direction.
PlacementProblem two_domains(std::vector<double> cost_ns) {
    PlacementProblem problem;
    problem.task_count = int32_t(cost_ns.size() / 3);
    problem.domain_count = 2;
    problem.domain_of_lane = {0, 0, 1};
    problem.cost_ns = std::move(cost_ns);
    problem.links = {{0, 1e9, true}, {0, 1e9, true}};
    problem.link_between = {PlacementProblem::kNoLink, 0, 1, PlacementProblem::kNoLink};
    return problem;
}
constexpr double kNo = PlacementProblem::kCannotRun;

// The ten tasks of figures 2 and 3 in the HEFT paper: three unequal processors, a mean transfer
// time for every edge, no contention.
PlacementProblem heft_paper_problem() {
    PlacementProblem problem;
    problem.task_count = 10;
    problem.domain_count = 3;
    problem.domain_of_lane = {0, 1, 2};
    problem.cost_ns = {14, 16, 9, 13, 19, 18, 11, 13, 19, 13, 8,  17, 12, 13, 10,
                       13, 16, 9, 7,  15, 11, 5,  11, 14, 18, 12, 20, 21, 7,  16};
    struct Edge {
        int32_t from, to;
        int64_t ns;
    };
    for (const Edge& edge : std::vector<Edge>{{0, 1, 18},
                                              {0, 2, 12},
                                              {0, 3, 9},
                                              {0, 4, 11},
                                              {0, 5, 14},
                                              {1, 7, 19},
                                              {1, 8, 16},
                                              {2, 6, 23},
                                              {3, 7, 27},
                                              {3, 8, 23},
                                              {4, 8, 13},
                                              {5, 7, 15},
                                              {6, 9, 17},
                                              {7, 9, 11},
                                              {8, 9, 13}}) {
        problem.uses.push_back({int32_t(problem.values.size()), edge.to});
        problem.values.push_back({edge.from, edge.ns});
    }
    problem.links = {{0, 1e9, false}};
    problem.link_between.assign(9, 0);
    return problem;
}

TEST(Placement, ReproducesTheExampleOfTheHeftPaper) {
    const PlacementProblem problem = heft_paper_problem();
    const Schedule heft = place_checked(problem, only(PlacementRule::kHeft));
    EXPECT_DOUBLE_EQ(heft.makespan_ns, 80);
    EXPECT_EQ(heft.rule, PlacementRule::kHeft);
    EXPECT_THAT(heft.order_of_lane[0], ElementsAre(1, 7));
    EXPECT_THAT(heft.order_of_lane[1], ElementsAre(3, 5, 8, 9));
    EXPECT_THAT(heft.order_of_lane[2], ElementsAre(0, 2, 4, 6));
    EXPECT_LT(place_checked(problem).makespan_ns, 80);
}

//  0 --> 1    both readers need a CPU, 0 and 3 an accelerator: one link, one transfer at a time
//  3 --> 2
TEST(Placement, MakesTransfersOverOneLinkWaitForEachOther) {
    PlacementProblem problem = two_domains({kNo, kNo, 0, 5, 5, kNo, 5, 5, kNo, kNo, kNo, 0});
    problem.values = {{0, 10}, {3, 10}};
    problem.uses = {{0, 1}, {1, 2}};
    EXPECT_DOUBLE_EQ(place_checked(problem).makespan_ns, 25);
    problem.links[1].is_exclusive = false;
    EXPECT_DOUBLE_EQ(place_checked(problem).makespan_ns, 15);
}

//  0 (accelerator) --> 1, 2 (CPU): the value travels once, although two lanes read it
TEST(Placement, MovesAValueOnceForAllReadersOfADomain) {
    PlacementProblem problem = two_domains({kNo, kNo, 3, 5, 5, kNo, 5, 5, kNo});
    problem.values = {{0, 10}};
    problem.uses = {{0, 1}, {0, 2}, {0, 2}};
    const Schedule schedule = place_checked(problem);
    EXPECT_DOUBLE_EQ(schedule.makespan_ns, 18);
    ASSERT_THAT(schedule.transfers, SizeIs(1));
    EXPECT_DOUBLE_EQ(schedule.transfers[0].start_ns, 3);
    EXPECT_EQ(schedule.transfers[0].link, 1);
}

//  0 --> 1 --> 2: the middle task is faster on the accelerator, but not by two transfers
TEST(Placement, KeepsAChainWhereItsValuesAre) {
    PlacementProblem problem = two_domains({10, 10, kNo, 10, 10, 1, 10, 10, kNo});
    problem.values = {{0, 5}, {1, 5}};
    problem.uses = {{0, 1}, {1, 2}};
    const Schedule schedule = place_checked(problem);
    EXPECT_DOUBLE_EQ(schedule.makespan_ns, 30);
    EXPECT_THAT(schedule.transfers, IsEmpty());
    problem.values = {{0, 4}, {1, 4}};
    EXPECT_DOUBLE_EQ(place_checked(problem).makespan_ns, 29);
}

TEST(Placement, HandlesNoTasksZeroCostsAndUnlinkedDomains) {
    EXPECT_DOUBLE_EQ(place_checked(two_domains({})).makespan_ns, 0);
    PlacementProblem problem = two_domains({0, 0, 0, 0, 0, 0, 0, 0, 0});
    problem.values = {{0, 0}, {1, 0}};
    problem.uses = {{0, 1}, {1, 2}};
    EXPECT_DOUBLE_EQ(place_checked(problem).makespan_ns, 0);
    problem = two_domains({5, 5, kNo, kNo, kNo, 5});
    problem.values = {{0, 1000}};
    problem.uses = {{0, 1}};
    problem.links.clear();
    problem.link_between.clear();
    EXPECT_DOUBLE_EQ(place_checked(problem).makespan_ns, 10);
}

TEST(Placement, UsesEveryDomainWhenThereAreThree) {
    PlacementProblem problem;
    problem.task_count = 6;
    problem.domain_count = 3;
    problem.domain_of_lane = {0, 1, 2};
    problem.cost_ns = {4, 9, 9, 4, 9, 9, 9, 4, 9, 9, 4, 9, 9, 9, 4, 9, 9, 4};
    problem.values = {{0, 1}, {2, 1}, {4, 1}};
    problem.uses = {{0, 1}, {1, 3}, {2, 5}};
    problem.links = {{1, 1e9, true}};
    problem.link_between.assign(9, 0);
    EXPECT_DOUBLE_EQ(place_checked(problem).makespan_ns, 8);
    // Every pair of tasks lives in one domain: nothing has to travel.
    EXPECT_DOUBLE_EQ(place_checked(problem, only(PlacementRule::kMinCut)).makespan_ns, 8);
}

TEST(Placement, RejectsWhatCannotBePlaced) {
    const auto error_of = [](const std::function<void(PlacementProblem&)>& spoil) {
        PlacementProblem problem = two_domains({1, 1, 1, 1, 1, 1});
        problem.values = {{0, 1}};
        problem.uses = {{0, 1}};
        spoil(problem);
        return place(problem).error().message();
    };
    EXPECT_THAT(error_of([](auto& p) { p.cost_ns.pop_back(); }), HasSubstr("cost_ns has 5"));
    EXPECT_THAT(error_of([](auto& p) { p.cost_ns[4] = -1; }), HasSubstr("task 1 costs -1 ns"));
    EXPECT_THAT(error_of([](auto& p) { p.cost_ns[0] = std::nan(""); }), HasSubstr("task 0 costs"));
    EXPECT_THAT(error_of([](auto& p) { p.cost_ns.assign(6, kNo); }), HasSubstr("on none of 3"));
    EXPECT_THAT(error_of([](auto& p) { p.domain_of_lane[2] = 2; }), HasSubstr("in domain 2"));
    EXPECT_THAT(error_of([](auto& p) { p.domain_of_lane.clear(); }), HasSubstr("0 lanes"));
    EXPECT_THAT(error_of([](auto& p) { p.values[0].producer = 2; }), HasSubstr("producer 2"));
    EXPECT_THAT(error_of([](auto& p) { p.values[0].bytes = -1; }), HasSubstr("-1 bytes"));
    EXPECT_THAT(error_of([](auto& p) { p.uses[0].value = 1; }), HasSubstr("value 1 by task 1"));
    EXPECT_THAT(error_of([](auto& p) { p.uses[0].reader = 9; }), HasSubstr("by task 9"));
    EXPECT_THAT(error_of([](auto& p) { p.uses[0].reader = 0; }), HasSubstr("cycle"));
    EXPECT_THAT(error_of([](auto& p) { p.links[0].bytes_per_s = 0; }), HasSubstr("link 0"));
    EXPECT_THAT(error_of([](auto& p) { p.links[1].latency_ns = -5; }), HasSubstr("-5 ns"));
    EXPECT_THAT(error_of([](auto& p) { p.link_between[1] = 2; }), HasSubstr("link 2"));
    EXPECT_THAT(error_of([](auto& p) { p.link_between.pop_back(); }), HasSubstr("3 entries"));
}

TEST(Placement, SaysSoWhenTheOnlyRuleAskedForDoesNotApply) {
    const PlacementProblem problem = two_domains({1, 1, kNo, kNo, kNo, 1});
    const Result<Schedule> schedule = place(problem, only(PlacementRule::kOneDomain));
    EXPECT_THAT(schedule.error().message(), HasSubstr("no domain can run all 2 tasks"));
}

TEST(Placement, GivesTheSameScheduleForTheSameInput) {
    const PlacementProblem problem = corpus_problem({7, 150, 0.5});
    const Schedule first = place_checked(problem);
    const Schedule second = place_checked(problem);
    EXPECT_EQ(first.lane_of_task, second.lane_of_task);
    EXPECT_EQ(first.start_ns, second.start_ns);
    EXPECT_EQ(first.makespan_ns, second.makespan_ns);
}

//  0 --> 1 on one lane, 2 on the accelerator, which reads 0's value
class ScheduleCheck : public ::testing::Test {
  protected:
    ScheduleCheck() : problem_(two_domains({4, 4, kNo, 4, 4, kNo, kNo, kNo, 4})) {
        problem_.values = {{0, 10}};
        problem_.uses = {{0, 1}, {0, 2}};
        schedule_ = place_checked(problem_);
    }
    std::string message() const { return check_schedule(problem_, schedule_).message(); }

    PlacementProblem problem_;
    Schedule schedule_;
};

TEST_F(ScheduleCheck, FindsATaskThatDoesNotTakeItsCost) {
    schedule_.finish_ns[1] += 1;
    EXPECT_THAT(message(), HasSubstr("task 1 starts at 4 ns and takes 5 ns"));
}
TEST_F(ScheduleCheck, FindsTasksThatOverlapOnALane) {
    schedule_.lane_of_task[1] = schedule_.lane_of_task[0];
    schedule_.order_of_lane = {{0, 1}, {}, {2}};
    schedule_.lane_of_task[0] = schedule_.lane_of_task[1] = 0;
    schedule_.start_ns[1] -= 2;
    schedule_.finish_ns[1] -= 2;
    EXPECT_THAT(message(), HasSubstr("lane 0 is busy until 4 ns"));
}
TEST_F(ScheduleCheck, FindsATaskThatIsNotListed) {
    schedule_.order_of_lane[2].clear();
    EXPECT_THAT(message(), HasSubstr("task 2 is listed 0 times"));
}
TEST_F(ScheduleCheck, FindsAReaderThatDoesNotWait) {
    schedule_.start_ns[2] -= 1;
    schedule_.finish_ns[2] -= 1;
    EXPECT_THAT(message(), HasSubstr("value 0 arrives at 14 ns"));
}
TEST_F(ScheduleCheck, FindsAMissingTransfer) {
    schedule_.transfers.clear();
    EXPECT_THAT(message(), HasSubstr("never arrives"));
}
TEST_F(ScheduleCheck, FindsATransferBeforeItsProducer) {
    schedule_.transfers[0].start_ns = 0;
    schedule_.transfers[0].finish_ns = 10;
    EXPECT_THAT(message(), HasSubstr("leaves domain 0 at 0 ns"));
}
TEST_F(ScheduleCheck, FindsTransfersThatOverlapOnALink) {
    problem_.values.push_back({0, 10});
    problem_.uses.push_back({1, 2});
    schedule_.transfers.push_back({1, 0, 1, 0, 5, 15});
    EXPECT_THAT(message(), HasSubstr("on link 0 at 5 ns"));
}
TEST_F(ScheduleCheck, FindsAWrongMakespan) {
    schedule_.makespan_ns -= 1;
    EXPECT_THAT(message(), HasSubstr("the makespan is"));
}

TEST(ExactPlacement, AgreesWithTryingEverything) {
    for (const int32_t tasks : {1, 3, 4}) {
        for (const CorpusGraph& graph : small_corpus(tasks, kSmallGraphsPerRatio / 5)) {
            const PlacementProblem problem = corpus_problem(graph);
            const Schedule worst = place_checked(problem, only(PlacementRule::kOneDomain));
            const Schedule exact = exact_schedule(problem, worst);
            EXPECT_TRUE(check_schedule(problem, exact).ok())
                << check_schedule(problem, exact).message();
            EXPECT_NEAR(exact.makespan_ns / brute_force_makespan_ns(problem), 1, 1e-9)
                << tasks << " tasks, seed " << graph.seed;
        }
    }
}

TEST(ExactPlacement, SaysWhetherItsStepsWereEnough) {
    const PlacementProblem problem = corpus_problem(small_corpus(12, 1).front());
    PlacementOptions options = only(PlacementRule::kOneDomain);
    options.exact_steps = 1;
    const Schedule cut_short = place_checked(problem, options);
    EXPECT_FALSE(cut_short.is_optimal);
    options.exact_steps = 1'000'000;
    const Schedule optimal = place_checked(problem, options);
    EXPECT_TRUE(optimal.is_optimal);
    EXPECT_LT(optimal.makespan_ns, cut_short.makespan_ns);
    options.search_steps = 0;
    const PlacementProblem large = corpus_problem(small_corpus(60, 1).front());
    EXPECT_FALSE(place_checked(large, options).is_optimal);
}

// Mean and 95th percentile (nearest rank) of makespans over their references.
struct Quality {
    std::vector<double> ratios;

    double mean() const {
        double sum = 0;
        for (const double ratio : ratios) {
            sum += ratio;
        }
        return sum / double(ratios.size());
    }
    double percentile_95() {
        std::sort(ratios.begin(), ratios.end());
        return ratios[size_t(std::ceil(0.95 * double(ratios.size()))) - 1];
    }
    double share_optimal() const {
        return double(std::count_if(ratios.begin(), ratios.end(),
                                    [](double ratio) { return ratio <= kExact; })) /
               double(ratios.size());
    }
};

TEST(PlacementQuality, IsNearTheOptimumOfTwelveTasks) {
    Quality quality;
    for (const CorpusGraph& graph : small_corpus(12, kSmallGraphsPerRatio)) {
        const PlacementProblem problem = corpus_problem(graph);
        const Schedule schedule = place_checked(problem);
        const Schedule exact = exact_schedule(problem, schedule);
        EXPECT_TRUE(check_schedule(problem, exact).ok()) << "seed " << graph.seed;
        quality.ratios.push_back(schedule.makespan_ns / exact.makespan_ns);
    }
    EXPECT_LE(quality.mean(), 1.01);
    EXPECT_LE(quality.percentile_95(), 1.05);
    EXPECT_GE(quality.share_optimal(), 0.9);
}

TEST(PlacementQuality, IsNearTheBestKnownOfLargeGraphs) {
    static_assert(kBestKnownCorpusVersion == kPlacementCorpusVersion);
    Quality quality;
    size_t i = 0;
    for (const CorpusGraph& graph : large_corpus()) {
        ASSERT_LT(i, std::size(kBestKnownPlacements));
        const BestKnownPlacement& known = kBestKnownPlacements[i++];
        ASSERT_EQ(known.seed, graph.seed);
        if (graph.tasks <= kLargestGraph) {
            const Schedule schedule = place_checked(corpus_problem(graph));
            quality.ratios.push_back(schedule.makespan_ns / known.makespan_ns);
        }
    }
    EXPECT_LE(quality.mean(), 1.05);
    EXPECT_LE(quality.percentile_95(), 1.10);
}

// All on the CPU lanes, all on the accelerator, and the serial placement of least total time, each
// computed without the placer.
double best_baseline_ns(const PlacementProblem& problem) {
    double accelerator = 0;
    for (int32_t task = 0; task < problem.task_count; ++task) {
        accelerator += problem.cost_ns[size_t(task) * 3 + 2];
    }
    double best = accelerator;
    for (uint32_t mask = 0; mask < uint32_t{1} << problem.task_count; ++mask) {
        double serial = 0;
        for (int32_t task = 0; task < problem.task_count; ++task) {
            serial += problem.cost_ns[size_t(task) * 3 + size_t{2} * (mask >> task & 1)];
        }
        for (size_t value = 0; value < problem.values.size(); ++value) {
            const uint32_t from = mask >> problem.values[value].producer & 1;
            const bool travels =
                std::any_of(problem.uses.begin(), problem.uses.end(), [&](const auto& use) {
                    return use.value == int32_t(value) && (mask >> use.reader & 1) != from;
                });
            const PlacementLink& link =
                problem.links[size_t(problem.link_between[from == 0 ? 1 : 2])];
            serial += travels ? link.latency_ns +
                                    double(problem.values[value].bytes) * 1e9 / link.bytes_per_s
                              : 0;
        }
        best = std::min(best, serial);
    }
    return best;
}

TEST(PlacementQuality, IsNeverWorseThanAnyRuleAlone) {
    for (const CorpusGraph& graph : large_corpus()) {
        if (graph.tasks > std::min(kLargestGraph, 600)) {
            continue;
        }
        const PlacementProblem problem = corpus_problem(graph);
        const double placed = place(problem)->makespan_ns;
        for (const PlacementRule rule :
             {PlacementRule::kHeft, PlacementRule::kPeft, PlacementRule::kEarliestFinish,
              PlacementRule::kOneDomain, PlacementRule::kMinCut, PlacementRule::kLoadBalance}) {
            EXPECT_LE(placed, place(problem, only(rule))->makespan_ns)
                << name_of(rule) << ", seed " << graph.seed;
        }
    }
}

TEST(PlacementQuality, IsNeverWorseThanTheBaselines) {
    for (const CorpusGraph& graph : small_corpus(10, kSmallGraphsPerRatio / 5)) {
        const PlacementProblem problem = corpus_problem(graph);
        const double baseline = best_baseline_ns(problem);
        EXPECT_LE(place_checked(problem).makespan_ns, baseline * kExact) << "seed " << graph.seed;
        // The cut itself: run as it is given, it takes no longer than one thing at a time.
        const Schedule cut = place_checked(problem, only(PlacementRule::kMinCut));
        double serial = 0;
        for (size_t task = 0; task < cut.lane_of_task.size(); ++task) {
            serial += cut.finish_ns[task] - cut.start_ns[task];
        }
        for (const Transfer& transfer : cut.transfers) {
            serial += transfer.finish_ns - transfer.start_ns;
        }
        EXPECT_LE(serial, baseline * kExact) << "seed " << graph.seed;
    }
    for (const CorpusGraph& graph : large_corpus()) {
        if (graph.tasks <= kLargestGraph) {
            const PlacementProblem problem = corpus_problem(graph);
            const double placed = place_checked(problem).makespan_ns;
            for (const PlacementRule rule : {PlacementRule::kOneDomain, PlacementRule::kMinCut}) {
                EXPECT_LE(placed, place_checked(problem, only(rule)).makespan_ns);
            }
        }
    }
}

}  // namespace
}  // namespace leat::scheduler
