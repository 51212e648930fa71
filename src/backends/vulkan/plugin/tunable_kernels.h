// The kernels that have variants, with problems to measure them on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backends/vulkan/shader/tuned_variants.h"

namespace leat::vulkan {

struct TunableKernel {
    std::string name;  // as it asks MeasuredVariants
    uint32_t variant_count = 0;
    // Names a variant: its shader's name, or what this begins with.
    std::function<std::string(uint32_t variant)> shader_name;
    // A problem: bytes of its inputs, then of its output; multiples of 4.
    std::function<std::vector<int64_t>(const ProblemExtents& extents)> operand_bytes;
    // Its one dispatch, by what the writer's limits have as measured.
    std::function<Status(const ProblemExtents& extents, KernelWriter& writer)> write;
};

std::span<const TunableKernel> tunable_kernels();

}  // namespace leat::vulkan
