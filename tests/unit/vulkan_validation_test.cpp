// Proofs that the validation layer is awake where the other tests trust its silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "backends/vulkan/record/barrier_plan.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

VulkanApiOptions validated(MessageLog& log) {
    VulkanApiOptions options;
    options.is_validated = true;
    options.on_message = log.sink();
    return options;
}

// Two copies, the second of what the first wrote; the barrier between them as the plan has it, or
// taken away.
void copy_twice(VulkanRig& rig, bool has_barrier) {
    CommandList list;
    std::vector<BufferPlace> places;
    const auto arena = Arena::allocate(rig.device(), 3072);
    for (int64_t i = 0; i < 3; ++i) {
        list.add_buffer(1024);
        places.push_back(*place_in(*arena, {i * 1024, (i + 1) * 1024}));
    }
    ASSERT_TRUE(list.add(BufferCopy{BufferId(0), BufferId(1), 0, 0, 1024}).ok());
    ASSERT_TRUE(list.add(BufferCopy{BufferId(1), BufferId(2), 0, 0, 1024}).ok());
    BarrierPlan plan = plan_barriers(list);
    ASSERT_EQ(plan.steps.size(), 5U);
    if (!has_barrier) {
        plan.steps.erase(plan.steps.begin() + 2);
    }
    const auto recording = Recording::record(rig.queue(), list, plan, {nullptr, places, {}});
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(rig.run(**recording).ok());
}

TEST(VulkanValidation, SynchronizationIsChecked) {
    MessageLog log;
    VulkanApiOptions options = validated(log);
    options.checks_synchronization = true;
    LEAT_RIG_OR_SKIP(rig, options);
    copy_twice(rig, true);
    EXPECT_THAT(log.messages(), IsEmpty());
    copy_twice(rig, false);
    // As layers before and after 1.4 put it.
    EXPECT_THAT(log.messages(), Contains(AnyOf(HasSubstr("SYNC-HAZARD-READ-AFTER-WRITE"),
                                               HasSubstr("READ_AFTER_WRITE hazard"))));
}

// Where a kernel stores to: in its buffer, behind its end, in no memory at all.
enum class Target { kInside, kBehind, kNowhere };

// With submit2 and timelines the layer's waits take ten seconds, so this runs with fences.
class VulkanAddresses : public ::testing::TestWithParam<Target> {};

TEST_P(VulkanAddresses, AreChecked) {
    if (!layer_tells_of_strays()) {
        GTEST_SKIP() << "this layer does not tell of every stray";
    }
    MessageLog log;
    VulkanApiOptions options = validated(log);
    options.checks_on_device = true;
    LEAT_RIG_OR_SKIP(rig, options, OpenOptions{true});
    // Before the recording: the layer knows what there was then.
    const auto target = Arena::allocate(rig.device(), 4096);
    const BufferId in = rig.add_buffer(4096);
    const BufferId out = rig.add_external(4096);
    Dispatch dispatch;
    dispatch.pipeline = rig.add_pipeline("elementwise_unary", {64, 0});
    dispatch.operands[0] = {in, 0};
    dispatch.operands[1] = {out, 0};
    dispatch.operand_count = 2;
    dispatch.scalars[0] = 1024;
    const BufferUse uses[] = {{in, {0, 4096}, false}, {out, {0, 4096}, true}};
    ASSERT_TRUE(rig.list().add(dispatch, uses).ok());
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok());
    const uint64_t begin = *target->address({0, 4096});
    const uint64_t address = GetParam() == Target::kInside   ? begin
                             : GetParam() == Target::kBehind ? begin + 4096
                                                             : uint64_t{1} << 40;
    ASSERT_TRUE((*recording)->bind(out, address).ok());
    ASSERT_TRUE(rig.run(**recording).ok());
    const auto is_told = Contains(HasSubstr("ut of bounds"));  // with an O or an o
    if (GetParam() == Target::kInside) {
        EXPECT_THAT(log.messages(), Not(is_told));
    } else {
        EXPECT_THAT(log.messages(), is_told);
    }
}

INSTANTIATE_TEST_SUITE_P(Stores,
                         VulkanAddresses,
                         ::testing::Values(Target::kInside, Target::kBehind, Target::kNowhere));

}  // namespace
}  // namespace leat::vulkan
