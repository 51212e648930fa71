#include "backends/vulkan/kernel/kernel_pipeline.h"

#include <fmt/core.h>

#include "backends/vulkan/device/device_info.h"
#include "backends/vulkan/shader/checked_spirv.h"
#include "backends/vulkan/shader/glsl_compiler.h"
#include "backends/vulkan/shader/matrix_spirv.h"
#include "backends/vulkan/shader/shader_features.h"
#include "base/error.h"

namespace leat::vulkan {

namespace {

constexpr uint32_t kFloat16Component = 0;  // VkComponentTypeKHR
constexpr uint32_t kFloat32Component = 1;
constexpr uint32_t kInt8Component = 3;
constexpr uint32_t kInt32Component = 5;
constexpr uint32_t kBfloat16Component = 1'000'141'000;

// Of several the first one that tiles of kernels are made of (shaders/matrix_tile.glsl).
std::optional<MatrixShape> matrices_of(const DeviceInfo& info,
                                       uint32_t component,
                                       uint32_t sums = kFloat32Component) {
    constexpr uint32_t kSubgroupScope = 3;  // VkScopeKHR
    for (const CooperativeMatrixProperties& shape : info.cooperative_matrix_shapes) {
        const bool has_types = shape.a_type == component && shape.b_type == component &&
                               shape.c_type == sums && shape.result_type == sums &&
                               shape.saturating_accumulation == VK_FALSE;
        const MatrixShape found{shape.m, shape.n, shape.k};
        if (has_types && shape.scope == kSubgroupScope && fits_tiles(found)) {
            return found;
        }
    }
    return std::nullopt;
}

// The SPIR-V that the device is given: `words` themselves where nothing changes in them, else what
// `rewritten` holds then.
Result<std::span<const uint32_t>> finished_words(const ShaderUse& shader,
                                                 std::span<const uint32_t> words,
                                                 bool checks_addresses,
                                                 SpirvWords& rewritten) {
    if (checks_addresses) {
        LEAT_ASSIGN_OR_RETURN(rewritten, with_address_checks(words));
        words = rewritten;
    }
    if (has_matrices(words)) {
        LEAT_ASSIGN_OR_RETURN(rewritten, with_khr_matrices(words, shader.has_bfloat16_matrices
                                                                      ? MatrixNumbers::kBfloat16
                                                                      : MatrixNumbers::kAsWritten));
        words = rewritten;
    }
    return words;
}

}  // namespace

bool fits_tiles(const MatrixShape& shape) {
    constexpr uint32_t kMostSums = 256;
    constexpr MatrixShape kTile{64, 32, 32};  // of a subgroup
    const auto divides = [](uint32_t part, uint32_t whole) {
        return part >= 8 && part % 8 == 0 && whole % part == 0;
    };
    return divides(shape.m, kTile.m) && divides(shape.n, kTile.n) && divides(shape.k, kTile.k) &&
           shape.m * shape.n <= kMostSums;
}

KernelLimits kernel_limits(const DeviceInfo& info) {
    KernelLimits limits;
    const VkPhysicalDeviceLimits& own = info.properties.limits;
    limits.is_cpu = info.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    limits.subgroup_size = info.properties11.subgroupSize;
    limits.max_workgroup_invocations = own.maxComputeWorkGroupInvocations;
    limits.shared_memory_bytes = own.maxComputeSharedMemorySize;
    for (size_t i = 0; i < limits.max_groups.size(); ++i) {
        limits.max_groups[i] = own.maxComputeWorkGroupCount[i];
    }
    if (info.has_extension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) {
        limits.max_window_texels = int64_t(own.maxTexelBufferElements);
        limits.window_alignment_bytes = int64_t(own.minTexelBufferOffsetAlignment);
    }
    if (!limits.is_cpu && info.cooperative_matrix.cooperative_matrix != VK_FALSE) {
        limits.f16_matrices = matrices_of(info, kFloat16Component);
        limits.i8_matrices = matrices_of(info, kInt8Component, kInt32Component);
    }
    if (limits.f16_matrices && info.bfloat16.cooperative_matrix != VK_FALSE) {
        limits.bf16_matrices = matrices_of(info, kBfloat16Component);
    }
    limits.has_float16 = info.features12.shaderFloat16 != VK_FALSE;
    limits.has_float64 = info.features.shaderFloat64 != VK_FALSE;
    limits.has_int8 = info.features12.shaderInt8 != VK_FALSE;
    limits.has_int16 = info.features.shaderInt16 != VK_FALSE;
    limits.has_int64 = info.features.shaderInt64 != VK_FALSE;
    return limits;
}

Result<std::string> missing_features(const ShaderUse& shader, const KernelLimits& limits) {
    if (limits.has_every_type()) {
        return std::string();
    }
    if (shader.source.empty()) {
        LEAT_ASSIGN_OR_RETURN(const Shader found, find_shader(shader.name));
        return missing_features(found.words, limits);
    }
    LEAT_ASSIGN_OR_RETURN(const auto words, compile_glsl_once(shader.name, shader.source));
    return missing_features(*words, limits);
}

Status check_features(const ShaderUse& shader, const KernelLimits& limits) {
    LEAT_ASSIGN_OR_RETURN(const std::string missing, missing_features(shader, limits));
    if (missing.empty()) {
        return Status();
    }
    return unsupported("kernel '{}' needs {}, which the device lacks", shader.name, missing);
}

Result<OwnedPipeline> make_kernel_pipeline(const PipelineMaker& maker,
                                           const ShaderUse& shader,
                                           DiskCache* disk,
                                           bool checks_addresses) {
    std::shared_ptr<const SpirvWords> compiled;
    Shader found{shader.name, {}};
    if (shader.source.empty()) {
        LEAT_ASSIGN_OR_RETURN(found, find_shader(shader.name));
    } else {
        // Checks are written into words as they were compiled.
        const bool is_reduced = shader.has_deep_loops && disk != nullptr && !checks_addresses &&
                                maker.translates_each_time();
        const SpirvForm form = is_reduced ? SpirvForm::kReduced : SpirvForm::kCompiled;
        LEAT_ASSIGN_OR_RETURN(compiled, compile_glsl_once(shader.name, shader.source, disk, form));
        found.words = *compiled;
    }
    found.windows = shader.windows;
    SpirvWords rewritten;
    const auto words = finished_words(shader, found.words, checks_addresses, rewritten);
    if (!words.ok()) {
        return Status(words.error()).with_node(fmt::format("kernel '{}'", shader.name));
    }
    found.words = *words;
    return maker.make(found, shader.constants, shader.required_subgroup_size);
}

Result<BoundPipeline> bind_kernel_pipeline(const PipelineMaker& maker,
                                           const ShaderUse& shader,
                                           VkPipeline pipeline) {
    BoundPipeline bound{pipeline, nullptr, shader.windows, shader.vector_windows};
    LEAT_ASSIGN_OR_RETURN(bound.layout, maker.layout_of(shader.windows));
    return bound;
}

}  // namespace leat::vulkan
