#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "backends/vulkan/device/queue.h"
#include "backends/vulkan/device/waiter.h"
#include "backends/vulkan/record/command_pool.h"
#include "support/process_cpu.h"
#include "support/vulkan_machine.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

VKAPI_ATTR VkResult VKAPI_CALL lose_submit2(VkQueue /*queue*/,
                                            uint32_t /*count*/,
                                            const VkSubmitInfo2* /*infos*/,
                                            VkFence /*fence*/) {
    return VK_ERROR_DEVICE_LOST;
}
VKAPI_ATTR VkResult VKAPI_CALL lose_wait(VkDevice /*device*/,
                                         const VkSemaphoreWaitInfo* /*info*/,
                                         uint64_t /*timeout*/) {
    return VK_ERROR_DEVICE_LOST;
}

const Device* device_to_lose = nullptr;
std::vector<bool> was_lost_when_idle;
VKAPI_ATTR VkResult VKAPI_CALL note_wait_idle(VkDevice /*device*/) {
    was_lost_when_idle.push_back(!device_to_lose->lost().ok());
    return VK_SUCCESS;
}

TEST(VulkanQueue, CountsSubmitsAsPoints) {
    for (const bool uses_fences : {false, true}) {
        LEAT_DEVICE_OR_SKIP(device, {}, OpenOptions{uses_fences});
        const auto queue = Queue::create(device, device->families().compute);
        ASSERT_TRUE(queue.ok()) << queue.error().message();
        EXPECT_EQ(*(*queue)->reached(), 0U);
        for (uint64_t i = 1; i <= 5; ++i) {
            EXPECT_EQ(*(*queue)->submit({}), i);
        }
        EXPECT_TRUE(*(*queue)->wait(5, kForever));
        EXPECT_EQ(*(*queue)->reached(), 5U);
        EXPECT_FALSE(*(*queue)->wait(6, 1'000'000));
    }
}

TEST(VulkanQueue, RefusesToWaitForWhatWasNotSubmitted) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto queue = Queue::create(device, device->families().compute);
    ASSERT_TRUE((*queue)->submit({}).ok());
    const Queue::Wait submitted{queue->get(), 1};
    EXPECT_EQ(*(*queue)->submit({}, std::span(&submitted, 1)), 2U);
    const Queue::Wait future{queue->get(), 3};
    EXPECT_EQ((*queue)->submit({}, std::span(&future, 1)).error().code(),
              StatusCode::kInvalidArgument);
    EXPECT_EQ((*queue)->submitted(), 2U);
}

TEST(VulkanQueue, TakesSubmitsOfSeveralThreads) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto queue = Queue::create(device, device->families().compute);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 50; ++k) {
                EXPECT_TRUE((*queue)->submit({}).ok());
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_TRUE(*(*queue)->wait(200, kForever));
    EXPECT_EQ(*(*queue)->reached(), 200U);
}

TEST(VulkanQueue, SaysThatTheDeviceWasLost) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto queue = Queue::create(device, device->families().compute);
    device->replaceable_calls().QueueSubmit2 = lose_submit2;
    EXPECT_EQ((*queue)->submit({}).error().code(), StatusCode::kDeviceLost);
    EXPECT_EQ((*queue)->submitted(), 0U);
    EXPECT_EQ((*queue)->submit({}).error().code(), StatusCode::kDeviceLost);
    EXPECT_EQ((*queue)->reached().error().code(), StatusCode::kDeviceLost);
    EXPECT_EQ((*queue)->wait(1, kForever).error().code(), StatusCode::kDeviceLost);
}

// Else a device that works on reads what its users free when they hear of the loss.
TEST(VulkanQueue, APlannedLossWaitsForWhatWasSubmitted) {
    for (const bool uses_fences : {false, true}) {
        LEAT_DEVICE_OR_SKIP(device, {}, OpenOptions{uses_fences});
        const auto queue = Queue::create(device, device->families().compute);
        ASSERT_TRUE((*queue)->submit({}).ok());
        ASSERT_TRUE(*(*queue)->wait(1, kForever));
        device_to_lose = device.get();
        was_lost_when_idle.clear();
        device->replaceable_calls().DeviceWaitIdle = note_wait_idle;
        EXPECT_EQ(device->lose().code(), StatusCode::kDeviceLost);
        EXPECT_THAT(was_lost_when_idle, testing::ElementsAre(false));
        EXPECT_EQ((*queue)->submit({}).error().code(), StatusCode::kDeviceLost);
        EXPECT_EQ((*queue)->submitted(), 1U);
        // Before the driver sees the buffer.
        EXPECT_EQ(device->bind_sparse(nullptr, {}).code(), StatusCode::kDeviceLost);
    }
}

TEST(VulkanWaiter, CallsBackWhenAPointIsReached) {
    for (const bool uses_fences : {false, true}) {
        LEAT_DEVICE_OR_SKIP(device, {}, OpenOptions{uses_fences});
        const auto queue = Queue::create(device, device->families().compute);
        Waiter waiter;
        for (int i = 0; i < 20; ++i) {
            const uint64_t point = *(*queue)->submit({});
            std::promise<bool> called;
            waiter.on_reached(*queue, point,
                              [&](const Status& status) { called.set_value(status.ok()); });
            EXPECT_TRUE(called.get_future().get());
            EXPECT_GE(*(*queue)->reached(), point);
        }
    }
}

TEST(VulkanWaiter, ServesTwoQueuesOfOneFamily) {
    LEAT_DEVICE_OR_SKIP(device);
    // Two timelines on one VkQueue: each orders its own submits.
    const auto first = Queue::create(device, device->families().compute);
    const auto second = Queue::create(device, device->families().compute);
    Waiter waiter;
    std::promise<void> late;
    std::promise<void> early;
    // The first queue's point comes after the second's, though it is asked for before.
    waiter.on_reached(*first, 1, [&](const Status&) { late.set_value(); });
    waiter.on_reached(*second, *(*second)->submit({}), [&](const Status&) { early.set_value(); });
    early.get_future().get();
    EXPECT_EQ(waiter.outstanding() > 0, true);
    ASSERT_TRUE((*first)->submit({}).ok());
    late.get_future().get();
}

TEST(VulkanWaiter, PassesTheLossOfTheDeviceToEverybody) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto queue = Queue::create(device, device->families().compute);
    device->replaceable_calls().WaitSemaphores = lose_wait;
    std::atomic<int> lost{0};
    {
        Waiter waiter;
        for (uint64_t point = 1; point <= 3; ++point) {
            // Never submitted, so only the loss ends the wait.
            waiter.on_reached(*queue, point, [&](const Status& status) {
                lost += status.code() == StatusCode::kDeviceLost ? 1 : 0;
            });
        }
    }
    EXPECT_EQ(lost.load(), 3);
}

TEST(VulkanWaiter, TakesNoCpuWhileIdleOrWaiting) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto queue = Queue::create(device, device->families().compute);
    Waiter waiter;
    int64_t begin_ns = process_cpu_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LT(process_cpu_ns() - begin_ns, 20'000'000);
    std::promise<void> called;
    waiter.on_reached(*queue, 1, [&](const Status&) { called.set_value(); });
    begin_ns = process_cpu_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LT(process_cpu_ns() - begin_ns, 20'000'000);
    ASSERT_TRUE((*queue)->submit({}).ok());
    called.get_future().get();
}

}  // namespace
}  // namespace leat::vulkan
