// Indices out of range on a device, which cannot report them: no memory beyond the operands is
// touched, gathered elements are zeros, scattered ones are left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/kernel_pipeline.h"
#include "backends/vulkan/list_writer.h"
#include "leat/tensor.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kFar = int64_t{1} << 40;

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& elements) {
    return Tensor::from<T>(shape, std::span<const T>(elements)).value();
}

PlacedOperand place(VulkanRig& rig, const Tensor& tensor) {
    const BufferId buffer = rig.add_buffer(tensor.byte_count());
    const std::byte* bytes = tensor.bytes();
    rig.write(buffer, std::vector<std::byte>(bytes, bytes + tensor.byte_count()));
    return {buffer, 0, tensor.byte_count()};
}

// Runs the operator's kernel without attributes on inputs that the host does not know.
void run_kernel(VulkanRig& rig,
                const char* op_type,
                const std::vector<Tensor>& inputs,
                const TensorArg& output,
                PlacedOperand output_place) {
    NodeData node;
    node.op_type = op_type;
    node.def = find_op("", op_type);
    std::vector<TensorArg> args;
    std::vector<PlacedOperand> places;
    std::vector<DType> types;
    for (const Tensor& input : inputs) {
        args.push_back(row_major_arg(input.dtype(), input.shape(), nullptr));
        places.push_back(place(rig, input));
        types.push_back(input.dtype());
    }
    const KernelChoice choice = choose_kernel(node, {types, std::span(&output.dtype, 1)});
    ASSERT_NE(choice.entry, nullptr) << choice.reason;
    ListWriter writer(rig.list(), kernel_limits(rig.device()->info()));
    writer.begin_node(places, std::span(&output_place, 1));
    const Status written = choice.entry->write({node, args, std::span(&output, 1)}, writer);
    ASSERT_TRUE(written.ok()) << written.message();
    for (const ShaderUse& shader : writer.shaders()) {
        rig.add_pipeline(shader);
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());
}

std::vector<float> result_of(VulkanRig& rig,
                             const char* op_type,
                             const std::vector<Tensor>& inputs,
                             const Shape& shape) {
    const TensorArg output = row_major_arg(DType::kFloat32, shape, nullptr);
    const auto count = size_t(shape.element_count());
    const int64_t size_bytes = shape.element_count() * int64_t(sizeof(float));
    const BufferId buffer = rig.add_buffer(size_bytes);
    run_kernel(rig, op_type, inputs, output, {buffer, 0, size_bytes});
    return rig.read<float>(buffer, count);
}

TEST(VulkanIndices, GatherGivesZerosOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int64_t>({6}, {1, 3, -4, -3, kFar + 1, 1 - kFar});
    EXPECT_THAT(result_of(rig, "Gather", {data, indices}, {6}), ElementsAre(11, 0, 0, 10, 0, 0));
}

TEST(VulkanIndices, GatherElementsGivesZerosOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3, 1}, {10, 11, 12});
    const Tensor indices = tensor_of<int32_t>({4, 1}, {2, 3, -1, -4});
    EXPECT_THAT(result_of(rig, "GatherElements", {data, indices}, {4, 1}),
                ElementsAre(12, 0, 12, 0));
}

TEST(VulkanIndices, GatherNdGivesZerosOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({2, 2}, {10, 11, 12, 13});
    const Tensor indices = tensor_of<int64_t>({3, 2}, {1, 0, 0, 2, kFar, 0});
    EXPECT_THAT(result_of(rig, "GatherND", {data, indices}, {3}), ElementsAre(12, 0, 0));
}

TEST(VulkanIndices, ScatterNdLeavesOutWhatIsOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int64_t>({4, 1}, {3, -3, -4, kFar + 1});
    const Tensor updates = tensor_of<float>({4}, {1, 2, 3, 4});
    EXPECT_THAT(result_of(rig, "ScatterND", {data, indices, updates}, {3}), ElementsAre(2, 11, 12));
}

TEST(VulkanIndices, ScatterElementsLeavesOutWhatIsOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int32_t>({3}, {-1, 3, -4});
    const Tensor updates = tensor_of<float>({3}, {1, 2, 3});
    EXPECT_THAT(result_of(rig, "ScatterElements", {data, indices, updates}, {3}),
                ElementsAre(10, 11, 1));
}

}  // namespace
}  // namespace leat::vulkan
