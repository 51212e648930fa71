// Chains of element-wise operators as one kernel, against the reference kernels one by one; and
// elementary functions where the operators' cases do not go.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/vulkan/record/list_writer.h"
#include "base/round_up.h"
#include "conformance/op_difference.h"
#include "conformance/reference_node.h"
#include "conformance/vulkan_kernel_run.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/node_vulkan.h"
#include "support/vulkan_rig.h"

namespace leat::testing {
namespace {

using vulkan::chain_input;
using vulkan::chain_result;
using vulkan::ChainOperand;
using vulkan::ElementwiseChain;
using vulkan::VulkanRig;

// An operator of a chain; operands are inputs of the chain or results of nodes before.
struct ChainNode {
    std::string op_type;
    std::vector<ChainOperand> operands;
    Attributes attributes = {};
};

Tensor random_tensor(DType dtype, const Shape& shape, double low = -3, double high = 3) {
    Tensor tensor = *Tensor::allocate(dtype, shape);
    uint64_t state = 12345;
    for (int64_t i = 0; i < shape.element_count(); ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const double value = low + double(state >> 11) * 0x1p-53 * (high - low);
        store_real(dtype, tensor.mutable_bytes(), i,
                   contains(kFloatTypes, dtype) ? value : std::round(value));
    }
    return tensor;
}

NodeData chain_node_data(const ChainNode& chain_node) {
    NodeData node;
    node.op_type = chain_node.op_type;
    node.def = find_op("", chain_node.op_type);
    node.attributes = chain_node.attributes;
    for (size_t i = 0; i < chain_node.operands.size(); ++i) {
        node.inputs.push_back(ValueId{int32_t(i)});
    }
    node.outputs.push_back(ValueId{int32_t(chain_node.operands.size())});
    return node;
}

class VulkanChains : public VulkanTest<::testing::Test> {
  protected:
    // The chain's output of elements of `dtype`.
    Tensor run(ElementwiseChain& chain, const std::vector<Tensor>& inputs, DType dtype);
    // The chain in one dispatch gives what its nodes give one by one.
    void expect_like_reference(const std::vector<ChainNode>& nodes,
                               const std::vector<Tensor>& inputs,
                               double rtol = 1e-6);
};

Tensor VulkanChains::run(ElementwiseChain& chain, const std::vector<Tensor>& inputs, DType dtype) {
    const auto rounded = [](const Tensor& tensor) {
        return round_up(tensor.byte_count(), int64_t{4});
    };
    auto made = VulkanRig::make_on(device_);
    if (!made.ok()) {
        ADD_FAILURE() << made.error().message();
        return {};
    }
    VulkanRig& rig = **made;
    std::vector<vulkan::PlacedOperand> places;
    places.reserve(inputs.size());
    for (const Tensor& input : inputs) {
        std::vector<std::byte> bytes(size_t(rounded(input)));
        std::copy_n(input.bytes(), input.byte_count(), bytes.begin());
        places.push_back({rig.add_buffer(rounded(input)), 0, input.byte_count()});
        rig.write(places.back().buffer, bytes);
        chain.inputs.push_back(
            {input.dtype(), input.shape(), vulkan::input_ref(int32_t(places.size() - 1))});
    }
    Tensor output = *Tensor::allocate(dtype, chain.shape);
    const vulkan::PlacedOperand place{rig.add_buffer(rounded(output)), 0, output.byte_count()};
    chain.output = vulkan::output_ref(0);
    vulkan::ListWriter writer(rig.list(), vulkan::kernel_limits(rig.device()->info()));
    writer.begin_node(places, std::span(&place, 1));
    const Status written = write_elementwise_chain(chain, writer);
    if (!written.ok()) {
        ADD_FAILURE() << written.message();
        return {};
    }
    rig.add_pipeline(writer.shaders()[0]);
    const auto recording = rig.record();
    if (!recording.ok()) {
        ADD_FAILURE() << recording.error().message();
        return {};
    }
    const Status status = rig.run(**recording);
    EXPECT_TRUE(status.ok()) << status.message();
    const auto found = rig.read<std::byte>(place.buffer, size_t(rounded(output)));
    std::copy_n(found.begin(), output.byte_count(), output.mutable_bytes());
    return output;
}

void VulkanChains::expect_like_reference(const std::vector<ChainNode>& nodes,
                                         const std::vector<Tensor>& inputs,
                                         double rtol) {
    ElementwiseChain chain;
    std::vector<Tensor> results;
    results.reserve(nodes.size());
    // A node may take several steps: where the result of each stands.
    std::vector<size_t> last_steps;
    for (const ChainNode& chain_node : nodes) {
        const NodeData node = chain_node_data(chain_node);
        std::vector<const Tensor*> operands;
        std::vector<ChainOperand> placed = chain_node.operands;
        std::vector<DType> types;
        for (ChainOperand& operand : placed) {
            const bool is_input = operand.kind == ChainOperand::Kind::kInput;
            operands.push_back(is_input ? &inputs[operand.index] : &results[operand.index]);
            types.push_back(operands.back()->dtype());
            operand.index = is_input ? operand.index : uint32_t(last_steps[operand.index]);
        }
        results.push_back(evaluated(node, operands));
        const DType result = results.back().dtype();
        const vulkan::KernelTypes kernel_types{types, std::span(&result, 1)};
        ASSERT_EQ(vulkan::elementwise_refusal(node, kernel_types), "");
        append_steps(node, kernel_types, placed, chain.steps);
        last_steps.push_back(chain.steps.size() - 1);
    }
    chain.shape = results.back().shape();
    const Tensor got = run(chain, inputs, results.back().dtype());
    ASSERT_TRUE(got.defined());
    OpCase tolerance;
    tolerance.rtol = rtol;
    tolerance.atol = rtol == 0 ? 0 : 1e-7;
    EXPECT_EQ(difference(got, results.back(), tolerance), "");
}

// x -> Mul -> Add -> Relu
TEST_F(VulkanChains, ScaleShiftAndRelu) {
    expect_like_reference(
        {{"Mul", {chain_input(0), chain_input(1)}},
         {"Add", {chain_result(0), chain_input(2)}},
         {"Relu", {chain_result(1)}}},
        {random_tensor(DType::kFloat32, {2, 5, 3, 7}), random_tensor(DType::kFloat32, {5, 1, 1}),
         random_tensor(DType::kFloat32, {5, 1, 1})});
}

// x -> Sigmoid -> Mul with x: one input twice, all dense and not a multiple of 4 elements.
TEST_F(VulkanChains, InputUsedTwice) {
    expect_like_reference(
        {{"Sigmoid", {chain_input(0)}}, {"Mul", {chain_result(0), chain_input(0)}}},
        {random_tensor(DType::kFloat32, {3, 37})});
}

// What is stored between the nodes of 16 bits is rounded in the chain, too: the same bits.
TEST_F(VulkanChains, HalvesAreRoundedBetweenNodes) {
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        expect_like_reference({{"Mul", {chain_input(0), chain_input(1)}},
                               {"Add", {chain_result(0), chain_input(0)}},
                               {"Sub", {chain_result(1), chain_result(0)}}},
                              {random_tensor(dtype, {999}), random_tensor(dtype, {999}, 1, 9)}, 0);
    }
}

// Bytes wrap between the nodes.
TEST_F(VulkanChains, NarrowIntegersWrapBetweenNodes) {
    for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16}) {
        const double high = dtype == DType::kInt8 ? 127 : 250;
        expect_like_reference(
            {{"Mul", {chain_input(0), chain_input(1)}},
             {"Div", {chain_result(0), chain_input(2)}},
             {"Max", {chain_result(1), chain_input(0), chain_input(1)}}},
            {random_tensor(dtype, {41, 3}, 1, high), random_tensor(dtype, {41, 3}, 1, high),
             random_tensor(dtype, {3}, 1, 7)});
    }
}

