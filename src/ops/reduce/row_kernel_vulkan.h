// What Vulkan kernels over rows of elements share: shader variants by element type, and whether a
// row is the work of an invocation or of a workgroup (shaders/lanes.glsl).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"
#include "ops/type_checks.h"

namespace leat::vulkan {

// "softmax_f32" of "softmax": the variant for elements of the type; bools are bytes.
std::string shader_variant(std::string_view stem, DType dtype);

// Empty if the type is one of `allowed` (a set of ops/type_checks.h), else why not.
std::string type_refusal(DType dtype, DTypeSet allowed);

// Why no kernel takes a node with fused steps; empty where it has none.
std::string epilogue_refusal(const NodeData& node);

// invalid for tensors whose elements 32-bit offsets do not reach.
Status check_offsets(const KernelNode& node);

// Constants 0 to 2 of lanes.glsl, and the workgroups.
struct RowWork {
    std::vector<uint32_t> constants;
    std::array<uint32_t, 3> groups{1, 1, 1};
};
struct RowExtents {
    int64_t rows = 0;
    int64_t columns = 0;
    // The elements of a row follow each other; else those of neighbouring rows do.
    bool is_dense = true;
    int64_t passes = 3;      // over a row
    int64_t iterations = 0;  // of the loops of an element in each of them
};
// unsupported where an invocation would have too many iterations (groups_with_loops).
Result<RowWork> plan_rows(RowExtents extents, DType dtype, const KernelLimits& limits);

}  // namespace leat::vulkan
