// Where weights go: in a cost model (simulated), beside an exhaustive search and by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/weight_policy/weight_policy.h"
#include "support/weight_problems.h"

namespace leat {
namespace {

using testing::cascade_lake_machine;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::epyc_9224_machine;
using testing::exhaustive_weight_time;
using testing::random_weight_problem;
using testing::random_weight_uses;
using testing::set_budgets;
using testing::weight_time;
using testing::WeightProblem;
using testing::WeightTime;

WeightPolicies solve(const WeightProblem& problem) {
    return choose_weight_policies(problem.machine, problem.uses);
}

// The answer is what it says of itself.
WeightPolicies solve_checked(const WeightProblem& problem) {
    WeightPolicies result = solve(problem);
    EXPECT_EQ(result.decisions.size(), problem.uses.size());
    const WeightTime time = weight_time(problem, result.decisions);
    EXPECT_EQ(result.fits, time.fits);
    EXPECT_EQ(result.taken_bytes, time.taken_bytes);
    EXPECT_NEAR(result.read_ns, time.read_ns, time.read_ns * 1e-9);
    EXPECT_NEAR(result.alone_ns, time.alone_ns, time.alone_ns * 1e-9);
    EXPECT_LE(result.steps, max_weight_steps(int64_t(problem.uses.size()), problem.machine.size()));
    return result;
}

// What is in memory without CPUs has no room in a domain that reads it.
bool leaves_no_room_beside(const WeightProblem& problem, const WeightPolicies& result) {
    for (size_t i = 0; i < problem.uses.size(); ++i) {
        const WeightUse& use = problem.uses[i];
        const WeightDecision decision = result.decisions[i];
        for (const WeightReader& reader : use.readers) {
            const auto near = size_t(reader.domain);
            const int64_t room =
                problem.machine.domains[near].budget_bytes - result.taken_bytes[near];
            if (use.reads_per_run > 0 && decision.policy == WeightPolicy::kHome &&
                !problem.machine.domains[size_t(decision.home)].has_cpus && room >= use.bytes) {
                return false;
            }
        }
    }
    return true;
}

// How far read_ns is above the exhaustive best, by problem.
class Ratios {
  public:
    WeightPolicies add(const WeightProblem& problem) {
        WeightPolicies result = solve_checked(problem);
        const std::optional<double> best = exhaustive_weight_time(problem);
        EXPECT_EQ(result.fits, best.has_value());
        if (best) {
            all_.push_back(*best > 0 ? result.read_ns / *best : 1);
            EXPECT_GE(all_.back(), 1 - 1e-9);
            EXPECT_LE(all_.back(), 1.10);
        }
        return result;
    }
    // Figures of docs/measurements/memory.md.
    void record() {
        std::sort(all_.begin(), all_.end());
        const double sum = std::accumulate(all_.begin(), all_.end(), 0.0);
        ::testing::Test::RecordProperty("problems_that_fit", int(all_.size()));
        ::testing::Test::RecordProperty("mean", std::to_string(sum / double(all_.size())));
        ::testing::Test::RecordProperty("p95", std::to_string(all_[all_.size() * 95 / 100]));
        ::testing::Test::RecordProperty("worst", std::to_string(all_.back()));
    }
    size_t count() const { return all_.size(); }

