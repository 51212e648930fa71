#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "memory/run_ahead.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Inputs = std::vector<std::vector<StepInput>>;
using Lists = std::vector<std::vector<int32_t>>;
using Relation = std::vector<std::vector<uint8_t>>;  // [before][after]

// By following every path.
int32_t longest_path(const Inputs& inputs, int32_t from, int32_t to) {
    if (from == to) {
        return 0;
    }
    int32_t longest = -1;
    for (const StepInput& input : inputs[size_t(to)]) {
        const int32_t edges = longest_path(inputs, from, input.producer);
        longest = edges < 0 ? longest : std::max(longest, edges + 1);
    }
    return longest;
}

// Closes under "has finished before it starts", which is transitive.
void close(Relation& relation) {
    for (size_t via = 0; via < relation.size(); ++via) {
        for (auto& after : relation) {
            for (size_t to = 0; after[via] != 0 && to < relation.size(); ++to) {
                after[to] |= relation[via][to];
            }
        }
    }
}

// As the header defines it.
Relation finished_before_start(const Inputs& inputs, int32_t window) {
    Relation relation(inputs.size(), std::vector<uint8_t>(inputs.size(), 0));
    for (size_t to = 0; to < inputs.size(); ++to) {
        for (size_t from = 0; from < to; ++from) {
            relation[from][to] = uint8_t(longest_path(inputs, int32_t(from), int32_t(to)) > window);
        }
        for (const StepInput& input : inputs[to]) {
            relation[size_t(input.producer)][to] |= uint8_t(input.is_whole);
        }
    }
    close(relation);
    return relation;
}

Relation closure(const Lists& waits) {
    Relation relation(waits.size(), std::vector<uint8_t>(waits.size(), 0));
    for (size_t to = 0; to < waits.size(); ++to) {
        for (const int32_t from : waits[to]) {
            relation[size_t(from)][to] = 1;
        }
    }
    close(relation);
    return relation;
}

Inputs random_inputs(uint32_t seed) {
    std::mt19937 random(seed);
    Inputs inputs(3 + seed % 8);
    for (size_t step = 0; step < inputs.size(); ++step) {
        for (size_t producer = 0; producer < step; ++producer) {
            if (random() % inputs.size() < 3) {
                inputs[step].push_back({int32_t(producer), random() % (1 + seed % 5) == 1});
            }
        }
    }
    return inputs;
}

TEST(RunAhead, IsTheRelationOfItsDefinition) {
    for (uint32_t seed = 0; seed < 500; ++seed) {
        const Inputs inputs = random_inputs(seed);
        for (const int32_t window : {0, 1, 2, 3, 9, kUnlimitedWindow}) {
            SCOPED_TRACE(::testing::Message() << "seed " << seed << ", window " << window);
            const Lists waits = whole_waits(inputs, window);
            EXPECT_EQ(closure(waits), finished_before_start(inputs, window));
            EXPECT_TRUE(std::all_of(waits.begin(), waits.end(), [](const auto& list) {
                return std::is_sorted(list.begin(), list.end());
            }));
        }
    }
}

TEST(RunAhead, EveryWaitIsNeeded) {
    for (uint32_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(seed);
        const Lists waits = whole_waits(random_inputs(seed), int32_t(seed % 3));
        for (size_t step = 0; step < waits.size(); ++step) {
            for (size_t i = 0; i < waits[step].size(); ++i) {
                Lists fewer = waits;
                fewer[step].erase(fewer[step].begin() + std::ptrdiff_t(i));
                EXPECT_NE(closure(fewer), closure(waits));
            }
        }
    }
}

// 0 --> 1 --> 2 --> 3 --> 4
TEST(RunAhead, SlidesAlongAChain) {
    const Inputs chain = {{}, {{0}}, {{1}}, {{2}}, {{3}}};
    EXPECT_THAT(whole_waits(chain, 0), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1),
                                                   ElementsAre(2), ElementsAre(3)));
    EXPECT_THAT(whole_waits(chain, 1), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0),
                                                   ElementsAre(0, 1), ElementsAre(1, 2)));
    EXPECT_THAT(whole_waits(chain, 3),
                ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre(0)));
    EXPECT_THAT(whole_waits(chain, kUnlimitedWindow), ::testing::Each(IsEmpty()));
}

// The short edge 0 --> 3 is a whole wait where the path beside it is longer than the window.
//
//  0 --> 1 --> 2 --> 3
//   \-----------------^
TEST(RunAhead, WaitsAcrossAnEdgeThatALongerPathPasses) {
    const Inputs residual = {{}, {{0}}, {{1}}, {{0}, {2}}};
    EXPECT_THAT(whole_waits(residual, 2)[3], ElementsAre(0));
    EXPECT_THAT(whole_waits(residual, 3)[3], IsEmpty());
}

// Independent branches overlap in every window.
//
//  0 --> 1 --> 3
//   \--> 2 ---^
TEST(RunAhead, LeavesBranchesUnordered) {
    const Inputs branches = {{}, {{0}}, {{0}}, {{1}, {2}}};
    EXPECT_THAT(whole_waits(branches, 0)[2], ElementsAre(0));
    EXPECT_THAT(whole_waits(branches, 0)[3], ElementsAre(1, 2));
    EXPECT_THAT(whole_waits(branches, 1)[3], ElementsAre(0));
}

// The edge 1 ==> 2 cannot be tiled. Step 0 may have tiles that 1 does not need, so it is not known
// to have finished before 2 unless the window says so.
//
//  0 --> 1 ==> 2 --> 3
TEST(RunAhead, KeepsEdgesThatCannotBeTiled) {
    const Inputs chain = {{}, {{0}}, {{1, true}}, {{2}}};
    EXPECT_THAT(whole_waits(chain, kUnlimitedWindow),
                ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1), IsEmpty()));
    EXPECT_THAT(whole_waits(chain, 1),
                ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(0, 1)));
}

}  // namespace
}  // namespace leat
