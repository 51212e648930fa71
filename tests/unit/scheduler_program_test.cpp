#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "gears/wait_reduction.h"
#include "leat/scheduler/program.h"
#include "support/step_program.h"

namespace leat::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Waits of the last step after all have been reduced in order.
std::vector<int32_t> reduced_waits(const std::vector<std::vector<int32_t>>& waits) {
    WaitReduction reduction(waits.size());
    std::vector<int32_t> last;
    for (size_t task = 0; task < waits.size(); ++task) {
        last = waits[task];
        reduction.reduce(int32_t(task), last);
    }
    return last;
}

//  0 --> 1 --> 2
//   \----------^
TEST(WaitReduction, DropsWaitsThatOthersImply) {
    EXPECT_THAT(reduced_waits({{}, {0}, {1, 0, 1}}), ElementsAre(1));
}

//  0 --> 2 --> 3
//  1 ----^     ^
//   \---------/
TEST(WaitReduction, KeepsWaitsOfIndependentBranches) {
    EXPECT_THAT(reduced_waits({{}, {}, {1, 0}}), ElementsAre(0, 1));
    EXPECT_THAT(reduced_waits({{}, {}, {1, 0}, {2, 1}}), ElementsAre(2));
}

TEST(WaitReduction, ReachesAcrossBlocksOfAncestorsAndKeepsWhatIsFurther) {
    const auto last_of_chain = [](int32_t tasks) {
        std::vector<std::vector<int32_t>> chain(static_cast<size_t>(tasks));
        for (int32_t i = 1; i < tasks; ++i) {
            chain[size_t(i)] = {i - 1, i / 2, i - 1};
        }
        return reduced_waits(chain);
    };
    EXPECT_THAT(last_of_chain(3001), ElementsAre(2999));  // 1500: in the block before
    EXPECT_THAT(last_of_chain(4201), ElementsAre(4199));
    EXPECT_THAT(last_of_chain(9000), ElementsAre(4499, 8998));  // too far back: stays
}

TEST(Program, RejectsWhatCannotRun) {
    const auto error_of = [](const std::vector<Step>& steps) {
        return compile_steps(steps, 2).error().message();
    };
    EXPECT_THAT(error_of({{1, 0, {}}, {1, 0, {-1}}}),
                HasSubstr("an edge leads from task -1 to task 1; needed tasks in [0, 2)"));
    EXPECT_THAT(error_of({{1, 0, {7}}}), HasSubstr("from task 7 to task 0"));
    EXPECT_THAT(error_of({{-1, 0, {}}}), HasSubstr("task 0 has -1 tiles"));
    EXPECT_THAT(error_of({{Task::kMaxTiles + 1, 0, {}}}), HasSubstr("tiles"));
    EXPECT_THAT(error_of({{1, std::numeric_limits<double>::quiet_NaN(), {}}}),
                HasSubstr("task 0 has cost nan ns"));
    EXPECT_THAT(error_of({{1, -3, {}}}), HasSubstr("task 0 has cost -3 ns"));
    EXPECT_THAT(error_of({{1, std::numeric_limits<double>::infinity(), {}}}),
                HasSubstr("task 0 has cost inf ns"));
    EXPECT_TRUE(compile_steps({{1, 1e300, {}}, {4, 1e300, {0}}}, 2).ok()) << "it is finite";
    EXPECT_THAT(compile_steps({{1, 0, {}}}, 0).error().message(), HasSubstr("for 0 workers"));
    EXPECT_THAT(compile_steps({{1, 0, {}}}, 1, Gear(7)).error().message(), HasSubstr("a gear"));
    EXPECT_TRUE(compile_steps({}, 1).ok());
}

//  3 --> 1 --> 2 --> 3    0 is outside
TEST(Program, NamesTheTasksOfACycle) {
    EXPECT_THAT(
        compile_steps({{1, 0, {}}, {1, 0, {3, 0}}, {1, 0, {1}}, {1, 0, {2}}}, 2).error().message(),
        HasSubstr("in a circle: 1 -> 2 -> 3 -> 1"));
    EXPECT_THAT(compile_steps({{1, 0, {0}}}, 2).error().message(), HasSubstr("circle: 0 -> 0"));
}