  private:
    std::vector<double> all_;
};

TEST(WeightPolicyQuality, IsNearTheExhaustiveBest) {
    Ratios ratios;
    for (uint64_t seed = 0; seed < 600; ++seed) {
        SCOPED_TRACE(seed);
        ratios.add(random_weight_problem(seed, 7));
    }
    EXPECT_GE(ratios.count(), 300U);
    ratios.record();
}

// More constants than are ever chosen for together.
TEST(WeightPolicyQuality, IsNearTheExhaustiveBestOfTenConstants) {
    Ratios ratios;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        const WeightProblem problem = random_weight_problem(seed, 10);
        if (problem.uses.size() >= 8) {
            ratios.add(problem);
        }
    }
    ratios.record();
}

TEST(WeightPolicyQuality, IsNearTheExhaustiveBestOnMeasuredMachines) {
    Ratios ratios;
    for (const WeightMachine& machine : {cascade_lake_machine(), epyc_9224_machine()}) {
        for (uint64_t seed = 0; seed < 60; ++seed) {
            SCOPED_TRACE(seed);
            WeightProblem problem{machine, random_weight_uses(machine, 5, seed)};
            set_budgets(problem, (0.25 + 0.05 * double(seed % 10)) * (machine.size() > 2 ? 1 : 2));
            const WeightPolicies result = ratios.add(problem);
            EXPECT_TRUE(!result.fits || leaves_no_room_beside(problem, result));
        }
    }
    ratios.record();
}

// Eight sockets with a link for every pair and direction.
WeightMachine eight_sockets() {
    constexpr int kCount = 8;
    WeightMachine machine;
    machine.domains.assign(kCount, {122, 0, true});
    for (int reader = 0; reader < kCount; ++reader) {
        for (int memory = 0; memory < kCount; ++memory) {
            WeightPath path{122, 81, -1};
            if (reader != memory) {
                path = {51, 130, int(machine.links_bytes_per_ns.size())};
                machine.links_bytes_per_ns.push_back(51);
            }
            machine.paths.push_back(path);
        }
    }
    return machine;
}

TEST(WeightPolicyQuality, BigProblemsKeepToTheirSteps) {
    WeightProblem problem{eight_sockets(), {}};
    problem.uses = random_weight_uses(problem.machine, 4000, 5);
    for (const double budget_ratio : {0.126, 0.3, 1.1}) {
        set_budgets(problem, budget_ratio);
        const WeightPolicies result = solve_checked(problem);
        EXPECT_TRUE(result.fits);
        EXPECT_LE(result.steps, 4'570'000);
    }
}

TEST(WeightPolicyQuality, RoomForEverythingTakesOneLookAtEachOption) {
    WeightProblem problem{eight_sockets(), {}};
    problem.uses = random_weight_uses(problem.machine, 4000, 5);
    set_budgets(problem, 1.1);
    EXPECT_LE(solve_checked(problem).steps, 4000 * 11);
}

TEST(WeightPolicy, IsDeterministicWhateverTheOrder) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE(seed);
        WeightProblem problem = random_weight_problem(seed, 12);
        const WeightPolicies once = solve(problem);
        const WeightPolicies again = solve(problem);
        EXPECT_EQ(once.decisions, again.decisions);
        EXPECT_EQ(once.steps, again.steps);
        std::reverse(problem.uses.begin(), problem.uses.end());
        WeightPolicies reversed = solve(problem);
        std::reverse(reversed.decisions.begin(), reversed.decisions.end());
        EXPECT_EQ(once.decisions, reversed.decisions);
        EXPECT_EQ(once.read_ns, reversed.read_ns);
    }
}

// A machine that is twice as fast in everything is the same problem.
TEST(WeightPolicy, DependsOnRatiosOfSpeeds) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE(seed);
        WeightProblem problem = random_weight_problem(seed, 7);
        const WeightPolicies slow = solve(problem);
        for (WeightMachine::Domain& domain : problem.machine.domains) {
            domain.bytes_per_ns *= 2;
        }
        for (WeightPath& path : problem.machine.paths) {
            path.bytes_per_ns *= 2;
            path.latency_ns /= 2;
        }
        for (double& link : problem.machine.links_bytes_per_ns) {
            link *= 2;
        }
        EXPECT_EQ(solve(problem).decisions, slow.decisions);
    }
}

