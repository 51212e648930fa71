#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "memory/order/hazards.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct StepAccess {
    std::vector<ByteRange> reads;
    std::vector<ByteRange> writes;
};
using Accesses = std::vector<StepAccess>;

std::vector<std::vector<int32_t>> hazard_waits(const Accesses& steps) {
    std::vector<std::vector<int32_t>> waits;
    StepHazards hazards;
    for (const StepAccess& step : steps) {
        for (const ByteRange& range : step.reads) {
            hazards.read(range);
        }
        for (const ByteRange& range : step.writes) {
            hazards.write(range);
        }
        waits.push_back(hazards.end_step());
    }
    return waits;
}

TEST(Hazards, ReadWaitsForTheWriterOfAnyOfItsBytes) {
    const auto waits = hazard_waits(Accesses{
        {{}, {{0, 10}}}, {{}, {{10, 20}}}, {{{9, 11}}, {}}, {{{10, 11}}, {}}, {{{20, 30}}, {}}});
    EXPECT_THAT(waits[2], ElementsAre(0, 1));
    EXPECT_THAT(waits[3], ElementsAre(1));
    EXPECT_THAT(waits[4], IsEmpty());
}

TEST(Hazards, WriteWaitsForReadersAndWriters) {
    const auto waits = hazard_waits(Accesses{
        {{}, {{0, 10}}}, {{{0, 5}}, {}}, {{{5, 10}}, {}}, {{}, {{4, 5}}}, {{}, {{0, 10}}}});
    EXPECT_THAT(waits[3], ElementsAre(0, 1));
    EXPECT_THAT(waits[4], ElementsAre(0, 1, 2, 3));
}

TEST(Hazards, InPlaceStepDoesNotWaitForItself) {
    const auto waits = hazard_waits(Accesses{{{{0, 8}}, {{0, 8}}}, {{{0, 8}, {0, 8}}, {{0, 8}}}});
    EXPECT_THAT(waits[0], IsEmpty());
    EXPECT_THAT(waits[1], ElementsAre(0));
}

TEST(Hazards, FirstWriteWaitsForEarlierReadersOfUnwrittenBytes) {
    const auto waits = hazard_waits(Accesses{{{{0, 8}}, {}}, {{}, {{4, 6}}}, {{}, {{6, 7}}}});
    EXPECT_THAT(waits[1], ElementsAre(0));
    EXPECT_THAT(waits[2], ElementsAre(0));
}

TEST(Hazards, EmptyRangesTouchNothing) {
    EXPECT_THAT(hazard_waits(Accesses{{{}, {{0, 8}}}, {{{3, 3}}, {{5, 5}}}})[1], IsEmpty());
}

bool overlap(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
    for (const ByteRange& x : a) {
        for (const ByteRange& y : b) {
            if (x.begin < y.end && y.begin < x.end) {
                return true;
            }
        }
    }
    return false;
}

bool conflict(const StepAccess& a, const StepAccess& b) {
    return overlap(a.writes, b.writes) || overlap(a.reads, b.writes) || overlap(a.writes, b.reads);
}

Accesses random_accesses(uint32_t seed, int step_count) {
    std::mt19937 random(seed);
    const auto ranges = [&] {
        std::vector<ByteRange> result;
        for (uint32_t i = random() % 3; i > 0; --i) {
            const auto begin = int64_t(random() % 60);
            result.push_back({begin, begin + 1 + int64_t(random() % 12)});
        }
        return result;
    };
    Accesses steps;
    for (int i = 0; i < step_count; ++i) {
        steps.push_back({ranges(), ranges()});
    }
    return steps;
}

// The waits, followed transitively, order every conflicting pair, and name only conflicting pairs.
void expect_waits_for_conflicts_only(const Accesses& steps) {
    const auto waits = hazard_waits(steps);
    // before[i][j]: step i starts after step j, directly or through others.
    std::vector<std::vector<bool>> before(steps.size(), std::vector<bool>(steps.size(), false));
    for (size_t i = 0; i < steps.size(); ++i) {
        for (const int32_t wait : waits[i]) {
            ASSERT_LT(size_t(wait), i);
            before[i][size_t(wait)] = true;
            for (size_t j = 0; j < steps.size(); ++j) {
                before[i][j] = before[i][j] || before[size_t(wait)][j];
            }
        }
        for (size_t j = 0; j < i; ++j) {
            const bool is_conflict = conflict(steps[i], steps[j]);
            const bool is_named =
                std::find(waits[i].begin(), waits[i].end(), int32_t(j)) != waits[i].end();
            ASSERT_TRUE(!is_conflict || before[i][j]) << i << " after " << j;
            ASSERT_TRUE(!is_named || is_conflict) << i << " after " << j;
        }
    }
}

TEST(Hazards, OrderExactlyTheConflictsOfRandomPrograms) {
    for (uint32_t seed = 0; seed < 50; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(expect_waits_for_conflicts_only(random_accesses(seed, 40)));
    }
}

TEST(Hazards, ThreeThousandStepsAreFast) {
    Accesses steps;
    std::mt19937 random(1);
    for (int i = 0; i < 3000; ++i) {
        const auto at = int64_t(random() % 64) * 4096;
        const auto from = int64_t(random() % 64) * 4096;
        steps.push_back({{{from, from + 8192}}, {{at, at + 4096 + int64_t(random() % 8192)}}});
    }
    const auto start = std::chrono::steady_clock::now();
    (void)hazard_waits(steps);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(ms, 1000);  // generous: sanitizers and busy machines
    RecordProperty("ms", std::to_string(ms));
}

}  // namespace
}  // namespace leat
