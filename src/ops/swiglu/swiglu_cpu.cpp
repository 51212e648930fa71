// SwiGLU in f32 by blocks of elements: Swish of the gate, then the product, in the first cache.
#include <algorithm>
#include <array>

#include "backends/cpu/unit_kernel.h"
#include "ops/elementwise/binary_f32.h"
#include "ops/elementwise/unary_f32.h"
#include "ops/swiglu/swiglu.h"

namespace leat {
namespace {

struct SwigluParams {
    UnaryF32Function swish;
    BinaryF32 multiply = nullptr;
    int64_t elements = 0;
};

constexpr int64_t kSwigluBlock = 1024;

// The result may lie where an operand does, so that the gate has memory of its own.
void gate_blocks(const SwigluParams& params,
                 const cpu::KernelArgs& args,
                 int64_t begin,
                 int64_t end) {
    std::array<float, kSwigluBlock> gate;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kSwigluBlock;
        const int64_t n = std::min(kSwigluBlock, params.elements - first);
        params.swish(args.inputs[0].as<const float>() + first, gate.data(), n);
        params.multiply({gate.data()}, {args.inputs[1].as<const float>() + first},
                        args.outputs[0].as<float>() + first, n, 1, n);
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_swiglu(cpu::PrepareContext& context) {
    const float alpha = context.node.attr("alpha", 1.0F);
    const auto swish = find_unary_f32("Swish", {{"alpha", alpha}});
    const BinaryF32 multiply = find_binary_f32("Mul");
    const auto is_row_major = [](const TensorArg& arg) { return arg.is_row_major(); };
    // Swish takes the gate of -infinity to be zero, which it is for alpha > 0 alone.
    if (!(alpha > 0) || !swish || multiply == nullptr || !cpu::all_f32(context.inputs) ||
        !std::all_of(context.inputs.begin(), context.inputs.end(), is_row_major) ||
        !context.outputs[0].is_row_major()) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const int64_t elements = context.outputs[0].shape.element_count();
    const int64_t blocks = (elements + kSwigluBlock - 1) / kSwigluBlock;
    const double total_ns = double(elements) * (swish->ns_per_element + 0.1);
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<SwigluParams>>(
        "swiglu_f32", gate_blocks, SwigluParams{*swish, multiply, elements}, blocks, total_ns));
}

constexpr cpu::CpuKernelEntry kSwigluCpuKernels[] = {{"SwiGLU", make_swiglu}};

}  // namespace

std::span<const cpu::CpuKernelEntry> swiglu_cpu_kernels() {
    return kSwigluCpuKernels;
}

}  // namespace leat