constexpr int64_t kMib = int64_t{1} << 20;
constexpr MemoryDomainId kFirst{0};
constexpr MemoryDomainId kSecond{1};
constexpr WeightDecision kPartition{WeightPolicy::kPartition, {}};
constexpr WeightDecision kReplicate{WeightPolicy::kReplicate, {}};
constexpr WeightDecision kInterleave{WeightPolicy::kInterleave, {}};

WeightDecision home_in(MemoryDomainId domain) {
    return {WeightPolicy::kHome, domain};
}

WeightUse read_by_one(int64_t bytes, MemoryDomainId reader, double reads_per_run = 1) {
    return {bytes, reads_per_run, false, {{reader, 1}}};
}
WeightUse read_by_both(int64_t bytes, double reads_per_run = 1) {
    return {bytes, reads_per_run, false, {{kFirst, 1}, {kSecond, 1}}};
}

// Two sockets with so much room in each.
WeightProblem on_two_sockets(int64_t budget_bytes, std::vector<WeightUse> uses) {
    WeightProblem problem{cascade_lake_machine(), std::move(uses)};
    for (WeightMachine::Domain& domain : problem.machine.domains) {
        domain.budget_bytes = budget_bytes;
    }
    return problem;
}

TEST(WeightPolicy, OneReaderHasItAtHome) {
    const WeightProblem problem = on_two_sockets(
        100 * kMib, {read_by_one(10 * kMib, kSecond), read_by_one(10 * kMib, kFirst)});
    EXPECT_THAT(solve_checked(problem).decisions, ElementsAre(home_in(kSecond), home_in(kFirst)));
}

