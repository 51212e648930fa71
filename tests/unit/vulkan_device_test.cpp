#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "backends/vulkan/device/call_result.h"
#include "backends/vulkan/device/device_choice.h"
#include "backends/vulkan/device/tier.h"
#include "support/vulkan_machine.h"

namespace leat::vulkan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr VkQueueFlags kDrawsAndComputes =
    VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;

// A device of tier 0 of this kind.
DeviceInfo device_of(DeviceKind kind, const char* name) {
    DeviceInfo info;
    info.kind = kind;
    info.name = name;
    info.properties.apiVersion = VK_API_VERSION_1_3;
    info.properties.limits.maxPushConstantsSize = 128;
    info.properties11.subgroupSize = 8;
    info.features11.storageBuffer16BitAccess = VK_TRUE;
    info.features12.bufferDeviceAddress = VK_TRUE;
    info.features12.timelineSemaphore = VK_TRUE;
    info.features12.scalarBlockLayout = VK_TRUE;
    info.features12.storageBuffer8BitAccess = VK_TRUE;
    info.features12.hostQueryReset = VK_TRUE;
    info.features12.vulkanMemoryModel = VK_TRUE;
    info.features13.synchronization2 = VK_TRUE;
    info.features13.maintenance4 = VK_TRUE;
    info.features13.subgroupSizeControl = VK_TRUE;
    info.queue_families.push_back({kDrawsAndComputes, 1, 64, {}});
    return info;
}

DeviceInfo device_of_tier1() {
    DeviceInfo info = device_of(DeviceKind::kDiscrete, "tensor");
    info.features12.shaderFloat16 = VK_TRUE;
    info.features12.shaderInt8 = VK_TRUE;
    info.properties13.integerDotProduct4x8BitPackedSignedAccelerated = VK_TRUE;
    info.properties11.subgroupSize = 32;
    info.properties11.subgroupSupportedOperations = VK_SUBGROUP_FEATURE_CLUSTERED_BIT;
    info.properties.limits.maxPushConstantsSize = 256;
    return info;
}

TEST(VulkanLoader, AbsenceIsAReasonInOneLine) {
    const auto loader = Loader::open("libno-such-vulkan.so.1");
    ASSERT_FALSE(loader.ok());
    EXPECT_EQ(loader.error().code(), StatusCode::kNotFound);
    EXPECT_THAT(loader.error().message(), HasSubstr("libno-such-vulkan.so.1"));
    EXPECT_THAT(loader.error().message(), Not(HasSubstr("\n")));
}

TEST(VulkanLoader, AnotherLibraryIsNoLoader) {
    const auto loader = Loader::open("libm.so.6");
    ASSERT_FALSE(loader.ok());
    EXPECT_EQ(loader.error().code(), StatusCode::kVersionMismatch);
    EXPECT_THAT(loader.error().message(), HasSubstr("vkGetInstanceProcAddr"));
}

TEST(VulkanTier, NamesWhatIsMissing) {
    DeviceInfo old = device_of(DeviceKind::kDiscrete, "old");
    old.properties.apiVersion = VK_API_VERSION_1_2;
    EXPECT_EQ(tier_of(old).level, kNoTier);
    EXPECT_EQ(tier_of(old).missing, "Vulkan 1.3 (it has 1.2.0)");

    DeviceInfo poor = device_of(DeviceKind::kDiscrete, "poor");
    poor.features12.bufferDeviceAddress = VK_FALSE;
    poor.features13.maintenance4 = VK_FALSE;
    EXPECT_EQ(tier_of(poor).level, kNoTier);
    EXPECT_EQ(tier_of(poor).missing, "bufferDeviceAddress, maintenance4");

    DeviceInfo mute = device_of(DeviceKind::kDiscrete, "mute");
    mute.queue_families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
    EXPECT_EQ(tier_of(mute).missing, "a queue that computes");
}

