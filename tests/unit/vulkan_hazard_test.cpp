// The barrier planner and the checker of its plans. Needs no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "backends/vulkan/record/barrier_plan.h"
#include "backends/vulkan/record/hazard_check.h"

namespace leat::vulkan {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kBufferBytes = 4096;

enum class Action { kDispatch, kCopy, kFill };

BufferUse read_of(BufferId buffer, ByteRange bytes) {
    return {buffer, bytes, false};
}
BufferUse write_of(BufferId buffer, ByteRange bytes) {
    return {buffer, bytes, true};
}

// A list of commands on one shared buffer; whatever else a command touches is a buffer of its own.
class Plant {
  public:
    Plant() : shared_(list_.add_buffer(kBufferBytes)) {}

    void reads(Action action, ByteRange bytes) { add(action, bytes, false); }
    void writes(Action action, ByteRange bytes) { add(action, bytes, true); }
    CommandList& list() { return list_; }
    BufferId shared() const { return shared_; }

  private:
    void add(Action action, ByteRange bytes, bool is_write) {
        const BufferId own = list_.add_buffer(kBufferBytes);
        Status status;
        if (action == Action::kFill) {
            status = list_.add(Fill{shared_, bytes, 0});
        } else if (action == Action::kCopy) {
            BufferCopy copy{shared_, own, bytes.begin, 0, bytes.end - bytes.begin};
            if (is_write) {
                std::swap(copy.source, copy.destination);
                std::swap(copy.source_offset, copy.destination_offset);
            }
            status = list_.add(copy);
        } else {
            const BufferUse uses[] = {{shared_, bytes, is_write}, {own, {0, 16}, !is_write}};
            status = list_.add(Dispatch{}, uses);
        }
        EXPECT_TRUE(status.ok()) << status.message();
    }

