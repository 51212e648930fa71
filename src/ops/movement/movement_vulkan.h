// Copies of elements between strided boxes on Vulkan devices: the shader strided_copy, or a copy
// command where both sides are contiguous.
#pragma once

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// Elements that a kernel of one invocation an element walks; more are refused.
constexpr int64_t kMovementCountLimit = int64_t{1} << 31;
constexpr uint32_t kMovementWorkgroup = 64;

// One end of a copy: an operand, where its first element lies, and strides in elements by axis.
struct CopyEnd {
    OperandRef operand;
    int64_t first_element = 0;
    Strides strides{};
};

// to[index] = from[index] for each index of `shape`; strides of `from` may be negative or 0.
// Elements of 1, 2, 4, 8 or 16 bytes. Nothing is written for an empty shape. unsupported where an
// offset is 2^31 elements or more.
Status write_strided_copy(
    KernelWriter& writer, DType dtype, const Shape& shape, const CopyEnd& from, const CopyEnd& to);

// Copies whole input 0 to output 0, whatever their shapes are; packed types, too. Views and the
// like.
Status write_whole_copy(const KernelNode& node, KernelWriter& writer);

// A dispatch of the shader `name` for elements of `bits` bits, of an invocation for each of `count`
// (scalar 0), without operands yet. unsupported from kMovementCountLimit on.
Result<KernelDispatch> movement_dispatch(const KernelWriter& writer,
                                         std::string_view name,
                                         int bits,
                                         int64_t count);

// The widest element in bits, at least `element_bytes`, that all these byte counts are multiples
// of: runs of several elements move as one.
int widest_bits(int64_t element_bytes, std::span<const int64_t> multiples_bytes);

// Empty if elements of the type can be moved, else why not.
std::string movement_refusal(DType dtype);
// The same for a kernel that moves elements of input 0.
std::string refuse_immovable(const NodeData& node, const KernelTypes& types);

}  // namespace leat::vulkan
