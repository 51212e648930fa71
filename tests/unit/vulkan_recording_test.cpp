// Recordings: what is replayed, what may change between runs, and what fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "backends/vulkan/device/waiter.h"
#include "backends/vulkan/record/list_writer.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kCount = 1024;
constexpr int64_t kBytes = kCount * 4;
constexpr uint32_t kOperationAdd = 0;
constexpr uint32_t kBitsOfOne = 0x3f80'0000U;  // 1.0f

// y = a + b over whole buffers.
Dispatch add_of(PipelineId pipeline, BufferId a, BufferId b, BufferId y) {
    Dispatch dispatch;
    dispatch.pipeline = pipeline;
    dispatch.groups = {4, 1, 1};
    dispatch.operands[0] = {a, 0};
    dispatch.operands[1] = {b, 0};
    dispatch.operands[2] = {y, 0};
    dispatch.operand_count = 3;
    dispatch.scalars[0] = uint32_t(kCount);
    return dispatch;
}

Status append_add(VulkanRig& rig, PipelineId pipeline, BufferId a, BufferId b, BufferId y) {
    const BufferId buffers[] = {a, b, y};
    const int64_t sizes[] = {kBytes, kBytes, kBytes};
    return rig.list().add(add_of(pipeline, a, b, y), whole_uses(buffers, sizes), 10);
}

//  fill 1 -> one;  x = in + one;  x += one (ten times);  copy x -> out
void build_chain(VulkanRig& rig, BufferId in, BufferId out) {
    const PipelineId add = rig.add_pipeline("elementwise_binary", {64, kOperationAdd});
    const BufferId one = rig.add_buffer(kBytes);
    const BufferId x = rig.add_buffer(kBytes);
    ASSERT_TRUE(rig.list().add(Fill{one, {0, kBytes}, kBitsOfOne}, 10).ok());
    ASSERT_TRUE(append_add(rig, add, in, one, x).ok());
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(append_add(rig, add, x, one, x).ok());
    }
    ASSERT_TRUE(rig.list().add(BufferCopy{x, out, 0, 0, kBytes}, 10).ok());
}

TEST(VulkanRecording, RunsAgainAndAgainOverNewInputs) {
    for (const bool uses_fences : {false, true}) {
        LEAT_RIG_OR_SKIP(rig, {}, OpenOptions{uses_fences});
        const BufferId in = rig.add_buffer(kBytes);
        const BufferId out = rig.add_buffer(kBytes);
        build_chain(rig, in, out);
        const auto recording = rig.record();
        ASSERT_TRUE(recording.ok()) << recording.error().message();
        EXPECT_EQ((*recording)->submit_count(), 1U);
        for (int run = 0; run < 3; ++run) {
            rig.write(in, std::vector<float>(kCount, float(run)));
            ASSERT_TRUE(rig.run(**recording).ok());
            EXPECT_THAT(rig.read<float>(out, kCount), Each(float(run + 11)));
        }
    }
}

// Buffers of a fill, kernels and a copy each lie in two allocations.
TEST(VulkanRecording, RunsOverSeveralAllocations) {
    LEAT_DEVICE_OR_SKIP(device);
    for (const Joining way : {Joining::kImported, Joining::kSparse}) {
        constexpr int64_t kAllocationBytes = int64_t{1} << 20;
        ArenaOptions memory;
        memory.allocation_bytes = kAllocationBytes;
        memory.joining = way;
        const auto made = VulkanRig::make_on(device, memory);
        if (!made.ok()) {
            EXPECT_EQ(made.error().code(), StatusCode::kUnsupported) << made.error().message();
            continue;
        }
        VulkanRig& rig = **made;
        // Half of what follows lies before the end of an allocation.
        (void)rig.add_buffer(kAllocationBytes - kBytes / 2);
        const BufferId in = rig.add_buffer(kBytes);
        (void)rig.add_buffer(kAllocationBytes - kBytes);
        const BufferId ones = rig.add_buffer(kBytes);
        (void)rig.add_buffer(kAllocationBytes - kBytes);
        const BufferId sum = rig.add_buffer(kBytes);
        (void)rig.add_buffer(kAllocationBytes - kBytes - 512);
        const BufferId out = rig.add_buffer(kBytes);
        const PipelineId add = rig.add_pipeline("elementwise_binary", {64, kOperationAdd});
        ASSERT_TRUE(rig.list().add(Fill{ones, {0, kBytes}, kBitsOfOne}).ok());
        ASSERT_TRUE(append_add(rig, add, in, ones, sum).ok());
        ASSERT_TRUE(rig.list().add(BufferCopy{sum, out, 0, 0, kBytes}).ok());
        const auto recording = rig.record();
        ASSERT_TRUE(recording.ok()) << recording.error().message();
        std::vector<float> numbers(kCount);
        std::iota(numbers.begin(), numbers.end(), 0.0F);
        rig.write(in, numbers);
        ASSERT_TRUE(rig.run(**recording).ok());
        for (float& number : numbers) {
            number += 1;
        }
        EXPECT_EQ(rig.read<float>(out, kCount), numbers);
    }
}