    CommandList list_;
    BufferId shared_;
};

// Steps that are barriers between two levels.
std::vector<size_t> inner_barriers(const BarrierPlan& plan) {
    std::vector<size_t> places;
    for (size_t i = 1; i + 1 < plan.steps.size(); ++i) {
        if (plan.steps[i].is_barrier) {
            places.push_back(i);
        }
    }
    return places;
}

BarrierPlan without(BarrierPlan plan, size_t step) {
    plan.steps.erase(plan.steps.begin() + std::ptrdiff_t(step));
    return plan;
}

struct PlantedBarrier {
    const char* name;
    Action earlier;
    bool earlier_writes;
    ByteRange earlier_bytes;
    Action later;
    bool later_writes;
    ByteRange later_bytes;
};

class MissingBarrier : public ::testing::TestWithParam<PlantedBarrier> {};

TEST_P(MissingBarrier, IsFound) {
    const PlantedBarrier& planted = GetParam();
    Plant plant;
    (planted.earlier_writes ? plant.writes(planted.earlier, planted.earlier_bytes)
                            : plant.reads(planted.earlier, planted.earlier_bytes));
    (planted.later_writes ? plant.writes(planted.later, planted.later_bytes)
                          : plant.reads(planted.later, planted.later_bytes));
    const BarrierPlan plan = plan_barriers(plant.list());
    EXPECT_TRUE(check_hazards(plant.list(), plan).is_clean());
    const std::vector<size_t> barriers = inner_barriers(plan);
    ASSERT_THAT(barriers, SizeIs(1));
    const HazardCheck check = check_hazards(plant.list(), without(plan, barriers[0]));
    ASSERT_THAT(check.hazards, SizeIs(1));
    const Hazard& hazard = check.hazards[0];
    HazardKind kind = HazardKind::kReadAfterWrite;
    if (planted.later_writes) {
        kind = planted.earlier_writes ? HazardKind::kWriteAfterWrite : HazardKind::kWriteAfterRead;
    }
    EXPECT_EQ(hazard.kind, kind);
    EXPECT_EQ(hazard.earlier, 0U);
    EXPECT_EQ(hazard.later, 1U);
    EXPECT_EQ(hazard.buffer, plant.shared());
    EXPECT_EQ(hazard.bytes.begin, std::max(planted.earlier_bytes.begin, planted.later_bytes.begin));
    EXPECT_FALSE(hazard.is_between_runs);
    EXPECT_FALSE(hazard.is_by_host);
}

constexpr ByteRange kWhole{0, 1024};
// Two transients that the memory planner put over each other in part.
constexpr ByteRange kFirstTransient{0, 1024};
constexpr ByteRange kSecondTransient{768, 2048};
constexpr ByteRange kLastByte{1020, 1024};
constexpr Action kDispatch = Action::kDispatch;
constexpr Action kCopy = Action::kCopy;
constexpr Action kFill = Action::kFill;

// name, what comes first (writes?, bytes), what comes then (writes?, bytes)
constexpr PlantedBarrier kPlanted[] = {
    {"CopyThenDispatchReads", kCopy, true, kWhole, kDispatch, false, kWhole},
    {"CopyReadsThenDispatchWrites", kCopy, false, kWhole, kDispatch, true, kWhole},
    {"CopyThenDispatchWrites", kCopy, true, kWhole, kDispatch, true, kWhole},
    {"DispatchThenCopyReads", kDispatch, true, kWhole, kCopy, false, kWhole},
    {"DispatchReadsThenCopyWrites", kDispatch, false, kWhole, kCopy, true, kWhole},
    {"DispatchThenCopyWrites", kDispatch, true, kWhole, kCopy, true, kWhole},
    {"DispatchThenDispatchReads", kDispatch, true, kWhole, kDispatch, false, kWhole},
    {"DispatchReadsThenDispatchWrites", kDispatch, false, kWhole, kDispatch, true, kWhole},
    {"DispatchThenDispatchWrites", kDispatch, true, kWhole, kDispatch, true, kWhole},
    {"CopyThenCopyReads", kCopy, true, kWhole, kCopy, false, kWhole},
    {"CopyReadsThenCopyWrites", kCopy, false, kWhole, kCopy, true, kWhole},
    {"CopyThenCopyWrites", kCopy, true, kWhole, kCopy, true, kWhole},
    {"FillThenDispatchReads", kFill, true, kWhole, kDispatch, false, kWhole},
    {"FillThenDispatchWrites", kFill, true, kWhole, kDispatch, true, kWhole},
    {"FillThenCopyReads", kFill, true, kWhole, kCopy, false, kWhole},
    {"FillThenCopyWrites", kFill, true, kWhole, kCopy, true, kWhole},
    {"DispatchReadsThenFill", kDispatch, false, kWhole, kFill, true, kWhole},
    {"DispatchThenFill", kDispatch, true, kWhole, kFill, true, kWhole},
    {"CopyReadsThenFill", kCopy, false, kWhole, kFill, true, kWhole},
    {"CopyThenFill", kCopy, true, kWhole, kFill, true, kWhole},
    {"FillThenFill", kFill, true, kWhole, kFill, true, kWhole},
    {"AliasedTransientsReadThenDispatchWrites", kDispatch, false, kFirstTransient, kDispatch, true,
     kSecondTransient},
    {"AliasedTransientsWriteThenDispatchWrites", kDispatch, true, kFirstTransient, kDispatch, true,
     kSecondTransient},
    {"AliasedTransientsReadThenCopyWrites", kDispatch, false, kFirstTransient, kCopy, true,
     kSecondTransient},
    {"AliasedTransientsCopyReadsThenDispatchWrites", kCopy, false, kFirstTransient, kDispatch, true,
     kSecondTransient},
    {"OneWordIsShared", kDispatch, true, kSecondTransient, kDispatch, false, kLastByte},
};
INSTANTIATE_TEST_SUITE_P(Vulkan,
                         MissingBarrier,
                         ::testing::ValuesIn(kPlanted),
                         [](const auto& row) { return std::string(row.param.name); });

//  write a --> read b, read c     (three levels of independent commands)
TEST(VulkanBarrierPlan, PutsIndependentCommandsIntoOneLevel) {
    Plant plant;
    plant.writes(Action::kCopy, {0, 64});
    plant.reads(Action::kDispatch, {0, 32});
    plant.writes(Action::kFill, {64, 128});
    plant.reads(Action::kCopy, {32, 64});
    plant.writes(Action::kDispatch, {0, 64});
    const BarrierPlan plan = plan_barriers(plant.list());
    EXPECT_EQ(plan.level_count, 3);
    EXPECT_THAT(inner_barriers(plan), SizeIs(2));
    std::vector<uint32_t> order;
    for (const RecordedStep& step : plan.steps) {
        if (!step.is_barrier) {
            order.push_back(step.command);
        }
    }
    EXPECT_THAT(order, ::testing::ElementsAre(0, 2, 1, 3, 4));
    EXPECT_TRUE(check_hazards(plant.list(), plan).is_clean());
}

TEST(VulkanBarrierPlan, SplitsSubmitsBeforeTheBudgetIsPassed) {
    CommandList list;
    const BufferId buffer = list.add_buffer(kBufferBytes);
    for (const int64_t estimated_ns : {60, 30, 20, 500, 10}) {
        ASSERT_TRUE(list.add(Fill{buffer, {0, 16}, 0}, estimated_ns).ok());
    }
    const BarrierPlan plan = plan_barriers(list, {100});
    // 60 + 30 | 20 | 500 alone | 10
    EXPECT_THAT(plan.submit_begins, SizeIs(4));
    EXPECT_TRUE(check_hazards(list, plan).is_clean());
    EXPECT_THAT(plan_barriers(list, {1000}).submit_begins, SizeIs(1));
}

TEST(VulkanHazardCheck, WantsBarriersOfTheRightStages) {
    Plant plant;
    plant.writes(Action::kCopy, kWhole);
    plant.reads(Action::kDispatch, kWhole);
    BarrierPlan plan = plan_barriers(plant.list());
    const size_t place = inner_barriers(plan).front();
    for (const Barrier& wrong :
         {Barrier{kComputeStage, kComputeStage}, Barrier{kCopyStage, kCopyStage},
          Barrier{kHostStage, kAllStages}}) {
        plan.steps[place].barrier = wrong;
        EXPECT_THAT(check_hazards(plant.list(), plan).hazards, SizeIs(1));
    }
    plan.steps[place].barrier = {kCopyStage, kComputeStage};
    EXPECT_TRUE(check_hazards(plant.list(), plan).is_clean());
}

TEST(VulkanHazardCheck, FollowsChainsOfBarriers) {
    // copy writes a; a dispatch that has nothing to do with it; a copy reads a.
    Plant plant;
    plant.writes(Action::kCopy, kWhole);
    plant.reads(Action::kDispatch, {2048, 2064});
    plant.reads(Action::kCopy, kWhole);
    BarrierPlan plan;
    plan.steps = {{true, {kComputeStage | kCopyStage, kAllStages}, 0},
                  {false, {}, 0},
                  {true, {kCopyStage, kComputeStage}, 0},
                  {false, {}, 1},
                  {true, {kComputeStage, kCopyStage}, 0},
                  {false, {}, 2},
                  {true, {kComputeStage | kCopyStage, kAllStages}, 0}};
    EXPECT_TRUE(check_hazards(plant.list(), plan).is_clean());
    plan.steps[2].barrier.to = kHostStage;
    EXPECT_THAT(check_hazards(plant.list(), plan).hazards, SizeIs(1));
}

TEST(VulkanHazardCheck, FindsWhatTheNextRunOverwrites) {
    Plant plant;
    plant.reads(Action::kDispatch, kWhole);
    plant.writes(Action::kCopy, {2048, 3072});
    BarrierPlan plan = plan_barriers(plant.list());
    EXPECT_TRUE(check_hazards(plant.list(), plan).is_clean());
    plan.steps.erase(plan.steps.begin());
    const std::vector<Hazard> hazards = check_hazards(plant.list(), plan).hazards;
    // The dispatch's output and the copy's target are written again.
    EXPECT_THAT(hazards, SizeIs(2));
    EXPECT_THAT(hazards, ::testing::Each(Field(&Hazard::is_between_runs, true)));
    EXPECT_THAT(hazards[0].text(), HasSubstr("command 0 of the next run"));
}

TEST(VulkanHazardCheck, FindsResultsThatTheHostDoesNotSee) {
    Plant plant;
    plant.writes(Action::kDispatch, kWhole);
    BarrierPlan plan = plan_barriers(plant.list());
    plan.steps.pop_back();
    const std::vector<Hazard> hazards = check_hazards(plant.list(), plan).hazards;
    ASSERT_THAT(hazards, SizeIs(1));
    EXPECT_TRUE(hazards[0].is_by_host);
    EXPECT_EQ(hazards[0].text(),
              "read after write of bytes 0 to 1024 of buffer 0: the host after command 0");
}

TEST(VulkanHazardCheck, FindsCommandsOutOfOrder) {
    Plant plant;
    plant.writes(Action::kCopy, kWhole);
    plant.reads(Action::kDispatch, kWhole);
    BarrierPlan plan = plan_barriers(plant.list());
    BarrierPlan swapped = plan;
    std::swap(swapped.steps[1], swapped.steps[3]);
    EXPECT_THAT(check_hazards(plant.list(), swapped).faults, Contains("command 1 stands before 0"));
    BarrierPlan shorter = without(plan, 3);
    EXPECT_THAT(check_hazards(plant.list(), shorter).faults, Contains("command 1 is left out"));
    plan.steps[3].command = 0;
    EXPECT_THAT(check_hazards(plant.list(), plan).faults, Contains("command 0 stands twice"));
}

TEST(VulkanHazardCheck, LetsReadersAndNeighboursBe) {
    Plant plant;
    plant.writes(Action::kCopy, {0, 512});
    plant.writes(Action::kDispatch, {512, 1024});
    plant.writes(Action::kFill, {1024, 2048});
    EXPECT_EQ(plan_barriers(plant.list()).level_count, 1);
    EXPECT_TRUE(check_hazards(plant.list(), plan_barriers(plant.list())).is_clean());
    Plant readers;
    readers.reads(Action::kCopy, kWhole);
    readers.reads(Action::kDispatch, kWhole);
    EXPECT_EQ(plan_barriers(readers.list()).level_count, 1);
    EXPECT_TRUE(check_hazards(readers.list(), plan_barriers(readers.list())).is_clean());
}

// Commands at random on few buffers, dense enough that many share bytes.
CommandList random_list(std::mt19937& random, int commands) {
    CommandList list;
    const BufferId buffers[] = {list.add_buffer(kBufferBytes), list.add_buffer(kBufferBytes),
                                list.add_buffer(kBufferBytes)};
    const auto pick = [&](int64_t end) {
        return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
    };
    const auto range = [&] {
        const int64_t begin = pick(60) * 64;
        return ByteRange{begin, std::min(kBufferBytes, begin + 64 + pick(8) * 64)};
    };
    for (int i = 0; i < commands; ++i) {
        const BufferId buffer = buffers[size_t(pick(3))];
        const int64_t kind = pick(4);
        Status status;
        if (kind == 0) {
            status = list.add(Fill{buffer, range(), 0});
        } else if (kind == 1) {
            const BufferId other = buffers[(size_t(buffer) + 1) % 3];
            status = list.add(
                BufferCopy{buffer, other, pick(30) * 64, pick(30) * 64, 64 + pick(4) * 64});
        } else {
            std::vector<BufferUse> uses{write_of(buffer, range())};
            uses.resize(size_t(2 + pick(3)));
            for (size_t k = 1; k < uses.size(); ++k) {
                uses[k] = read_of(buffers[size_t(pick(3))], range());
            }
            status = list.add(Dispatch{}, uses, pick(50));
        }
        EXPECT_TRUE(status.ok()) << status.message();
    }
    return list;
}

bool must_wait(std::span<const BufferUse> earlier, std::span<const BufferUse> later) {
    return std::any_of(earlier.begin(), earlier.end(), [&](const BufferUse& a) {
        return std::any_of(later.begin(), later.end(), [&](const BufferUse& b) {
            return a.buffer == b.buffer && (a.is_write || b.is_write) && a.bytes.meets(b.bytes);
        });
    });
}

// The longest chain of commands of which each must wait for the one before it.
int longest_chain(const CommandList& list) {
    std::vector<int> lengths;
    lengths.reserve(list.commands().size());
    for (const Command& later : list.commands()) {
        int before = 0;
        for (size_t k = 0; k < lengths.size(); ++k) {
            if (must_wait(list.uses(list.commands()[k]), list.uses(later))) {
                before = std::max(before, lengths[k]);
            }
        }
        lengths.push_back(before + 1);
    }
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

TEST(VulkanBarrierPlan, IsCleanAndMinimalOnRandomLists) {
    std::mt19937 random(20);
    int removed = 0;
    for (int round = 0; round < 60; ++round) {
        const CommandList list = random_list(random, 1 + round);
        const BarrierPlan plan = plan_barriers(list, {round % 2 == 0 ? 1'000'000 : 60});
        const HazardCheck check = check_hazards(list, plan);
        ASSERT_THAT(check.faults, IsEmpty());
        ASSERT_TRUE(check.is_clean()) << check.hazards.front().text();
        EXPECT_EQ(plan.level_count, longest_chain(list));
        // Without any one of its barriers a plan is wrong.
        for (const size_t place : inner_barriers(plan)) {
            EXPECT_FALSE(check_hazards(list, without(plan, place)).hazards.empty());
            ++removed;
        }
    }
    EXPECT_GT(removed, 300);
}

TEST(VulkanCommandList, RefusesWhatCannotBeRecorded) {
    CommandList list;
    const BufferId small = list.add_buffer(64);
    const BufferId external = list.add_buffer(64, true);
    EXPECT_EQ(list.add(Fill{small, {0, 128}, 0}).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(list.add(Fill{small, {2, 6}, 0}).message(), HasSubstr("multiples of 4"));
    EXPECT_THAT(list.add(Fill{external, {0, 64}, 0}).message(), HasSubstr("external"));
    EXPECT_THAT(list.add(BufferCopy{small, external, 0, 0, 16}).message(), HasSubstr("external"));
    EXPECT_THAT(list.add(BufferCopy{small, small, 0, 8, 16}).message(),
                HasSubstr("overlaps itself"));
    EXPECT_FALSE(list.add(BufferCopy{small, BufferId(9), 0, 8, 16}).ok());
    const BufferUse outside = read_of(small, {32, 65});
    EXPECT_FALSE(list.add(Dispatch{}, std::span(&outside, 1)).ok());
    Dispatch empty;
    empty.groups[1] = 0;
    EXPECT_THAT(list.add(empty, {}).message(), HasSubstr("1 x 0 x 1 groups"));
    Dispatch lost;
    lost.parameters_offset = 0;
    EXPECT_THAT(list.add(lost, {}).message(), HasSubstr("parameters at 0"));
    EXPECT_THAT(list.commands(), IsEmpty());
}

}  // namespace
}  // namespace leat::vulkan