// Cast -> Less -> Where: several types in one kernel.
TEST_F(VulkanChains, TypesChange) {
    expect_like_reference(
        {{"Cast", {chain_input(0)}, {{"to", int64_t(DType::kInt64)}}},
         {"Less", {chain_result(0), chain_input(1)}},
         {"Not", {chain_result(1)}},
         {"Where", {chain_result(2), chain_input(0), chain_input(2)}}},
        {random_tensor(DType::kFloat32, {6, 11}, -9, 9), random_tensor(DType::kInt64, {11}, -5, 5),
         random_tensor(DType::kFloat32, {})});
}

// Mod -> Cast -> Add: of integers alone the remainder needs no doubles.
TEST_F(VulkanChains, AnOperatorOfIntegersIsNoneOfFloats) {
    expect_like_reference(
        {{"Mod", {chain_input(0), chain_input(1)}},
         {"Cast", {chain_result(0)}, {{"to", int64_t(DType::kFloat32)}}},
         {"Add", {chain_result(1), chain_input(2)}}},
        {random_tensor(DType::kInt32, {6, 11}, -90, 90), random_tensor(DType::kInt32, {11}, 3, 9),
         random_tensor(DType::kFloat32, {11})});
}

// Cast -> Cast -> Mul -> Cast: what an 8-bit floating type has no code for is lost in the chain,
// too.
TEST_F(VulkanChains, EightBitFloatsAreRoundedBetweenNodes) {
    for (const DType dtype : {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                              DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0}) {
        for (const int64_t saturate : {0, 1}) {
            SCOPED_TRACE(fmt::format("{} {}", name_of(dtype), saturate));
            const Attributes narrow = {{"to", int64_t(dtype)}, {"saturate", saturate}};
            const Attributes widen = {{"to", int64_t(DType::kFloat32)}};
            expect_like_reference({{"Cast", {chain_input(0)}, narrow},
                                   {"Cast", {chain_result(0)}, widen},
                                   {"Mul", {chain_result(1), chain_input(1)}},
                                   {"Cast", {chain_result(2)}, narrow}},
                                  {random_tensor(DType::kFloat32, {5, 203}, -600, 600),
                                   random_tensor(DType::kFloat32, {203}, -2, 2)},
                                  0);
        }
    }
}

