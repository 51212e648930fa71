// Sums of i32 to bytes on Vulkan devices: the shader requantize.
#pragma once

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// Sums [.., rows, columns], and which parameters have an element for each row or column; others
// have one.
struct RequantizationShape {
    int64_t count = 0;
    int64_t rows = 0;
    int64_t columns = 0;
    bool a_scale_by_row = false;
    bool b_scale_by_row = false;
    bool y_scale_by_row = false;
    bool y_zero_by_row = false;
    bool b_scale_by_column = false;
    bool has_bias = false;  // one for each row
    DType y = DType::kUint8;
};
struct RequantizationOperands {
    OperandRef sums;
    OperandRef a_scale;
    OperandRef b_scale;
    OperandRef y_scale;
    OperandRef y_zero;
    OperandRef bias;  // anything where there is none
    OperandRef y;
};

// Precondition: count is positive and below 2^31.
Status write_requantization(const RequantizationShape& requantization,
                            const RequantizationOperands& operands,
                            KernelWriter& writer);

}  // namespace leat::vulkan
