// The kernels in `shaders` against the host's arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "backends/vulkan/kernel/kernel.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

std::vector<float> random_floats(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-4.0F, 4.0F);
    std::vector<float> values(count);
    for (float& value : values) {
        value = uniform(random);
    }
    return values;
}

constexpr int64_t kLoopLimit = 65535;  // of Mesa's software device, for an invocation

KernelLimits cpu_limits() {
    KernelLimits limits;
    limits.is_cpu = true;
    return limits;
}

TEST(GroupsFor, GiveNoInvocationOfACpuDeviceTooManyIterations) {
    for (const int64_t count : {int64_t{1}, int64_t{100'000}, (int64_t{1} << 31) - 1}) {
        for (const int64_t iterations : {int64_t{1}, int64_t{768}, int64_t{59'000}}) {
            const auto groups = groups_with_loops(count, 64, iterations, cpu_limits());
            // More than 65,535 workgroups there are not.
            const bool is_possible = count * iterations < 65535 * int64_t{64} * 59'000;
            ASSERT_EQ(groups.ok(), is_possible) << count << " elements of " << iterations;
            if (is_possible) {
                const int64_t invocations = int64_t{64} * (*groups)[0];
                EXPECT_LE((count + invocations - 1) / invocations * (iterations + 1), kLoopLimit);
            }
        }
    }
}

TEST(GroupsFor, RefuseElementsWithTooManyIterations) {
    const auto refused = groups_with_loops(1, 64, 70'000, cpu_limits());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
    EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("iterations on a CPU device"));
    EXPECT_TRUE(groups_with_loops(1, 64, 70'000, KernelLimits()).ok()) << "a GPU";
}

// A dispatch of these operands over whole buffers of 4-byte elements, the last one written.
void add_kernel(VulkanRig& rig,
                Dispatch dispatch,
                const std::vector<BufferId>& buffers,
                const std::vector<int64_t>& counts) {
    std::vector<int64_t> sizes_bytes;
    for (size_t i = 0; i < buffers.size(); ++i) {
        dispatch.operands[i] = {buffers[i], 0};
        sizes_bytes.push_back(counts[i] * kFloatBytes);
    }
    dispatch.operand_count = uint32_t(buffers.size());
    const Status status = rig.list().add(dispatch, whole_uses(buffers, sizes_bytes));
    ASSERT_TRUE(status.ok()) << status.message();
}

void run_list(VulkanRig& rig) {
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    const Status status = rig.run(**recording);
    ASSERT_TRUE(status.ok()) << status.message();
}

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(wanted[i])) {
            ASSERT_TRUE(std::isnan(found[i])) << "element " << i;
            continue;
        }
        ASSERT_NEAR(found[i], wanted[i], 1e-5 * std::max(1.0F, std::abs(wanted[i])))
            << "element " << i;
    }
}

TEST(VulkanKernels, AreAllThere) {
    EXPECT_THAT(shader_list(), ::testing::Not(::testing::IsEmpty()));
    for (const Shader& shader : shader_list()) {
        ASSERT_FALSE(shader.words.empty());
        EXPECT_EQ(shader.words[0], 0x07230203U) << shader.name;
    }
    EXPECT_EQ(find_shader("no_such").error().code(), StatusCode::kNotFound);
}

TEST(VulkanKernels, UnaryOperations) {
    LEAT_RIG_OR_SKIP(rig);
    using Function = float (*)(float);
    const Function functions[] = {
        [](float x) { return std::abs(x); },
        [](float x) { return -x; },
        [](float x) { return x < 0 ? 0.0F : x; },
        [](float x) { return std::sqrt(x); },
        [](float x) { return std::exp(x); },
        [](float x) { return 1.0F / (1.0F + std::exp(-x)); },
        [](float x) { return std::tanh(x); },
    };
    constexpr size_t kCount = 1003;  // not a multiple of 4
    std::vector<float> x = random_floats(kCount, 1);
    x[7] = std::numeric_limits<float>::quiet_NaN();
    const BufferId in = rig.add_buffer(int64_t(kCount) * kFloatBytes);
    rig.write(in, x);
    std::vector<BufferId> out;
    for (uint32_t i = 0; i < std::size(functions); ++i) {
        out.push_back(rig.add_buffer(int64_t(kCount) * kFloatBytes));
        Dispatch dispatch;
        dispatch.pipeline = rig.add_pipeline("elementwise_unary", {64, i});
        dispatch.groups = {2, 1, 1};  // fewer than elements: each invocation takes several
        dispatch.scalars[0] = kCount;
        add_kernel(rig, dispatch, {in, out.back()}, {kCount, kCount});
    }
    run_list(rig);
    for (size_t i = 0; i < out.size(); ++i) {
        SCOPED_TRACE(i);
        std::vector<float> wanted(kCount);
        std::transform(x.begin(), x.end(), wanted.begin(), functions[i]);
        expect_near(rig.read<float>(out[i], kCount), wanted);
    }
}

TEST(VulkanKernels, FillsWithWords) {
    LEAT_RIG_OR_SKIP(rig);
    constexpr size_t kCount = 131;
    const BufferId out = rig.add_buffer(int64_t(kCount + 1) * kFloatBytes);
    rig.write(out, std::vector<uint32_t>(kCount + 1, 7));
    Dispatch dispatch;
    dispatch.pipeline = rig.add_pipeline("fill_words", {64});
    dispatch.groups = {2, 1, 1};
    dispatch.scalars = {uint32_t(kCount), 0x1234abcdU};
    add_kernel(rig, dispatch, {out}, {kCount});
    run_list(rig);
    std::vector<uint32_t> wanted(kCount, 0x1234abcdU);
    wanted.push_back(7);
    EXPECT_EQ(rig.read<uint32_t>(out, kCount + 1), wanted);
}

TEST(VulkanKernels, BinaryOperationsOfOneShape) {
    LEAT_RIG_OR_SKIP(rig);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto min_of = [&](float a, float b) {
        return std::isnan(a) || std::isnan(b) ? nan : std::min(a, b);
    };
    const auto max_of = [&](float a, float b) {
        return std::isnan(a) || std::isnan(b) ? nan : std::max(a, b);
    };
    const std::function<float(float, float)> functions[] = {std::plus<float>(),
                                                            std::minus<float>(),
                                                            std::multiplies<float>(),
                                                            std::divides<float>(),
                                                            min_of,
                                                            max_of};
    constexpr int64_t kCount = 258;
    std::vector<float> a = random_floats(kCount, 2);
    std::vector<float> b = random_floats(kCount, 3);
    a[5] = nan;
    b[6] = nan;
    b[257] = nan;
    const BufferId a_in = rig.add_buffer(kCount * kFloatBytes);
    const BufferId b_in = rig.add_buffer(kCount * kFloatBytes);
    rig.write(a_in, a);
    rig.write(b_in, b);
    std::vector<BufferId> out;
    for (uint32_t i = 0; i < std::size(functions); ++i) {
        out.push_back(rig.add_buffer(kCount * kFloatBytes));
        Dispatch dispatch;
        dispatch.pipeline = rig.add_pipeline("elementwise_binary", {64, i});
        dispatch.scalars[0] = kCount;
        add_kernel(rig, dispatch, {a_in, b_in, out.back()}, {kCount, kCount, kCount});
    }
    run_list(rig);
    for (size_t i = 0; i < out.size(); ++i) {
        SCOPED_TRACE(i);
        std::vector<float> wanted(kCount);
        std::transform(a.begin(), a.end(), b.begin(), wanted.begin(), functions[i]);
        expect_near(rig.read<float>(out[i], kCount), wanted);
    }
}

// [2, 1, 3] + [4, 1] -> [2, 4, 3]
TEST(VulkanKernels, BinaryOperationsBroadcast) {
    LEAT_RIG_OR_SKIP(rig);
    const std::vector<float> a = {0, 1, 2, 10, 11, 12};
    const std::vector<float> b = {100, 200, 300, 400};
    const BufferId a_in = rig.add_buffer(24);
    const BufferId b_in = rig.add_buffer(16);
    const BufferId out = rig.add_buffer(96);
    rig.write(a_in, a);
    rig.write(b_in, b);
    constexpr uint32_t kShape[24] = {2, 4, 3, 0, 0, 0, 0, 0,   // extents
                                     3, 0, 1, 0, 0, 0, 0, 0,   // strides of a
                                     0, 1, 0, 0, 0, 0, 0, 0};  // strides of b
    Dispatch dispatch;
    dispatch.pipeline = rig.add_pipeline("elementwise_binary", {64, 0});
    dispatch.parameters_offset = rig.list().add_parameters(std::as_bytes(std::span(kShape)));
    dispatch.scalars[0] = 24;
    dispatch.scalars[1] = 3;
    add_kernel(rig, dispatch, {a_in, b_in, out}, {6, 4, 24});
    run_list(rig);
    std::vector<float> wanted;
    for (size_t i = 0; i < 2; ++i) {
        for (const float row : b) {
            for (size_t k = 0; k < 3; ++k) {
                wanted.push_back(a[i * 3 + k] + row);
            }
        }
    }
    expect_near(rig.read<float>(out, 24), wanted);
}

// Of [3, 5] elements of `width` bytes, behind `base` others, in 160 bytes.
std::vector<uint8_t> transposed(const std::vector<uint8_t>& bytes, size_t width, size_t base) {
    std::vector<uint8_t> result(160, 0);
    for (size_t i = 0; i < 15; ++i) {
        const size_t from = i % 3 * 5 + i / 3;
        std::copy_n(bytes.begin() + std::ptrdiff_t(from * width), width,
                    result.begin() + std::ptrdiff_t((base + i) * width));
    }
    return result;
}

// A transpose [3, 5] -> [5, 3] of elements of every width, into the middle of the output.
TEST(VulkanKernels, StridedCopiesOfEveryWidth) {
    LEAT_RIG_OR_SKIP(rig);
    constexpr int32_t kShape[24] = {5, 3, 0, 0, 0, 0, 0, 0,   // extents
                                    1, 5, 0, 0, 0, 0, 0, 0,   // strides of x
                                    3, 1, 0, 0, 0, 0, 0, 0};  // strides of y
    constexpr uint32_t kBase = 2;
    const int64_t parameters = rig.list().add_parameters(std::as_bytes(std::span(kShape)));
    std::vector<uint8_t> bytes(120);
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = uint8_t(i + 1);
    }
    const BufferId in = rig.add_buffer(int64_t(bytes.size()));
    rig.write(in, bytes);
    std::vector<BufferId> out;
    for (const char* shader :
         {"strided_copy_8", "strided_copy_16", "strided_copy_32", "strided_copy_64"}) {
        out.push_back(rig.add_buffer(160));
        ASSERT_TRUE(rig.list().add(Fill{out.back(), {0, 160}, 0}).ok());
        Dispatch dispatch;
        dispatch.pipeline = rig.add_pipeline(shader, {8});
        dispatch.parameters_offset = parameters;
        dispatch.scalars[0] = 15;
        dispatch.scalars[1] = 2;
        dispatch.scalars[3] = kBase;
        add_kernel(rig, dispatch, {in, out.back()}, {30, 40});
    }
    run_list(rig);
    for (size_t i = 0; i < out.size(); ++i) {
        const size_t width = size_t{1} << i;
        EXPECT_EQ(rig.read<uint8_t>(out[i], 160), transposed(bytes, width, kBase))
            << shader_list()[i].name;
    }
}

}  // namespace
}  // namespace leat::vulkan