// Steps of a chain round numbers, so a copy of codes, which keeps each NaN, is none.
TEST_F(VulkanChains, CopiesOfEightBitFloatsAreNoSteps) {
    const NodeData node =
        chain_node_data({"Cast", {chain_input(0)}, {{"to", int64_t(DType::kFloat8E5M2)}}});
    const DType same = DType::kFloat8E5M2;
    const DType other = DType::kFloat8E4M3FN;
    EXPECT_NE(vulkan::step_refusal(node, {std::span(&same, 1), std::span(&same, 1)}), "");
    EXPECT_EQ(vulkan::step_refusal(node, {std::span(&other, 1), std::span(&same, 1)}), "");
    const NodeData where =
        chain_node_data({"Where", {chain_input(0), chain_input(1), chain_input(2)}});
    const DType inputs[] = {DType::kBool, same, same};
    EXPECT_EQ(vulkan::elementwise_refusal(where, {inputs, std::span(&same, 1)}), "");
    EXPECT_NE(vulkan::step_refusal(where, {inputs, std::span(&same, 1)}), "");
    const NodeData sum = chain_node_data({"Add", {chain_input(0), chain_input(1)}});
    EXPECT_NE(vulkan::elementwise_refusal(sum, {std::span(inputs + 1, 2), std::span(&same, 1)}),
              "");
}

TEST_F(VulkanChains, ParametersOfSeveralNodes) {
    expect_like_reference({{"LeakyRelu", {chain_input(0)}, {{"alpha", 0.3F}}},
                           {"Elu", {chain_result(0)}, {{"alpha", 1.5F}}},
                           {"HardSigmoid", {chain_result(1)}, {{"alpha", 0.1F}, {"beta", 0.4F}}},
                           {"Mean", {chain_result(2), chain_input(0), chain_result(0)}}},
                          {random_tensor(DType::kFloat32, {1000})});
}

TEST_F(VulkanChains, TooManyInputsAreRefused) {
    ElementwiseChain chain;
    chain.shape = {4};
    for (size_t i = 0; i <= vulkan::kMaxChainInputs; ++i) {
        chain.inputs.push_back({DType::kFloat32, {4}, vulkan::input_ref(int32_t(i))});
    }
    chain.steps.push_back({"Relu", DType::kFloat32, DType::kFloat32, {chain_input(0)}});
    vulkan::CommandList list;
    vulkan::ListWriter writer(list, vulkan::kernel_limits(device_->info()));
    EXPECT_EQ(write_elementwise_chain(chain, writer).code(), StatusCode::kUnsupported);
}

