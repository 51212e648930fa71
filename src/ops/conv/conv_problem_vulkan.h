// Convolutions on Vulkan devices that are no products of matrices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backends/vulkan/kernel/kernel.h"
#include "ops/window_vulkan.h"

namespace leat::vulkan {

// As in shaders/conv_problem.glsl, which has the scales behind it. Channels are those of a group.
struct ConvProblem {
    WindowParameters window;
    uint32_t batch = 0;
    uint32_t groups = 0;
    uint32_t in_channels = 0;
    uint32_t out_channels = 0;
    uint32_t has_bias = 0;
    uint32_t has_scale = 0;

    // Positions of y in all images.
    uint32_t positions() const;
    int64_t x_elements() const;
    int64_t w_elements() const;
    int64_t y_elements() const;
    // Products that an element of y is the sum of.
    int64_t depth() const;
    // Iterations of an invocation that computes an element of y: over channels, planes, rows and
    // taps.
    int64_t iterations() const;
};

// bias: anything where has_bias is 0. Operands are dense.
struct ConvOperands {
    DType dtype = DType::kFloat32;
    OperandRef x;
    OperandRef w;
    OperandRef bias;
    OperandRef y;
    std::span<const float> scale = {};  // of the sums, by output channel of all groups
};

// Variants among which CPU devices' convolutions with windows of 3 x 3 choose, for a stride of 1
// and of 2: by the measured one where KernelLimits::measured knows it for the output channels, the
// positions in a row of y and the input channels.
inline constexpr std::string_view kConvKernels[] = {"conv_3x3_stride1", "conv_3x3_stride2"};
inline constexpr uint32_t kConvVariants = 4;
std::string conv_variant_shader(uint32_t variant, uint32_t stride);

// One dispatch, and copies of operands that are windows of it and cannot be. Precondition: y is not
// empty, operands have less than 2^31 elements.
Status write_conv(const ConvProblem& problem, const ConvOperands& operands, KernelWriter& writer);

}  // namespace leat::vulkan
