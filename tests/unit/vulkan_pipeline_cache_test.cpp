// What drivers keep of pipelines, and pipelines that are translated before their first use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/kernel/pipeline_warmer.h"
#include "support/scratch_folder.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A driver that keeps whatever it was given, and "new pipelines" after the first pipeline.
struct KeepingDriver {
    std::string given;
    std::string has;
    bool refuses = false;
};
KeepingDriver keeping_driver;

const std::string kNewBytes(100, 'n');

PFN_vkCreatePipelineCache create_cache = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL keep_create(VkDevice device,
                                           const VkPipelineCacheCreateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkPipelineCache* cache) {
    keeping_driver.given.assign(static_cast<const char*>(info->pInitialData),
                                info->initialDataSize);
    if (keeping_driver.refuses && info->initialDataSize > 0) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    keeping_driver.has = keeping_driver.given;
    VkPipelineCacheCreateInfo empty = *info;
    empty.initialDataSize = 0;
    empty.pInitialData = nullptr;
    return create_cache(device, &empty, allocator, cache);
}
PFN_vkCreateComputePipelines create_pipelines = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL keep_pipeline(VkDevice device,
                                             VkPipelineCache cache,
                                             uint32_t count,
                                             const VkComputePipelineCreateInfo* infos,
                                             const VkAllocationCallbacks* allocator,
                                             VkPipeline* pipelines) {
    if (cache != nullptr) {
        keeping_driver.has = kNewBytes;
    }
    return create_pipelines(device, cache, count, infos, allocator, pipelines);
}
VKAPI_ATTR VkResult VKAPI_CALL keep_data(VkDevice /*device*/,
                                         VkPipelineCache /*cache*/,
                                         size_t* size_bytes,
                                         void* data) {
    if (data != nullptr) {
        std::memcpy(data, keeping_driver.has.data(), keeping_driver.has.size());
    }
    *size_bytes = keeping_driver.has.size();
    return VK_SUCCESS;
}

std::shared_ptr<Device> with_keeping_driver(const std::shared_ptr<Device>& device) {
    keeping_driver = {};
    DeviceCalls& calls = device->replaceable_calls();
    create_cache = calls.CreatePipelineCache;
    create_pipelines = calls.CreateComputePipelines;
    calls.CreatePipelineCache = keep_create;
    calls.CreateComputePipelines = keep_pipeline;
    calls.GetPipelineCacheData = keep_data;
    return device;
}

class VulkanPipelineCache : public ::testing::Test {
  protected:
    ScratchFolder folder_;
    std::vector<std::string> lines_;
    DiskCache disk_{folder_.path(), "leat 1",
                    [this](std::string_view line) { lines_.emplace_back(line); }};
};

const ShaderUse kUnary{"elementwise_unary", {64, 1}};

