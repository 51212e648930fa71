// The kernels that have variants, with problems to measure them on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/tuned_variants.h"

namespace leat::vulkan {

struct TunableKernel {
    std::string_view name;  // as it asks MeasuredVariants
    uint32_t variant_count = 0;
    std::string (*shader_name)(uint32_t variant) = nullptr;  // names its variant
    // A problem: bytes of its inputs, of floats, then of its output.
    std::vector<int64_t> (*operand_bytes)(const ProblemExtents& extents) = nullptr;
    // Its one dispatch, by what the writer's limits have as measured.
    Status (*write)(const ProblemExtents& extents, KernelWriter& writer) = nullptr;
};

std::span<const TunableKernel> tunable_kernels();

}  // namespace leat::vulkan
