// Copies of elements between strided boxes on Vulkan devices: the shader strided_copy.
#pragma once

#include "backends/vulkan/kernel.h"

namespace leat::vulkan {

// One end of a copy: an operand, where its first element lies, and strides in elements by axis.
struct CopyEnd {
    OperandRef operand;
    int64_t first_element = 0;
    Strides strides{};
};

// to[index] = from[index] for each index of `shape`; strides of `from` may be negative or 0.
// Elements of 1, 2, 4, 8 or 16 bytes. Nothing is written for an empty shape.
Status write_strided_copy(
    KernelWriter& writer, DType dtype, const Shape& shape, const CopyEnd& from, const CopyEnd& to);

// Empty if elements of the type can be moved, else why not.
std::string movement_refusal(DType dtype);

}  // namespace leat::vulkan