TEST_F(VulkanPipelineCache, DriversStartWithWhatTheyKept) {
    LEAT_DEVICE_OR_SKIP(machine);
    const auto device = with_keeping_driver(machine);
    {
        const auto maker = PipelineMaker::create(device, &disk_);
        ASSERT_TRUE(maker.ok()) << maker.error().message();
        EXPECT_THAT(keeping_driver.given, IsEmpty());
        (*maker)->save();
        EXPECT_EQ(file_count_in(folder_.path()), 0) << "there was nothing to keep";
        ASSERT_TRUE(make_kernel_pipeline(**maker, kUnary).ok());
        (*maker)->save();
    }
    ASSERT_TRUE(PipelineMaker::create(device, &disk_).ok());
    EXPECT_EQ(keeping_driver.given, kNewBytes);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(VulkanPipelineCache, WhatADriverRefusesIsReplaced) {
    LEAT_DEVICE_OR_SKIP(machine);
    const auto device = with_keeping_driver(machine);
    disk_.store("pipelines", driver_cache_key(device->info()), "bytes of no driver");
    keeping_driver.refuses = true;
    const auto maker = PipelineMaker::create(device, &disk_);
    ASSERT_TRUE(maker.ok()) << maker.error().message();
    ASSERT_THAT(lines_, SizeIs(1));
    EXPECT_THAT(lines_[0], HasSubstr("CreatePipelineCache"));
    ASSERT_TRUE(make_kernel_pipeline(**maker, kUnary).ok());
    (*maker)->save();
    EXPECT_EQ(disk_.load("pipelines", driver_cache_key(device->info())), kNewBytes);
}

TEST(VulkanDriverCacheKey, NamesDeviceAndDriver) {
    DeviceInfo info;
    info.name = "card";
    const std::string key = driver_cache_key(info);
    for (void (*change)(DeviceInfo&) :
         {+[](DeviceInfo& other) { other.properties.vendorID = 1; },
          +[](DeviceInfo& other) { other.properties.deviceID = 1; },
          +[](DeviceInfo& other) { other.properties.driverVersion = 1; },
          +[](DeviceInfo& other) { other.properties.pipelineCacheUUID[15] = 1; },
          +[](DeviceInfo& other) { other.driver = "another build"; }}) {
        DeviceInfo other = info;
        change(other);
        EXPECT_NE(driver_cache_key(other), key);
    }
}

std::vector<uint32_t> dispatched_groups;
PFN_vkCmdDispatch dispatch = nullptr;
VKAPI_ATTR void VKAPI_CALL note_dispatch(VkCommandBuffer commands,
                                         uint32_t x,
                                         uint32_t y,
                                         uint32_t z) {
    dispatched_groups.push_back(x * y * z);
    dispatch(commands, x, y, z);
}

// The addresses are null, so a single invocation would end the process on Mesa's device.
TEST(VulkanPipelineWarmer, DispatchesEachPipelineWithoutWorkgroups) {
    for (const bool uses_fences : {false, true}) {
        LEAT_DEVICE_OR_SKIP(device, {}, OpenOptions{uses_fences});
        dispatch = device->replaceable_calls().CmdDispatch;
        device->replaceable_calls().CmdDispatch = note_dispatch;
        dispatched_groups.clear();
        const auto queue = *Queue::create(device, device->families().compute);
        const auto maker = *PipelineMaker::create(device);
        const OwnedPipeline first = *make_kernel_pipeline(*maker, kUnary);
        const OwnedPipeline second = *make_kernel_pipeline(*maker, {"fill_words", {64}});
        PipelineWarmer warmer(queue, maker->layout());
        EXPECT_TRUE(warmer.wait().ok()) << "nothing was begun";
        const BoundPipeline pipelines[] = {{first.get(), maker->layout()},
                                           {second.get(), maker->layout()}};
        const Status status = warmer.begin(pipelines);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(warmer.wait().ok());
        EXPECT_THAT(dispatched_groups, ElementsAre(0, 0));
        EXPECT_EQ(*queue->reached(), queue->submitted());
    }
}

VKAPI_ATTR VkResult VKAPI_CALL lose_submit2(VkQueue /*queue*/,
                                            uint32_t /*count*/,
                                            const VkSubmitInfo2* /*infos*/,
                                            VkFence /*fence*/) {
    return VK_ERROR_DEVICE_LOST;
}

TEST(VulkanPipelineWarmer, SaysThatTheDeviceIsLost) {
    LEAT_DEVICE_OR_SKIP(device);
    device->replaceable_calls().QueueSubmit2 = lose_submit2;
    const auto queue = *Queue::create(device, device->families().compute);
    const auto maker = *PipelineMaker::create(device);
    const OwnedPipeline pipeline = *make_kernel_pipeline(*maker, kUnary);
    const BoundPipeline bound{pipeline.get(), maker->layout()};
    PipelineWarmer warmer(queue, maker->layout());
    EXPECT_EQ(warmer.begin({&bound, 1}).code(), StatusCode::kDeviceLost);
    EXPECT_TRUE(warmer.wait().ok()) << "nothing is in flight";
}

}  // namespace
}  // namespace leat::vulkan
