#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "leat/scheduler/executor.h"

namespace leat::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

//  0 --> 1 --> 2
//   \----------^
TEST(Program, DropsWaitsThatOthersImply) {
    Result<Program> program = Program::make({{1, 0, {}}, {1, 0, {0}}, {1, 0, {1, 0, 1}}});
    ASSERT_TRUE(program.ok());
    EXPECT_THAT(program->steps()[1].waits, ElementsAre(0));
    EXPECT_THAT(program->steps()[2].waits, ElementsAre(1));
}

//  0 --> 2 --> 3
//  1 ----^     ^
//   \---------/
TEST(Program, KeepsWaitsOfIndependentBranches) {
    Result<Program> program =
        Program::make({{1, 0, {}}, {1, 0, {}}, {1, 0, {1, 0}}, {1, 0, {2, 1}}});
    ASSERT_TRUE(program.ok());
    EXPECT_THAT(program->steps()[2].waits, ElementsAre(0, 1));
    EXPECT_THAT(program->steps()[3].waits, ElementsAre(2));
}

//  0 --> 1 (no tiles) --> 2
//   \---------------------^
TEST(Program, LooksThroughStepsWithoutTiles) {
    Result<Program> program =
        Program::make({{1, 0, {}}, {0, 0, {0}}, {1, 0, {0, 1}}, {0, 0, {1}}, {1, 0, {3}}});
    ASSERT_TRUE(program.ok());
    EXPECT_THAT(program->steps()[2].waits, ElementsAre(0));
    EXPECT_THAT(program->steps()[4].waits, ElementsAre(0));
}

TEST(Program, ReducesAcrossBlocksOfAncestorsAndKeepsWhatReachesFurther) {
    std::vector<Step> chain(9000);
    for (int32_t i = 1; i < 9000; ++i) {
        chain[size_t(i)].waits = {i - 1, i / 2, i - 1};
    }
    Result<Program> program = Program::make(chain);
    ASSERT_TRUE(program.ok());
    EXPECT_THAT(program->steps()[3000].waits, ElementsAre(2999));  // 1500: in the block before
    EXPECT_THAT(program->steps()[4200].waits, ElementsAre(4199));
    EXPECT_THAT(program->steps()[8999].waits, ElementsAre(4499, 8998));  // too far back: stays
}

TEST(Program, RejectsWhatCannotRun) {
    EXPECT_THAT(Program::make({{1, 0, {0}}}).error().message(),
                HasSubstr("step 0 waits for step 0"));
    EXPECT_FALSE(Program::make({{1, 0, {}}, {1, 0, {-1}}}).ok());
    EXPECT_FALSE(Program::make({{-1, 0, {}}}).ok());
    EXPECT_FALSE(Program::make({{Program::kMaxTiles + 1, 0, {}}}).ok());
    EXPECT_FALSE(Program::make({{1, std::numeric_limits<double>::quiet_NaN(), {}}}).ok());
    EXPECT_TRUE(Program::make({}).ok());
}

TEST(Program, IsInlineUntilHelpersPayOff) {
    EXPECT_TRUE(Program::make({{100, 50'000, {}}})->is_inline(2));
    EXPECT_FALSE(Program::make({{100, 500'000, {}}})->is_inline(2));
    EXPECT_TRUE(Program::make({{100, 500'000, {}}})->is_inline(1));
    // A chain of single tiles has no parallelism, two independent ones have.
    EXPECT_TRUE(Program::make({{1, 500'000, {}}, {1, 500'000, {0}}})->is_inline(8));
    EXPECT_FALSE(Program::make({{1, 500'000, {}}, {1, 500'000, {}}})->is_inline(8));
}

}  // namespace
}  // namespace leat::scheduler