TEST(VulkanTier, RisesWithFeatures) {
    EXPECT_EQ(tier_of(device_of(DeviceKind::kCpu, "cpu")).level, 0);
    DeviceInfo info = device_of_tier1();
    EXPECT_EQ(tier_of(info).level, 1);
    EXPECT_THAT(tier_of(info).missing, HasSubstr(kCooperativeMatrixExtension));
    info.cooperative_matrix.cooperative_matrix = VK_TRUE;
    info.cooperative_matrix_shapes.resize(1);
    EXPECT_EQ(tier_of(info).level, 2);
    EXPECT_THAT(tier_of(info).missing, IsEmpty());
}

TEST(VulkanDeviceChoice, TakesTheFirstGpuAndNeverACpu) {
    const std::vector<DeviceInfo> both = {device_of(DeviceKind::kDiscrete, "card"),
                                          device_of(DeviceKind::kIntegrated, "chip"),
                                          device_of(DeviceKind::kCpu, "soft")};
    const std::vector<DefaultUse> uses = default_use(both);
    EXPECT_TRUE(uses[0].is_used);
    EXPECT_FALSE(uses[1].is_used);
    EXPECT_FALSE(uses[2].is_used);
    EXPECT_THAT(uses[2].reason, HasSubstr("only when named"));
}

TEST(VulkanDeviceChoice, SkipsWhatIsOfNoTier) {
    std::vector<DeviceInfo> both = {device_of(DeviceKind::kDiscrete, "old"),
                                    device_of(DeviceKind::kIntegrated, "chip")};
    both[0].features13.synchronization2 = VK_FALSE;
    EXPECT_EQ(default_use(both)[0].reason, "lacks synchronization2");
    EXPECT_TRUE(default_use(both)[1].is_used);
}

TEST(VulkanQueues, PreferComputeWithoutGraphicsAndFindCopyEngines) {
    DeviceInfo info = device_of(DeviceKind::kDiscrete, "card");
    EXPECT_EQ(choose_queue_families(info).compute, 0U);
    EXPECT_FALSE(choose_queue_families(info).transfer.has_value());
    info.queue_families.push_back({VK_QUEUE_TRANSFER_BIT, 2, 64, {}});
    info.queue_families.push_back({VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 8, 64, {}});
    EXPECT_EQ(choose_queue_families(info).compute, 2U);
    EXPECT_EQ(choose_queue_families(info).transfer, 1U);
}

TEST(VulkanDevice, StartsAndReportsItself) {
    LEAT_DEVICE_OR_SKIP(device);
    EXPECT_NE(device->handle(), nullptr);
    EXPECT_FALSE(device->info().name.empty());
    EXPECT_GT(device->info().memory.memoryTypeCount, 0U);
    EXPECT_TRUE(device->lost().ok());
    EXPECT_TRUE(
        device->checked(device->calls().DeviceWaitIdle(device->handle()), "DeviceWaitIdle").ok());
}

TEST(VulkanDevice, RemembersThatItWasLost) {
    LEAT_DEVICE_OR_SKIP(device);
    EXPECT_EQ(device->checked(VK_ERROR_OUT_OF_DEVICE_MEMORY, "AllocateMemory").code(),
              StatusCode::kOutOfMemory);
    EXPECT_TRUE(device->lost().ok());
    const Status lost = device->checked(VK_ERROR_DEVICE_LOST, "QueueSubmit2");
    EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
    EXPECT_THAT(lost.message(), HasSubstr("vkQueueSubmit2 gave VK_ERROR_DEVICE_LOST"));
    EXPECT_EQ(device->lost().code(), StatusCode::kDeviceLost);
}

TEST(VulkanDevice, RefusesADeviceOfNoTier) {
    LEAT_DEVICE_OR_SKIP(device);
    DeviceInfo poor = device->info();
    poor.features12.timelineSemaphore = VK_FALSE;
    EXPECT_EQ(Device::create(nullptr, poor).error().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace leat::vulkan