TEST(WeightPolicy, SharedAndSmallIsCopied) {
    const WeightProblem problem = on_two_sockets(100 * kMib, {read_by_both(10 * kMib)});
    const WeightPolicies result = solve_checked(problem);
    EXPECT_THAT(result.decisions, ElementsAre(kReplicate));
    EXPECT_THAT(result.taken_bytes, ElementsAre(10 * kMib, 10 * kMib));
    // 10 MiB at 122 bytes/ns and one latency.
    EXPECT_NEAR(result.read_ns, 85'950 + 81, 100);
}

TEST(WeightPolicy, TooLargeToCopyIsInterleaved) {
    const WeightProblem problem = on_two_sockets(60 * kMib, {read_by_both(100 * kMib)});
    EXPECT_THAT(solve_checked(problem).decisions, ElementsAre(kInterleave));
}

// Each alone fits a domain, but not twice.
TEST(WeightPolicy, ManyTooLargeToCopyAreAllInterleaved) {
    const WeightProblem problem = on_two_sockets(
        80 * kMib, {read_by_both(50 * kMib), read_by_both(50 * kMib), read_by_both(50 * kMib)});
    EXPECT_THAT(solve_checked(problem).decisions, Each(kInterleave));
}

TEST(WeightPolicy, WhatIsDividedIsPartitioned) {
    WeightUse use{100 * kMib, 1, true, {{kFirst, 0.75}, {kSecond, 0.25}}};
    const WeightPolicies parts = solve_checked(on_two_sockets(80 * kMib, {use}));
    EXPECT_THAT(parts.decisions, ElementsAre(kPartition));
    EXPECT_THAT(parts.taken_bytes, ElementsAre(75 * kMib, 25 * kMib));
    // Also where copies would fit; a part takes less.
    EXPECT_THAT(solve_checked(on_two_sockets(800 * kMib, {use})).decisions,
                ElementsAre(kPartition));
    use.is_dividable = false;
    EXPECT_THAT(solve_checked(on_two_sockets(800 * kMib, {use})).decisions,
                ElementsAre(kReplicate));
}

TEST(WeightPolicy, WhatIsReadRarelyYields) {
    const WeightPolicies result = solve_checked(
        on_two_sockets(35 * kMib, {read_by_both(20 * kMib, 0.01), read_by_both(20 * kMib, 8)}));
    EXPECT_THAT(result.decisions, ElementsAre(kInterleave, kReplicate));
    // The first has no room where it is read, because the second is read more.
    const WeightPolicies homes = solve_checked(on_two_sockets(
        35 * kMib, {read_by_one(20 * kMib, kFirst), read_by_one(20 * kMib, kFirst, 4)}));
    EXPECT_THAT(homes.decisions, ElementsAre(home_in(kSecond), home_in(kFirst)));
}

TEST(WeightPolicy, UnreadTakesOneCopyOfWhatIsLeft) {
    const WeightPolicies result =
        solve_checked(on_two_sockets(30 * kMib, {{25 * kMib, 1, false, {}},
                                                 {25 * kMib, 0, false, {{kFirst, 1}}},
                                                 {4 * kMib, 1, false, {{kFirst, 1}}},
                                                 {4 * kMib, 1, false, {{kSecond, 1}}}}));
    EXPECT_TRUE(result.fits);
    EXPECT_EQ(result.decisions[2], home_in(kFirst));
    EXPECT_EQ(result.decisions[3], home_in(kSecond));
}

TEST(WeightPolicy, NothingIsEasy) {
    const WeightPolicies result = solve_checked(on_two_sockets(kMib, {}));
    EXPECT_TRUE(result.fits);
    EXPECT_EQ(result.read_ns, 0);
    EXPECT_THAT(result.taken_bytes, ElementsAre(0, 0));
}

// 6 + 3 + 3 and 5 + 4 + 3, and nothing else.
TEST(WeightPolicy, FindsTheOnlyWayToFit) {
    std::vector<WeightUse> uses;
    for (const int64_t size : {3, 6, 3, 5, 3, 4}) {
        uses.push_back(read_by_one(size * kMib, kFirst, double(10 - size)));
    }
    const WeightPolicies result = solve_checked(on_two_sockets(12 * kMib, uses));
    EXPECT_TRUE(result.fits);
    EXPECT_THAT(result.taken_bytes, Each(12 * kMib));
    uses.push_back(read_by_one(1, kFirst));
    EXPECT_FALSE(solve_checked(on_two_sockets(12 * kMib, uses)).fits);
}

TEST(WeightPolicy, SaysWhenNothingFits) {
    const WeightPolicies result = solve_checked(
        on_two_sockets(10 * kMib, {read_by_one(8 * kMib, kFirst, 4), read_by_both(100 * kMib)}));
    EXPECT_FALSE(result.fits);
    EXPECT_EQ(result.decisions[0], home_in(kFirst));
}

TEST(WeightPolicy, SlowMemoryHoldsNothingHotWhileLocalMemoryHasRoom) {
    WeightProblem problem{epyc_9224_machine(), {}};
    for (int i = 0; i < 40; ++i) {
        problem.uses.push_back(
            read_by_one((1 + i % 7) * kMib, MemoryDomainId(i % 4), 1 + double(i % 3)));
    }
    set_budgets(problem, 1);
    for (const WeightDecision& decision : solve_checked(problem).decisions) {
        EXPECT_NE(decision.home, MemoryDomainId(4));
    }
}

// DRAM is a few MiB short: what goes to the slow memory is what is read least.
TEST(WeightPolicy, SlowMemoryTakesWhatIsReadLeast) {
    WeightProblem problem{epyc_9224_machine(), {}};
    for (int i = 0; i < 16; ++i) {
        problem.uses.push_back(read_by_one(8 * kMib, MemoryDomainId(i % 4), i < 4 ? 0.1 : 2));
    }
    for (WeightMachine::Domain& domain : problem.machine.domains) {
        domain.budget_bytes = domain.has_cpus ? 28 * kMib : 1000 * kMib;
    }
    const WeightPolicies result = solve_checked(problem);
    for (size_t i = 0; i < result.decisions.size(); ++i) {
        EXPECT_EQ(result.decisions[i].home == MemoryDomainId(4), i < 4) << i;
    }
}

}  // namespace
}  // namespace leat
