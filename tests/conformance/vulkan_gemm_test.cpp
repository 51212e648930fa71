// Which kernel a product becomes, by what the device is. No device is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/list_writer.h"
#include "ops/matmul/gemm_vulkan.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kExtent = 100;
constexpr int64_t kBytes = int64_t{kExtent} * kExtent * 4;

// Names of the shaders of A B, both 100 x 100 and f32; B transposed in memory or not.
std::vector<std::string> shaders_of(const KernelLimits& limits, bool is_b_transposed = false) {
    CommandList list;
    const std::array<PlacedOperand, 2> inputs{PlacedOperand{list.add_buffer(kBytes), 0, kBytes},
                                              PlacedOperand{list.add_buffer(kBytes), 0, kBytes}};
    const std::array<PlacedOperand, 1> outputs{PlacedOperand{list.add_buffer(kBytes), 0, kBytes}};
    ListWriter writer(list, limits);
    writer.begin_node(inputs, outputs);
    GemmProblem problem;
    problem.m = problem.n = problem.k = problem.a_row = kExtent;
    problem.b_k = is_b_transposed ? 1 : kExtent;
    problem.b_column = is_b_transposed ? kExtent : 1;
    const Status status = write_gemm(
        problem, {DType::kFloat32, input_ref(0), input_ref(1), {}, output_ref(0)}, writer);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::string> names;
    names.reserve(writer.shaders().size());
    for (const ShaderUse& shader : writer.shaders()) {
        names.push_back(shader.name);
    }
    return names;
}

KernelLimits cpu_limits() {
    KernelLimits limits;
    limits.is_cpu = true;
    limits.subgroup_size = 8;
    return limits;
}

KernelLimits gpu_limits() {
    KernelLimits limits;
    limits.max_workgroup_invocations = 1024;
    limits.shared_memory_bytes = 49152;
    return limits;
}

TEST(VulkanGemm, IsTiledInRegistersOnCpuDevices) {
    EXPECT_THAT(shaders_of(cpu_limits()), ::testing::ElementsAre("gemm_subgroup_tile_16"));
}

TEST(VulkanGemm, CopiesATransposedOperandForTilesInRegisters) {
    EXPECT_THAT(shaders_of(cpu_limits(), true),
                ::testing::ElementsAre("strided_copy_32", "gemm_subgroup_tile_16"));
}

TEST(VulkanGemm, IsTiledInSharedMemoryOnOthers) {
    EXPECT_THAT(shaders_of(gpu_limits()), ::testing::ElementsAre("gemm_shared_tile_f32"));
}

TEST(VulkanGemm, IsGeneralWhereTheDeviceHasTooFewWorkgroups) {
    KernelLimits limits = cpu_limits();
    limits.max_groups = {1, 65535, 65535};  // of the two that 100 columns need
    EXPECT_THAT(shaders_of(limits), ::testing::ElementsAre("gemm_general_f32"));
    limits = gpu_limits();
    limits.max_groups = {65535, 1, 65535};
    EXPECT_THAT(shaders_of(limits), ::testing::ElementsAre("gemm_general_f32"));
}

TEST(VulkanGemm, IsGeneralWhereSharedMemoryIsSmall) {
    KernelLimits limits = gpu_limits();
    limits.shared_memory_bytes = 8192;
    EXPECT_THAT(shaders_of(limits), ::testing::ElementsAre("gemm_general_f32"));
}

}  // namespace
}  // namespace leat::vulkan
