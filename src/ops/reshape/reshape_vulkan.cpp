#include "base/error.h"
#include "ops/movement/axis_map_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/reshape/reshape.h"

namespace leat {
namespace vulkan {
namespace {

// Whole tensors move, so packed elements do, too.
std::string refuse_strings(const NodeData& /*node*/, const KernelTypes& types) {
    return types.inputs[0] == DType::kString ? movement_refusal(types.inputs[0]) : std::string();
}

// The numbers of Dropout's tests come one after the other.
std::string refuse_dropout(const NodeData& node, const KernelTypes& types) {
    const bool may_draw = node.own_inputs() > 2 && node.inputs[2].valid();
    return may_draw ? "no random numbers" : refuse_strings(node, types);
}

Status write_dropout(const KernelNode& node, KernelWriter& writer) {
    if (const TensorArg* mask = find_arg(node.outputs, 1)) {
        // A mask that is true everywhere: y without any x.
        const int64_t count = mask->shape.element_count();
        MapValue value;
        value.bits[0] = 1;
        LEAT_RETURN_IF_ERROR(write_axis_map(writer, DType::kBool,
                                            {{AxisMode::kConstant, count, 0, 1, 0, {}}},
                                            input_ref(0), output_ref(1), value));
    }
    return write_whole_copy(node, writer);
}

constexpr uint32_t kDropoutHostInputs = 0b110;  // they are not read
constexpr KernelEntry kReshapeVulkanKernels[] = {
    {"Reshape", refuse_strings, write_whole_copy},
    {"Flatten", refuse_strings, write_whole_copy},
    {"Squeeze", refuse_strings, write_whole_copy},
    {"Unsqueeze", refuse_strings, write_whole_copy},
    {"Identity", refuse_strings, write_whole_copy},
    {"Dropout", refuse_dropout, write_dropout, kDropoutHostInputs},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> reshape_vulkan_kernels() {
    return vulkan::kReshapeVulkanKernels;
}

}  // namespace leat
