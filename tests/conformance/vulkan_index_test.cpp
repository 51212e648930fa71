// Indices out of range on a device: no memory beyond the operands is touched, gathered elements are
// zeros, scattered ones are left out, and one of the indices is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/record/list_writer.h"
#include "leat/tensor.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using ::testing::AnyOf;
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

struct Outcome {
    std::vector<float> y;
    IndexReport report;
    int64_t told = 0;  // the index; 0 where none was told
    uint32_t axis = 0;
};

// Runs the operator's kernel without attributes on inputs that the host does not know.
void run_kernel(VulkanRig& rig,
                const char* op_type,
                const std::vector<Tensor>& inputs,
                const TensorArg& output,
                PlacedOperand output_place,
                Outcome& outcome) {
    NodeData node;
    node.name = "picks";
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
    ASSERT_EQ(writer.report_buffers().size(), 1U);
    const ReportBuffer& report = writer.report_buffers()[0];
    rig.place_buffer(report.buffer, sizeof(ToldIndex));
    rig.write(report.buffer, std::vector<uint32_t>(4));
    for (const ShaderUse& shader : writer.shaders()) {
        rig.add_pipeline(shader);
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());
    const std::vector<uint32_t> told = rig.read<uint32_t>(report.buffer, 4);
    outcome.report = report.report;
    outcome.axis = told[1];
    outcome.told = told[0] == 0 ? 0 : int64_t(uint64_t{told[3]} << 32 | told[2]);
}

Outcome outcome_of(VulkanRig& rig,
                   const char* op_type,
                   const std::vector<Tensor>& inputs,
                   const Shape& shape) {
    const TensorArg output = row_major_arg(DType::kFloat32, shape, nullptr);
    const auto count = size_t(shape.element_count());
    const int64_t size_bytes = shape.element_count() * int64_t(sizeof(float));
    const BufferId buffer = rig.add_buffer(size_bytes);
    Outcome outcome;
    run_kernel(rig, op_type, inputs, output, {buffer, 0, size_bytes}, outcome);
    outcome.y = rig.read<float>(buffer, count);
    return outcome;
}

TEST(VulkanIndices, GatherGivesZerosOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int64_t>({6}, {1, 3, -4, -3, kFar + 1, 1 - kFar});
    const Outcome outcome = outcome_of(rig, "Gather", {data, indices}, {6});
    EXPECT_THAT(outcome.y, ElementsAre(11, 0, 0, 10, 0, 0));
    EXPECT_THAT(outcome.told, AnyOf(3, -4, kFar + 1, 1 - kFar));
    EXPECT_EQ(outcome.report.node, "node 'picks' (Gather)");
    EXPECT_THAT(outcome.report.extents, ElementsAre(3));
}

TEST(VulkanIndices, NoneIsToldWhereAllAreInRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int64_t>({4}, {0, 2, -1, -3});
    const Outcome outcome = outcome_of(rig, "Gather", {data, indices}, {4});
    EXPECT_THAT(outcome.y, ElementsAre(10, 12, 12, 10));
    EXPECT_EQ(outcome.told, 0);
}

TEST(VulkanIndices, GatherElementsGivesZerosOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3, 1}, {10, 11, 12});
    const Tensor indices = tensor_of<int32_t>({4, 1}, {2, 3, -1, -4});
    const Outcome outcome = outcome_of(rig, "GatherElements", {data, indices}, {4, 1});
    EXPECT_THAT(outcome.y, ElementsAre(12, 0, 12, 0));
    EXPECT_THAT(outcome.told, AnyOf(3, -4));
    EXPECT_THAT(outcome.report.extents, ElementsAre(3));
}

TEST(VulkanIndices, GatherNdGivesZerosOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({2, 2}, {10, 11, 12, 13});
    const Tensor indices = tensor_of<int64_t>({3, 2}, {1, 0, 0, 2, kFar, 0});
    const Outcome outcome = outcome_of(rig, "GatherND", {data, indices}, {3});
    EXPECT_THAT(outcome.y, ElementsAre(12, 0, 0));
    EXPECT_EQ(outcome.told, outcome.axis == 0 ? kFar : 2);
    EXPECT_THAT(outcome.report.extents, ElementsAre(2, 2));
}

TEST(VulkanIndices, ScatterNdLeavesOutWhatIsOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int64_t>({4, 1}, {3, -3, -4, kFar + 1});
    const Tensor updates = tensor_of<float>({4}, {1, 2, 3, 4});
    const Outcome outcome = outcome_of(rig, "ScatterND", {data, indices, updates}, {3});
    EXPECT_THAT(outcome.y, ElementsAre(2, 11, 12));
    EXPECT_THAT(outcome.told, AnyOf(3, -4, kFar + 1));
    EXPECT_THAT(outcome.report.extents, ElementsAre(3));
}

TEST(VulkanIndices, ScatterElementsLeavesOutWhatIsOutOfRange) {
    LEAT_RIG_OR_SKIP(rig);
    const Tensor data = tensor_of<float>({3}, {10, 11, 12});
    const Tensor indices = tensor_of<int32_t>({3}, {-1, 3, -4});
    const Tensor updates = tensor_of<float>({3}, {1, 2, 3});
    const Outcome outcome = outcome_of(rig, "ScatterElements", {data, indices, updates}, {3});
    EXPECT_THAT(outcome.y, ElementsAre(10, 11, 1));
    EXPECT_THAT(outcome.told, AnyOf(3, -4));
    EXPECT_THAT(outcome.report.extents, ElementsAre(3));
}

}  // namespace
}  // namespace leat::vulkan
