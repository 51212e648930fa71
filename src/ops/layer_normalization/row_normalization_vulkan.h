// The shader row_normalization, which LayerNormalization, InstanceNormalization and
// RMSNormalization share.
#pragma once

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// Inputs are x, scale, perhaps bias; output 0 is y.
struct RowNormalization {
    int64_t rows = 0;
    int64_t columns = 0;
    float epsilon = 0;
    // Where scale and bias have an element for row % channels; 0: they broadcast to the last
    // `normalized_axes` axes of x.
    int64_t channels = 0;
    int normalized_axes = 0;
    bool is_centred = true;  // false: the mean counts as 0
    // The scale may differ from row to row: it broadcasts to all axes, which `normalized_axes`
    // counts then.
    bool has_row_scales = false;
};

// Outputs 1 and 2, where present, are mean and 1 / deviation of each row, f32.
Status write_row_normalization(const KernelNode& node,
                               const RowNormalization& normalization,
                               KernelWriter& writer);

}  // namespace leat::vulkan
