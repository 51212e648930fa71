// Which kernel a product becomes, by what the device is, for which no device is needed; and that
// all variants give the product.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/record/list_writer.h"
#include "conformance/vulkan_kernel_run.h"
#include "ops/matmul/gemm_vulkan.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using leat::testing::ChosenVariant;
using leat::testing::small_integers;

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
    EXPECT_THAT(shaders_of(cpu_limits()),
                ::testing::ElementsAre("gemm_subgroup_tile_16_addresses"));
}

TEST(VulkanGemm, CopiesATransposedOperandForTilesInRegisters) {
    EXPECT_THAT(shaders_of(cpu_limits(), true),
                ::testing::ElementsAre("strided_copy_32", "gemm_subgroup_tile_16_addresses"));
}

KernelLimits window_limits() {
    KernelLimits limits = cpu_limits();
    limits.max_window_texels = int64_t{1} << 27;
    return limits;
}

TEST(VulkanGemm, HasWindowsWhereTheDeviceHas) {
    EXPECT_THAT(shaders_of(window_limits()),
                ::testing::ElementsAre("gemm_subgroup_tile_16_vectors"));
}

TEST(VulkanGemm, HasAddressesWhereNoWindowHoldsA) {
    KernelLimits limits = window_limits();
    limits.max_window_texels = kBytes / 16;
    EXPECT_THAT(shaders_of(limits), ::testing::ElementsAre("gemm_subgroup_tile_16_vectors"));
    limits.max_window_texels -= 1;
    EXPECT_THAT(shaders_of(limits), ::testing::ElementsAre("gemm_subgroup_tile_16_addresses"));
}

TEST(VulkanGemm, IsTheVariantThatWasMeasured) {
    KernelLimits limits = window_limits();
    std::vector<std::string> names;
    names.reserve(kGemmVariants);
    for (uint32_t variant = 0; variant < kGemmVariants; ++variant) {
        const ChosenVariant chosen(kGemmKernel, variant);
        limits.measured = &chosen;
        names.push_back(shaders_of(limits).at(0));
    }
    EXPECT_THAT(names, ::testing::ElementsAre(
                           "gemm_subgroup_tile_8_addresses", "gemm_subgroup_tile_16_addresses",
                           "gemm_subgroup_tile_8_floats", "gemm_subgroup_tile_16_floats",
                           "gemm_subgroup_tile_8_vectors", "gemm_subgroup_tile_16_vectors",
                           "gemm_subgroup_tile_16_shifted"));
    const ChosenVariant unknown(kGemmKernel, kGemmVariants);
    limits.measured = &unknown;
    EXPECT_THAT(shaders_of(limits), ::testing::ElementsAre("gemm_subgroup_tile_16_vectors"));
}

struct GemmExtents {
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
};

// 2 A B + 3 C on the device, where C is a row.
void expect_product(const std::shared_ptr<Device>& device,
                    const GemmExtents& extents,
                    const KernelLimits& limits) {
    const auto [m, n, k] = extents;
    const auto made = VulkanRig::make_on(device);
    ASSERT_TRUE(made.ok()) << made.error().message();
    VulkanRig& rig = **made;
    const std::vector<float> a = small_integers(int64_t{m} * k, 1);
    const std::vector<float> b = small_integers(int64_t{k} * n, 2);
    const std::vector<float> c = small_integers(n, 3);
    std::vector<PlacedOperand> places;
    places.reserve(4);
    for (const size_t count : {a.size(), b.size(), c.size(), size_t(m) * n}) {
        const auto bytes = int64_t(count * sizeof(float));
        places.push_back({rig.add_buffer(bytes), 0, bytes});
    }
    rig.write(places[0].buffer, a);
    rig.write(places[1].buffer, b);
    rig.write(places[2].buffer, c);
    ListWriter writer(rig.list(), limits);
    writer.begin_node(std::span(places).first(3), std::span(places).last(1));
    GemmProblem problem;
    problem.m = m;
    problem.n = problem.b_k = n;
    problem.k = problem.a_row = k;
    problem.alpha = 2;
    problem.beta = 3;
    problem.has_c = 1;
    problem.c_column = 1;
    const Status written = write_gemm(
        problem, {DType::kFloat32, input_ref(0), input_ref(1), input_ref(2), output_ref(0)},
        writer);
    ASSERT_TRUE(written.ok()) << written.message();
    ASSERT_EQ(rig.list().commands().size(), 1U);
    for (const ShaderUse& shader : writer.shaders()) {
        rig.add_pipeline(shader);
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());
    std::vector<double> wanted(size_t(m) * n);
    for (size_t row = 0; row < m; ++row) {
        for (size_t column = 0; column < n; ++column) {
            double sum = 0;
            for (size_t i = 0; i < k; ++i) {
                sum += double(a[row * k + i]) * double(b[i * n + column]);
            }
            wanted[row * n + column] = 2 * sum + 3 * double(c[column]);
        }
    }
    EXPECT_THAT(rig.read<float>(places[3].buffer, wanted.size()),
                ::testing::ElementsAreArray(wanted));
}

// Extents that fill no tile; for texels of four floats in A and B, in neither, and in A.
constexpr GemmExtents kExtents[] = {{50, 116, 72}, {25, 101, 33}, {19, 101, 36}};

TEST(VulkanGemm, EveryVariantGivesTheProduct) {
    LEAT_DEVICE_OR_SKIP(device);
    KernelLimits limits = kernel_limits(device->info());
    limits.is_cpu = true;
    for (uint32_t variant = 0; variant < kGemmVariants; ++variant) {
        const ChosenVariant chosen(kGemmKernel, variant);
        limits.measured = &chosen;
        for (const GemmExtents& extents : kExtents) {
            SCOPED_TRACE(gemm_variant_shader(variant));
            expect_product(device, extents, limits);
        }
    }
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
