// Kernels of custom operators on Vulkan devices: GLSL of a program, with what the node is declared
// before it. docs/custom-operators.md says what the text may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/vulkan/kernel/kernel.h"

namespace leat {
class DiskCache;
}  // namespace leat

namespace leat::vulkan {

// What CustomOperator::device_kernels["vulkan"] says.
struct CustomKernel {
    // When run() is called: for each element of output 0, or by all invocations of a workgroup
    // together for each row (last axis) of input 0.
    enum class Calls : uint8_t { kElements, kRows };

    std::string label;       // "acme.Scale"
    int32_t max_inputs = 0;  // those that a node leaves out are absent; 0: any number
    Calls calls = Calls::kElements;
    uint32_t workgroup = 0;  // invocations; 0: the device's affair
    std::string extensions;  // its lines with #extension
    std::string text;        // the others, each where it was
};

// invalid_argument, with the line, for a directive of leat that is none, and for text without
// run().
Result<CustomKernel> parse_custom_kernel(std::string label, std::string_view text);

// Why no device of these limits can run the node, whatever its shapes are: element types that
// kernels do not read, a workgroup that is too large, the compiler's log. Empty if it can. `disk`
// may be null.
std::string custom_refusal(const CustomKernel& kernel,
                           const NodeData& node,
                           const KernelTypes& types,
                           const KernelLimits& limits,
                           DiskCache* disk);

// Precondition: custom_refusal() is empty. unsupported for more elements than kernels count.
Status write_custom(const CustomKernel& kernel, const KernelNode& node, KernelWriter& writer);

}  // namespace leat::vulkan
