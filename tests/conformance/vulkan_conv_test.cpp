// Which kernel a convolution of 3 x 3 becomes on a CPU device, for which no device is needed; and
// that all variants give its result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/record/list_writer.h"
#include "conformance/vulkan_kernel_run.h"
#include "ops/conv/conv_problem_vulkan.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using leat::testing::ChosenVariant;
using leat::testing::small_integers;
using ::testing::ElementsAre;

// Rows of 11 or 6 positions, 19 output channels of 5: nothing fills a tile or a run.
ConvProblem problem_of(uint32_t stride) {
    ConvProblem problem;
    problem.window.x_extents = {1, 9, 11};
    problem.window.y_extents = {1, stride == 1 ? 9U : 5U, stride == 1 ? 11U : 6U};
    problem.window.taps = {1, 3, 3};
    problem.window.stride = {1, stride, stride};
    problem.window.dilation = {1, 1, 1};
    problem.window.pad_begin = problem.window.pad_end = {0, 1, 1};
    problem.batch = 2;
    problem.groups = 1;
    problem.in_channels = 5;
    problem.out_channels = 19;
    return problem;
}

std::vector<int64_t> operand_bytes(const ConvProblem& problem) {
    constexpr int64_t kFloatBytes = sizeof(float);
    return {problem.x_elements() * kFloatBytes, problem.w_elements() * kFloatBytes,
            problem.y_elements() * kFloatBytes};
}

Status write(const ConvProblem& problem, KernelWriter& writer) {
    return write_conv(problem, {DType::kFloat32, input_ref(0), input_ref(1), {}, output_ref(0)},
                      writer);
}

KernelLimits cpu_limits() {
    KernelLimits limits;
    limits.is_cpu = true;
    limits.subgroup_size = 8;
    limits.max_window_texels = int64_t{1} << 27;
    return limits;
}

std::string shader_of(const ConvProblem& problem, const KernelLimits& limits) {
    CommandList list;
    std::vector<PlacedOperand> places;
    places.reserve(3);
    for (const int64_t bytes : operand_bytes(problem)) {
        places.push_back({list.add_buffer(bytes), 0, bytes});
    }
    ListWriter writer(list, limits);
    writer.begin_node(std::span(places).first(2), std::span(places).last(1));
    const Status written = write(problem, writer);
    EXPECT_TRUE(written.ok()) << written.message();
    EXPECT_EQ(writer.shaders().size(), 1U);
    return writer.shaders()[0].name;
}

TEST(VulkanConv, IsARunWhereNobodyMeasured) {
    EXPECT_EQ(shader_of(problem_of(1), cpu_limits()), "conv_run_tile_16_1");
    EXPECT_EQ(shader_of(problem_of(2), cpu_limits()), "conv_run_tile_16_2");
}

TEST(VulkanConv, IsTheVariantThatWasMeasured) {
    for (const uint32_t stride : {1U, 2U}) {
        const std::string end = stride == 1 ? "_1" : "_2";
        std::vector<std::string> names;
        names.reserve(kConvVariants);
        for (uint32_t variant = 0; variant < kConvVariants; ++variant) {
            const ChosenVariant chosen(kConvKernels[stride - 1], variant);
            KernelLimits limits = cpu_limits();
            limits.measured = &chosen;
            names.push_back(shader_of(problem_of(stride), limits));
            EXPECT_THAT(chosen.asked(), ElementsAre(19, stride == 1 ? 11 : 6, 5));
        }
        EXPECT_THAT(names,
                    ElementsAre(std::string("conv_run_tile_8").append(end),
                                std::string("conv_run_tile_16").append(end),
                                "conv_subgroup_tile_8_floats", "conv_subgroup_tile_16_floats"));
    }
}

TEST(VulkanConv, KeepsTheShippedTileWhereTheMeasuredOneIsUnknown) {
    const ChosenVariant chosen(kConvKernels[0], kConvVariants);
    KernelLimits limits = cpu_limits();
    limits.measured = &chosen;
    EXPECT_EQ(shader_of(problem_of(1), limits), "conv_run_tile_16_1");
}

// One element of y, from its definition.
float element_of(const ConvProblem& problem,
                 const std::vector<float>& x,
                 const std::vector<float>& w,
                 int64_t index) {
    const auto& x_extents = problem.window.x_extents;
    const auto& y_extents = problem.window.y_extents;
    const auto& stride = problem.window.stride;
    const int64_t column = index % y_extents[2];
    const int64_t row = index / y_extents[2] % y_extents[1];
    const int64_t plane = index / y_extents[2] / y_extents[1];
    const int64_t channel = plane % problem.out_channels;
    const int64_t image = plane / problem.out_channels;
    float sum = 0;
    for (int64_t i = 0; i < int64_t(problem.in_channels) * 9; ++i) {
        const int64_t h = row * stride[1] + i / 3 % 3 - 1;
        const int64_t v = column * stride[2] + i % 3 - 1;
        const int64_t x_plane = image * problem.in_channels + i / 9;
        if (h >= 0 && v >= 0 && h < x_extents[1] && v < x_extents[2]) {
            sum += x[size_t((x_plane * x_extents[1] + h) * x_extents[2] + v)] *
                   w[size_t(channel * problem.in_channels * 9 + i)];
        }
    }
    return sum;
}

void expect_result(const std::shared_ptr<Device>& device,
                   const ConvProblem& problem,
                   const KernelLimits& limits) {
    const auto made = VulkanRig::make_on(device);
    ASSERT_TRUE(made.ok()) << made.error().message();
    VulkanRig& rig = **made;
    const std::vector<float> x = small_integers(problem.x_elements(), 1);
    const std::vector<float> w = small_integers(problem.w_elements(), 2);
    std::vector<PlacedOperand> places;
    places.reserve(3);
    for (const int64_t bytes : operand_bytes(problem)) {
        places.push_back({rig.add_buffer(bytes), 0, bytes});
    }
    rig.write(places[0].buffer, x);
    rig.write(places[1].buffer, w);
    ListWriter writer(rig.list(), limits);
    writer.begin_node(std::span(places).first(2), std::span(places).last(1));
    const Status written = write(problem, writer);
    ASSERT_TRUE(written.ok()) << written.message();
    for (const ShaderUse& shader : writer.shaders()) {
        rig.add_pipeline(shader);
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());
    std::vector<float> wanted(static_cast<size_t>(problem.y_elements()));
    for (size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] = element_of(problem, x, w, int64_t(i));
    }
    EXPECT_EQ(rig.read<float>(places[2].buffer, wanted.size()), wanted);
}

TEST(VulkanConv, EveryVariantGivesTheResult) {
    LEAT_DEVICE_OR_SKIP(device);
    KernelLimits limits = kernel_limits(device->info());
    limits.is_cpu = true;
    for (const uint32_t stride : {1U, 2U}) {
        for (uint32_t variant = 0; variant < kConvVariants; ++variant) {
            SCOPED_TRACE(conv_variant_shader(variant, stride));
            const ChosenVariant chosen(kConvKernels[stride - 1], variant);
            limits.measured = &chosen;
            expect_result(device, problem_of(stride), limits);
        }
    }
}

}  // namespace
}  // namespace leat::vulkan