TEST(VulkanRecording, FindsExternalTensorsThroughTheTable) {
    LEAT_RIG_OR_SKIP(rig);
    const BufferId first = rig.add_buffer(kBytes);
    const BufferId second = rig.add_buffer(kBytes);
    const BufferId out = rig.add_buffer(kBytes);
    const BufferId in = rig.add_external(kBytes);
    build_chain(rig, in, out);
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok());
    const Status unbound = (*recording)->replay().error();
    EXPECT_EQ(unbound.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(unbound.message(), HasSubstr("external buffer 3 is not bound"));
    rig.write(first, std::vector<float>(kCount, 100.0F));
    rig.write(second, std::vector<float>(kCount, 200.0F));
    ASSERT_TRUE((*recording)->bind(in, rig.address(first)).ok());
    ASSERT_TRUE(rig.run(**recording).ok());
    EXPECT_THAT(rig.read<float>(out, kCount), Each(111.0F));
    ASSERT_TRUE((*recording)->bind(in, rig.address(second)).ok());
    ASSERT_TRUE(rig.run(**recording).ok());
    EXPECT_THAT(rig.read<float>(out, kCount), Each(211.0F));
    EXPECT_EQ((*recording)->bind(out, 64).code(), StatusCode::kInvalidArgument);
}