// Doubles of every size: the reductions of large arguments, subnormal numbers and both tails.
TEST_F(VulkanChains, DoubleFunctionsOfAnyArgument) {
    std::vector<double> x = {0.0,       5e-324,
                             1e-310,    1e-20,
                             1e-9,      0.3,
                             0.5,       0.9999,
                             1.0,       1.0001,
                             2.5,       6.9,
                             20.0,      26.0,
                             709.5,     710.2,
                             1e5,       1048575.9,
                             1048576.5, 1e9,
                             1e22,      6381956970095103.0 * 0x1p797,
                             1e300,     1.7e308};
    const size_t half = x.size();
    for (size_t i = 0; i < half; ++i) {
        x.push_back(-x[i]);
    }
    x.push_back(std::numeric_limits<double>::infinity());
    x.push_back(-std::numeric_limits<double>::infinity());
    x.push_back(std::numeric_limits<double>::quiet_NaN());
    const Tensor input = *Tensor::from<double>({int64_t(x.size())}, x);
    for (const char* op : {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf",
                           "Exp", "Log", "Sigmoid", "Sin", "Sinh", "Softplus", "Tan", "Tanh"}) {
        SCOPED_TRACE(op);
        expect_like_reference({{op, {chain_input(0)}}}, {input}, 1e-13);
    }
}

TEST_F(VulkanChains, FloatFunctionsOfLargeArguments) {
    std::vector<float> x;
    for (float value = 1.0F; value < 3e38F; value *= 1.37F) {
        x.push_back(value);
        x.push_back(-value);
    }
    const Tensor input = *Tensor::from<float>({int64_t(x.size())}, x);
    for (const char* op : {"Cos", "Sin", "Tan", "Asinh", "Sqrt", "Softsign"}) {
        SCOPED_TRACE(op);
        expect_like_reference({{op, {chain_input(0)}}}, {input}, 1e-6);
    }
}

// Quotients of thousands of binary digits.
TEST_F(VulkanChains, RemaindersAreExact) {
    const Tensor x =
        *Tensor::from<double>({12}, std::vector<double>{1e300, -1e300, 5.5, 1e17, 7.0, -7.0, 1e-300,
                                                        3.0, 1.7e308, 1e-300, 1.0, 1e-308});
    const Tensor y =
        *Tensor::from<double>({12}, std::vector<double>{3.7, 1e-10, -2.25, 3.0, 0.0, 1e308, 7e-305,
                                                        3.0, 15e-324, 3e-320, 7e-310, 1e-309});
    expect_like_reference({{"Mod", {chain_input(0), chain_input(1)}, {{"fmod", int64_t{1}}}}},
                          {x, y}, 0);
    const Tensor a =
        *Tensor::from<float>({4}, std::vector<float>{3e38F, -3e38F, 1e20F, 16777215.0F});
    const Tensor b = *Tensor::from<float>({4}, std::vector<float>{1e-30F, 0.7F, 3.3e-38F, 3.0F});
    expect_like_reference({{"Mod", {chain_input(0), chain_input(1)}, {{"fmod", int64_t{1}}}}},
                          {a, b}, 0);
}

// Pow of all pairs of numbers with rules of their own.
TEST_F(VulkanChains, PowersOfSpecialNumbers) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const std::vector<double> special = {0.0,          -0.0,  1.0,    -1.0, 0.5,    -0.5,
                                         2.0,          -2.0,  3.0,    -3.0, kInf,   -kInf,
                                         std::nan(""), 1e300, -1e300, 0.99, 1023.0, -1075.0};
    const auto count = int64_t(special.size());
    const Tensor x = *Tensor::from<double>({count, 1}, special);
    const Tensor y = *Tensor::from<double>({count}, special);
    expect_like_reference({{"Pow", {chain_input(0), chain_input(1)}}}, {x, y}, 1e-12);
}

}  // namespace
}  // namespace leat::testing
