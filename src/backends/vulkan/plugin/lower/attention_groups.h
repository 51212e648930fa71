// Where a lowered graph has attention that runs as one kernel:
//
//     MatMul(q, k^T) --> scale, mask: a chain --> Softmax --> MatMul(v)
//
// Nobody else reads what is between them. Operands may be views.
#pragma once

#include <vector>

#include "backends/vulkan/plugin/lower/group_builder.h"
#include "ops/attention/fused_attention_vulkan.h"

namespace leat::vulkan {

struct AttentionGroup {
    FusedGroup scores;    // the first product and the chain
    int32_t softmax = 0;  // steps
    int32_t context = 0;
};

// By the views of values; disjoint, in order of their first steps.
std::vector<AttentionGroup> find_attention(const StepUses& uses,
                                           const MovedViews& views,
                                           const KernelLimits& limits);

// The operands as the kernel takes them, in place where they are views.
struct AttentionReads {
    GroupOperand q;
    GroupOperand k_transposed;
    GroupOperand v;
};
AttentionReads attention_reads(const AttentionGroup& group,
                               const StepUses& uses,
                               const MovedViews& views);

}  // namespace leat::vulkan