// 1003 bytes of input from byte 4 on to byte 8 of output, 12 bytes of ones behind them: one address
// is recorded for neither.
TEST(VulkanRecording, CopiesAndFillsExternalTensorsByKernels) {
    LEAT_RIG_OR_SKIP(rig);
    constexpr int64_t kCopied = 1003;
    const BufferId sources[] = {rig.add_buffer(kBytes), rig.add_buffer(kBytes)};
    const BufferId target = rig.add_buffer(kBytes);
    const BufferId in = rig.add_external(kBytes);
    const BufferId out = rig.add_external(kBytes);
    const PlacedOperand input{in, 0, kBytes};
    const PlacedOperand output{out, 0, kBytes};
    ListWriter writer(rig.list(), kernel_limits(rig.device()->info()));
    writer.begin_node(std::span(&input, 1), std::span(&output, 1));
    ASSERT_TRUE(writer.copy(input_ref(0, 4), output_ref(0, 8), kCopied).ok());
    ASSERT_TRUE(writer.copy(input_ref(0), output_ref(0), 0).ok());
    ASSERT_TRUE(writer.copy(output_ref(0), output_ref(0), kBytes).ok());
    ASSERT_TRUE(writer.fill(output_ref(0, 1024), 12, 0x0101'0101U).ok());
    EXPECT_EQ(writer.fill(output_ref(0, 1022), 12, 0).code(), StatusCode::kInvalidArgument);
    for (const ShaderUse& shader : writer.shaders()) {
        rig.add_pipeline(shader);
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    for (const BufferId source : sources) {
        std::vector<uint8_t> bytes(kBytes);
        for (size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = uint8_t(i * 7 + size_t(source) * 100);
        }
        rig.write(source, bytes);
        std::vector<uint8_t> wanted(kBytes, 0xEE);
        rig.write(target, wanted);
        std::copy_n(bytes.begin() + 4, kCopied, wanted.begin() + 8);
        std::fill_n(wanted.begin() + 1024, 12, uint8_t{1});
        ASSERT_TRUE((*recording)->bind(in, rig.address(source)).ok());
        ASSERT_TRUE((*recording)->bind(out, rig.address(target)).ok());
        ASSERT_TRUE(rig.run(**recording).ok());
        EXPECT_EQ(rig.read<uint8_t>(target, kBytes), wanted);
    }
}

TEST(VulkanRecording, ReadsParametersThatChangeBetweenRuns) {
    LEAT_RIG_OR_SKIP(rig);
    const BufferId in = rig.add_buffer(kBytes);
    const BufferId out = rig.add_buffer(kBytes);
    std::vector<float> values(kCount);
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = float(i);
    }
    rig.write(in, values);
    std::vector<int32_t> shape(24, 0);
    shape[0] = 16;
    shape[8] = 3;  // the stride
    shape[16] = 1;
    Dispatch dispatch;
    dispatch.pipeline = rig.add_pipeline("strided_copy_32", {16});
    dispatch.parameters_offset = rig.list().add_parameters(std::as_bytes(std::span(shape)));
    dispatch.operands[0] = {in, 0};
    dispatch.operands[1] = {out, 0};
    dispatch.operand_count = 2;
    dispatch.scalars = {16, 1, 0, 0};
    const BufferUse uses[] = {{in, {0, kBytes}, false}, {out, {0, 64}, true}};
    ASSERT_TRUE(rig.list().add(dispatch, uses).ok());
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(rig.run(**recording).ok());
    EXPECT_EQ(rig.read<float>(out, 16)[15], float(15 * 3));
}

TEST(VulkanRecording, IsSplitByTheTimeBudget) {
    LEAT_RIG_OR_SKIP(rig);
    const BufferId in = rig.add_buffer(kBytes);
    const BufferId out = rig.add_buffer(kBytes);
    build_chain(rig, in, out);  // 13 commands of 10 ns
    const auto recording = rig.record({30});
    ASSERT_TRUE(recording.ok());
    EXPECT_EQ((*recording)->submit_count(), 5U);
    rig.write(in, std::vector<float>(kCount, 1.0F));
    const uint64_t before = rig.queue()->submitted();
    ASSERT_TRUE(rig.run(**recording).ok());
    EXPECT_EQ(rig.queue()->submitted() - before, 5U);
    EXPECT_THAT(rig.read<float>(out, kCount), Each(12.0F));
}

// A device that never gets anywhere, until the test lets it.
std::atomic<bool> is_stalled{false};
PFN_vkGetSemaphoreCounterValue real_counter = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL stall(VkDevice device, VkSemaphore semaphore, uint64_t* value) {
    if (is_stalled) {
        *value = 0;
        return VK_SUCCESS;
    }
    return real_counter(device, semaphore, value);
}

TEST(VulkanRecording, IsBusyWhileARunIsInFlight) {
    LEAT_RIG_OR_SKIP(rig);
    const BufferId in = rig.add_external(kBytes);
    const BufferId source = rig.add_buffer(kBytes);
    const BufferId out = rig.add_buffer(kBytes);
    build_chain(rig, in, out);
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE((*recording)->bind(in, rig.address(source)).ok());
    real_counter = rig.device()->calls().GetSemaphoreCounterValue;
    rig.device()->replaceable_calls().GetSemaphoreCounterValue = stall;
    is_stalled = true;
    const auto point = (*recording)->replay();
    ASSERT_TRUE(point.ok());
    EXPECT_EQ((*recording)->replay().error().code(), StatusCode::kBusy);
    EXPECT_EQ((*recording)->bind(in, 64).code(), StatusCode::kBusy);
    is_stalled = false;
    ASSERT_TRUE(*rig.queue()->wait(*point, std::numeric_limits<int64_t>::max()));
    EXPECT_TRUE(rig.run(**recording).ok());
}

VKAPI_ATTR VkResult VKAPI_CALL lose(VkQueue /*queue*/,
                                    uint32_t /*count*/,
                                    const VkSubmitInfo2* /*infos*/,
                                    VkFence /*fence*/) {
    return VK_ERROR_DEVICE_LOST;
}

TEST(VulkanRecording, SaysThatTheDeviceWasLost) {
    LEAT_RIG_OR_SKIP(rig);
    const BufferId in = rig.add_buffer(kBytes);
    const BufferId out = rig.add_buffer(kBytes);
    build_chain(rig, in, out);
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(rig.run(**recording).ok());
    rig.device()->replaceable_calls().QueueSubmit2 = lose;
    EXPECT_EQ((*recording)->replay().error().code(), StatusCode::kDeviceLost);
    EXPECT_EQ((*recording)->replay().error().code(), StatusCode::kDeviceLost);
    EXPECT_EQ((*recording)->bind(in, 64).code(), StatusCode::kDeviceLost);
}

TEST(VulkanRecording, RefusesMoreWorkgroupsThanTheDeviceTakes) {
    LEAT_RIG_OR_SKIP(rig);
    const uint32_t limit = rig.device()->info().properties.limits.maxComputeWorkGroupCount[1];
    if (limit == std::numeric_limits<uint32_t>::max()) {
        GTEST_SKIP() << "this device takes any number of workgroups";
    }
    const BufferId x = rig.add_buffer(kBytes);
    Dispatch dispatch =
        add_of(rig.add_pipeline("elementwise_binary", {64, kOperationAdd}), x, x, x);
    dispatch.groups[1] = limit + 1;
    const BufferUse use{x, {0, kBytes}, true};
    ASSERT_TRUE(rig.list().add(dispatch, std::span(&use, 1)).ok());
    EXPECT_THAT(rig.record().error().message(), HasSubstr("workgroups along axis 1"));
}

// y = 2 x, where x is a texel buffer and y an address.
ShaderUse doubling_shader() {
    ShaderUse shader{"doubling", {}, R"(#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 64) in;
layout(push_constant, scalar) uniform PushBlock {
    uvec2 parameters;
    uvec2 operands[8];
} push;
layout(set = 0, binding = 0) uniform samplerBuffer x;
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Y { float at[]; };
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    if (i < textureSize(x)) {
        Y(push.operands[1]).at[i] = 2.0 * texelFetch(x, i).x;
    }
}
)"};
    shader.windows = 0b1;
    return shader;
}

// The second half of x to y.
Dispatch doubling_of(PipelineId pipeline, BufferId x, BufferId y) {
    Dispatch dispatch;
    dispatch.pipeline = pipeline;
    dispatch.groups = {uint32_t(kCount / 64), 1, 1};
    dispatch.operands[0] = {x, kBytes / 2, kBytes / 2};
    dispatch.operands[1] = {y, 0};
    dispatch.operand_count = 2;
    dispatch.windows = 0b1;
    return dispatch;
}

bool has_windows(const VulkanRig& rig) {
    return kernel_limits(rig.device()->info()).max_window_texels > 0;
}

TEST(VulkanRecording, BindsWindowsOfBuffers) {
    LEAT_RIG_OR_SKIP(rig);
    if (!has_windows(rig)) {
        GTEST_SKIP() << "this device has no push descriptors";
    }
    const BufferId x = rig.add_buffer(kBytes);
    const BufferId y = rig.add_buffer(kBytes);
    const BufferUse uses[] = {{x, {kBytes / 2, kBytes}, false}, {y, {0, kBytes}, true}};
    ASSERT_TRUE(rig.list().add(doubling_of(rig.add_pipeline(doubling_shader()), x, y), uses).ok());
    std::vector<float> values(size_t(kCount), 1.0F);
    std::fill(values.begin() + kCount / 2, values.end(), 3.0F);
    rig.write(x, values);
    rig.write(y, std::vector<float>(size_t(kCount), -1.0F));
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());
    const std::vector<float> found = rig.read<float>(y, size_t(kCount));
    EXPECT_THAT(std::span(found).first(size_t(kCount / 2)), Each(6.0F));
    EXPECT_THAT(std::span(found).last(size_t(kCount / 2)), Each(-1.0F)) << "beyond the window";
}