TEST(Program, IsInlineUntilHelpersPayOff) {
    const auto gear_of = [](const std::vector<Step>& steps, int workers) {
        return compile_steps(steps, workers)->gear();
    };
    EXPECT_EQ(gear_of({{100, 50'000, {}}}, 2), Gear::kInline);
    EXPECT_EQ(gear_of({{100, 500'000, {}}}, 2), Gear::kCompiled);
    EXPECT_EQ(gear_of({{100, 500'000, {}}}, 1), Gear::kInline);
    // A chain of single tiles has no parallelism, two independent ones have.
    EXPECT_EQ(gear_of({{1, 500'000, {}}, {1, 500'000, {0}}}, 8), Gear::kInline);
    EXPECT_EQ(gear_of({{1, 500'000, {}}, {1, 500'000, {}}}, 8), Gear::kCompiled);
}

TEST(Program, IsDynamicWhereCostsAreUnknownAndTheGraphIsWide) {
    std::vector<Step> wide(100, {1, Task::kUnknownCost, {}});
    EXPECT_EQ(compile_steps(wide, 2)->gear(), Gear::kDynamic);
    std::vector<Step> chain(100, {1, Task::kUnknownCost, {}});
    for (int32_t i = 1; i < 100; ++i) {
        chain[size_t(i)].waits = {i - 1};
    }
    EXPECT_EQ(compile_steps(chain, 2)->gear(), Gear::kInline);
}

// Two chains of 10, each with an edge to the other in the middle:
//  0 -> 2 -> ... -> 8 -> 10 ...
//                     \    ^
//                      v  /
//  1 -> 3 -> ... -> 9 -> 11 ...
TEST(Program, PlacesChainsApartAndWaitsOnlyBetweenThem) {
    std::vector<Step> steps(20, {1, 100'000, {}});
    for (int32_t i = 2; i < 20; ++i) {
        steps[size_t(i)].waits = {i - 2};
    }
    steps[10].waits = {8, 9};
    steps[11].waits = {9, 8};
    const Result<Program> program = compile_steps(steps, 2);
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(program->stats().gear, Gear::kCompiled);
    EXPECT_EQ(program->stats().waits, 2);
    EXPECT_EQ(program->stats().publishes, 2);
}

//  A writes x; B and C read it; D overwrites it
TEST(TaskDag, DerivesEdgesFromBufferUses) {
    TaskDag dag;
    const BufferId x = dag.add_buffer();
    const TaskId a = dag.add({});
    const TaskId b = dag.add({});
    const TaskId c = dag.add({});
    const TaskId d = dag.add({});
    const TaskId e = dag.add({});
    dag.use(a, x, Access::kWrite);
    dag.use(b, x, Access::kRead);
    dag.use(c, x, Access::kRead);
    dag.use(d, x, Access::kRead);
    dag.use(d, x, Access::kWrite);
    dag.use(e, x, Access::kScratch);
    std::vector<std::pair<int, int>> edges;
    for (const TaskDag::Edge& edge : dag.edges()) {
        edges.emplace_back(int(edge.before), int(edge.after));
    }
    using Edge = std::pair<int, int>;
    EXPECT_THAT(edges,
                ::testing::UnorderedElementsAre(Edge{0, 1}, Edge{0, 2}, Edge{0, 3}, Edge{0, 3},
                                                Edge{1, 3}, Edge{2, 3}, Edge{3, 4}));
}

TEST(TaskDag, ReportsAUseOfABufferThatDoesNotExist) {
    TaskDag dag;
    dag.use(dag.add({}), BufferId{4}, Access::kRead);
    EXPECT_THAT(Program::compile(dag, {}).error().message(), HasSubstr("task 0 uses buffer 4"));
}

TEST(Program, RecompilesWithMeasuredTimes) {
    const std::vector<Step> steps(8, {1, 1'000, {}});
    const Program small = *compile_steps(steps, 2);
    EXPECT_EQ(small.gear(), Gear::kInline);
    const std::vector<double> times(8, 1e6);
    const Result<Program> large = small.recompile(times);
    ASSERT_TRUE(large.ok());
    EXPECT_EQ(large->gear(), Gear::kCompiled);
    EXPECT_NEAR(large->stats().serial_ns, 8e6, 1);
    EXPECT_NEAR(large->stats().parallel_ns, 4e6, 1);
    EXPECT_FALSE(small.recompile({}).ok());
}

}  // namespace
}  // namespace leat::scheduler
