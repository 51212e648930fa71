// What the CPU kernels of ConvInteger and QLinearConv have in common.
#pragma once

#include <memory>
#include <optional>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/integer_gemm.h"
#include "ops/conv_integer/conv_integer.h"

namespace leat::cpu {

struct IntegerConv {
    QuantizedConvOperands operands;
    ConvGeometry geometry;
    DType x = DType::kUint8;
    DType w = DType::kUint8;
    DType y = DType::kInt32;

    // Nothing where an operand is not row-major.
    static Result<std::optional<IntegerConv>> find(const PrepareContext& context);

    int64_t rows() const { return geometry.out_channels_per_group(); }  // of a group
    int64_t positions() const { return geometry.window.output_count(); }
    int64_t k() const { return geometry.in_channels_per_group() * geometry.window.kernel_count(); }
    // One tap at each position of x: x is the matrix.
    bool is_pointwise() const;
    int64_t y_element_bytes() const { return y == DType::kInt32 ? int64_t{sizeof(int32_t)} : 1; }
    // Of QLinearConv.
    int32_t y_zero(const KernelArgs& args) const;
};

// The element of a channel, or the only one; 0 where the operand is absent.
template <class T>
T conv_parameter(const KernelArgs& args, int input, int64_t channel) {
    const TensorArg* arg = find_arg(args.inputs, input);
    return arg == nullptr ? T{} : arg->as<const T>()[arg->shape.element_count() == 1 ? 0 : channel];
}

// One input channel a group, at most two spatial axes, and a stride along rows of at most 2.
bool covers_integer_depthwise(const IntegerConv& conv);
// Precondition: covers_integer_depthwise.
std::unique_ptr<CpuKernel> make_integer_depthwise(const IntegerConv& conv);

}  // namespace leat::cpu