TEST(VulkanRecording, ShowsMoreInWindowsThatWouldBeOfAnotherKind) {
    constexpr int64_t kMuch = int64_t{1} << 30;
    EXPECT_EQ(window_bytes(0x1'1000, 16, kMuch), 0x1'1000);
    EXPECT_EQ(window_bytes(0x1'0000, 16, kMuch), 0x1'0100);
    EXPECT_EQ(window_bytes(0xfffc, 16, kMuch), 0x1'0100) << "whole texels first";
    EXPECT_EQ(window_bytes(0x1'0000, 4, 0x1'00ff), 0x1'0000) << "nothing behind the buffer";
    EXPECT_EQ(window_bytes(0x1'0000, 4, 0x1'0100), 0x1'0100);
}

TEST(VulkanRecording, RefusesWindowsThatItCannotBind) {
    LEAT_RIG_OR_SKIP(rig);
    if (!has_windows(rig)) {
        GTEST_SKIP() << "this device has no push descriptors";
    }
    const PipelineId pipeline = rig.add_pipeline(doubling_shader());
    const BufferId x = rig.add_buffer(kBytes);
    const BufferUse use{x, {0, kBytes}, true};
    const Dispatch external = doubling_of(pipeline, rig.add_external(kBytes), x);
    EXPECT_THAT(rig.list().add(external, std::span(&use, 1)).message(),
                HasSubstr("window of external buffer"));
    Dispatch unaligned = doubling_of(pipeline, x, x);
    unaligned.operands[0] = {x, 2, 64};
    ASSERT_TRUE(rig.list().add(unaligned, std::span(&use, 1)).ok());
    EXPECT_THAT(rig.record().error().message(), HasSubstr("a window of 64 bytes at byte"));
}

TEST(VulkanRecording, RunsOneAfterTheOtherWithoutTheHost) {
    LEAT_RIG_OR_SKIP(rig);
    const BufferId in = rig.add_buffer(kBytes);
    const BufferId out = rig.add_buffer(kBytes);
    build_chain(rig, in, out);
    const auto first = rig.record();
    const auto second = rig.record();
    ASSERT_TRUE(first.ok() && second.ok());
    rig.write(in, std::vector<float>(kCount, 5.0F));
    const uint64_t point = *(*first)->replay();
    const Queue::Wait wait{rig.queue().get(), point};
    const auto end = (*second)->replay(std::span(&wait, 1));
    ASSERT_TRUE(end.ok());
    Waiter waiter;
    std::promise<bool> done;
    waiter.on_reached(rig.queue(), *end,
                      [&](const Status& status) { done.set_value(status.ok()); });
    EXPECT_TRUE(done.get_future().get());
    EXPECT_THAT(rig.read<float>(out, kCount), Each(16.0F));
}

// Random additions over few slots of one arena, so that their levels matter, against the host.
TEST(VulkanRecording, GivesTheHostsResultsOnRandomGraphs) {
    LEAT_RIG_OR_SKIP(rig);
    const PipelineId add = rig.add_pipeline("elementwise_binary", {64, kOperationAdd});
    constexpr size_t kSlots = 6;
    std::mt19937 random(7);
    std::vector<BufferId> slots;
    std::vector<int64_t> values;
    for (size_t i = 0; i < kSlots; ++i) {
        slots.push_back(rig.add_buffer(kBytes));
        values.push_back(int64_t(i));
    }
    const auto pick = [&] { return std::uniform_int_distribution<size_t>(0, kSlots - 1)(random); };
    std::vector<int64_t> wanted = values;
    for (int i = 0; i < 200; ++i) {
        const size_t a = pick();
        const size_t y = pick();
        if (a != y && i % 4 == 0) {
            ASSERT_TRUE(rig.list().add(BufferCopy{slots[a], slots[y], 0, 0, kBytes}).ok());
            wanted[y] = wanted[a];
            continue;
        }
        const size_t b = pick();
        ASSERT_TRUE(append_add(rig, add, slots[a], slots[b], slots[y]).ok());
        // Kept exact in a float.
        wanted[y] = wanted[a] + wanted[b];
        if (wanted[y] > 1000) {
            ASSERT_TRUE(rig.list().add(Fill{slots[y], {0, kBytes}, kBitsOfOne}).ok());
            wanted[y] = 1;
        }
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok());
    for (int run = 0; run < 3; ++run) {
        for (size_t i = 0; i < kSlots; ++i) {
            rig.write(slots[i], std::vector<float>(kCount, float(values[i])));
        }
        ASSERT_TRUE(rig.run(**recording).ok());
        for (size_t i = 0; i < kSlots; ++i) {
            EXPECT_THAT(rig.read<float>(slots[i], kCount), Each(float(wanted[i])));
        }
    }
}

}  // namespace
}  // namespace leat::vulkan
