#include "conformance/vulkan_kernel_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/vulkan/record/list_writer.h"
#include "base/round_up.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

using vulkan::VulkanRig;

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
    Tensor tensor = *Tensor::allocate(dtype, shape);
    uint64_t state = seed;
    for (int64_t i = 0; i < shape.element_count(); ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const double value = low + double(state >> 11) * 0x1p-53 * (high - low);
        store_real(dtype, tensor.mutable_bytes(), i,
                   contains(kFloatTypes, dtype) ? value : std::round(value));
    }
    return tensor;
}

std::vector<float> small_integers(int64_t count, uint32_t seed) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
        seed = seed * 1664525U + 1013904223U;
        value = float(seed >> 28) - 8.0F;
    }
    return values;
}

NodeData node_of(const std::string& op_type, size_t inputs, Attributes attributes) {
    NodeData node;
    node.op_type = op_type;
    node.def = find_op("", op_type);
    node.attributes = std::move(attributes);
    for (size_t i = 0; i < inputs; ++i) {
        node.inputs.push_back(ValueId{int32_t(i)});
    }
    node.outputs.push_back(ValueId{int32_t(inputs)});
    return node;
}

std::vector<vulkan::KernelLimits> kinds_of_limits(const vulkan::Device& device) {
    vulkan::KernelLimits own = vulkan::kernel_limits(device.info());
    own.is_cpu = true;
    vulkan::KernelLimits shared = own;
    shared.is_cpu = false;
    vulkan::KernelLimits general = shared;
    general.shared_memory_bytes = 0;
    vulkan::KernelLimits matrices = shared;
    matrices.f16_matrices = matrices.bf16_matrices = vulkan::MatrixShape{16, 16, 16, true};
    return {own, shared, matrices, general};
}

namespace {

vulkan::PlacedOperand place(VulkanRig& rig, const Tensor& tensor) {
    std::vector<std::byte> bytes(size_t(round_up(tensor.byte_count(), int64_t{4})));
    std::copy_n(tensor.bytes(), tensor.byte_count(), bytes.begin());
    const vulkan::PlacedOperand operand{rig.add_buffer(int64_t(bytes.size())), 0,
                                        tensor.byte_count()};
    rig.write(operand.buffer, bytes);
    return operand;
}

std::vector<vulkan::PlacedOperand> place_all(VulkanRig& rig, std::span<const Tensor> tensors) {
    std::vector<vulkan::PlacedOperand> operands;
    operands.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        operands.push_back(place(rig, tensor));
    }
    return operands;
}

}  // namespace

void run_in_one_dispatch(const std::shared_ptr<vulkan::Device>& device,
                         const RunOptions& options,
                         std::span<const Tensor> inputs,
                         std::span<Tensor> outputs,
                         const std::function<Status(vulkan::KernelWriter&)>& write) {
    auto made = VulkanRig::make_on(device);
    ASSERT_TRUE(made.ok()) << made.error().message();
    VulkanRig& rig = **made;
    if (options.checks_addresses) {
        rig.check_addresses();
    }
    const std::vector<vulkan::PlacedOperand> reads = place_all(rig, inputs);
    const std::vector<vulkan::PlacedOperand> writes = place_all(rig, outputs);
    vulkan::ListWriter writer(rig.list(), options.limits);
    writer.begin_node(reads, writes);
    const Status written = write(writer);
    ASSERT_TRUE(written.ok()) << written.message();
    ASSERT_EQ(rig.list().commands().size(), 1U);
    rig.add_pipeline(writer.shaders()[0]);
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    const Status status = rig.run(**recording);
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < outputs.size(); ++i) {
        const int64_t bytes = outputs[i].byte_count();
        const auto found =
            rig.read<std::byte>(writes[i].buffer, size_t(round_up(bytes, int64_t{4})));
        std::copy_n(found.begin(), bytes, outputs[i].mutable_bytes());
    }
}

}  // namespace leat::testing
