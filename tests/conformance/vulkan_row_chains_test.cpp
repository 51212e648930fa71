// Softmax, normalizations and reductions with random chains of element-wise operators before and
// behind them, each in one dispatch, against the reference kernels one by one.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "conformance/op_difference.h"
#include "conformance/reference_node.h"
#include "conformance/vulkan_kernel_run.h"
#include "ops/elementwise/attached_chains_vulkan.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/node_vulkan.h"

namespace leat::testing {
namespace {

using vulkan::chain_input;
using vulkan::chain_result;
using vulkan::ElementwiseChain;
using vulkan::KernelLimits;

// A chain as the tensors that it gives, and as the kernel has it.
struct RandomChain {
    ElementwiseChain chain;
    std::vector<Tensor> inputs;  // of the chain
    Tensor result;
};

// A shape that broadcasts to `shape`: some leading axes are missing, some others are 1.
Shape random_part(const Shape& shape, std::mt19937& random) {
    std::vector<int64_t> extents;
    for (int axis = int(random() % uint32_t(shape.rank() + 1)); axis < shape.rank(); ++axis) {
        extents.push_back(random() % 3 == 0 ? 1 : shape[axis]);
    }
    return *Shape::make(extents);
}

void append(RandomChain& chain, const NodeData& node, const Tensor* addend) {
    const DType dtype = chain.result.dtype();
    const std::vector<DType> types = {dtype, dtype};
    std::vector<const Tensor*> operands = {&chain.result};
    std::vector<vulkan::ChainOperand> placed = {
        chain.chain.steps.empty() ? chain_input(0) : chain_result(chain.chain.steps.size() - 1)};
    if (addend != nullptr) {
        operands.push_back(addend);
        placed.push_back(chain_input(chain.inputs.size()));
        chain.inputs.push_back(*addend);
    }
    append_steps(node, {std::span(types).first(operands.size()), std::span(types).first(1)}, placed,
                 chain.chain.steps);
    chain.result = evaluated(node, operands);
}

// One to three operators on x, whose values stay small.
RandomChain random_chain(const Tensor& x, std::mt19937& random) {
    RandomChain chain{{}, {x}, x};
    constexpr const char* kBinary[] = {"Add", "Mul", "Sub", "Max"};
    const bool is_real = contains(kFloatTypes, x.dtype());
    for (uint32_t i = 0, count = 1 + random() % 2; i < count; ++i) {
        const Tensor addend = random_tensor(x.dtype(), random_part(x.shape(), random), random(),
                                            is_real ? -1.5 : 0, is_real ? 1.5 : 3);
        append(chain, node_of(kBinary[random() % std::size(kBinary)], 2), &addend);
    }
    if (is_real && random() % 2 == 0) {
        append(chain, node_of("LeakyRelu", 1, {{"alpha", 0.3F}}), nullptr);
    }
    chain.chain.shape = x.shape();
    return chain;
}

struct RowNode {
    NodeData node;
    Shape x;
    std::vector<Shape> others;                 // real operands
    std::optional<std::vector<int64_t>> axes;  // the last operand
};

struct ChainPlaces {
    bool has_prologue = true;
    bool has_epilogue = true;
    bool is_stored = false;
    bool checks_addresses = false;
};

// Input 0 of a chain is operand 0, the others are appended.
void place_inputs(RandomChain& chain, std::vector<Tensor>& operands) {
    for (size_t i = 0; i < chain.inputs.size(); ++i) {
        const Tensor& input = chain.inputs[i];
        const size_t number = i == 0 ? 0 : operands.size();
        chain.chain.inputs.push_back(
            {input.dtype(), input.shape(), vulkan::input_ref(int32_t(number))});
        if (i > 0) {
            operands.push_back(input);
        }
    }
}

// A node with its chains, and what the reference kernels make of it.
struct RowCase {
    RowCase(const RowNode& row, DType dtype, uint32_t seed, const ChainPlaces& places);

    NodeData node;
    std::vector<Tensor> operands;  // the node's, then those of the chains
    std::vector<TensorArg> args;   // of the node
    RandomChain prologue;
    RandomChain epilogue;
    Tensor plain;
};

RowCase::RowCase(const RowNode& row, DType dtype, uint32_t seed, const ChainPlaces& places)
    : node(row.node) {
    std::mt19937 random(seed);
    const bool is_real = contains(kFloatTypes, dtype);
    const Tensor x = random_tensor(dtype, row.x, seed, is_real ? -1.5 : 0, is_real ? 1.5 : 3);
    prologue = places.has_prologue ? random_chain(x, random) : RandomChain{{}, {x}, x};
    operands = {x};
    for (const Shape& shape : row.others) {
        operands.push_back(random_tensor(dtype, shape, seed + operands.size()));
    }
    if (row.axes) {
        operands.push_back(*Tensor::from<int64_t>({int64_t(row.axes->size())}, *row.axes));
    }
    std::vector<const Tensor*> node_operands = {&prologue.result};
    args = {row_major_arg(dtype, row.x, nullptr)};
    for (size_t i = 1; i < operands.size(); ++i) {
        // The host knows axes.
        void* data = operands[i].mutable_bytes();
        node_operands.push_back(&operands[i]);
        args.push_back(row_major_arg(operands[i].dtype(), operands[i].shape(), data));
    }
    plain = evaluated(node, node_operands);
    epilogue = places.has_epilogue ? random_chain(plain, random) : RandomChain{{}, {plain}, plain};
    place_inputs(prologue, operands);
    place_inputs(epilogue, operands);
}

class VulkanRowChains : public VulkanTest<::testing::TestWithParam<DType>> {
  protected:
    void expect_like_reference(const RowNode& row, uint32_t seed);
    void expect_like_reference(const RowNode& row, uint32_t seed, const ChainPlaces& places);
};

void VulkanRowChains::expect_like_reference(const RowNode& row, uint32_t seed) {
    expect_like_reference(row, seed, {true, true, false});
    expect_like_reference(row, seed + 1, {true, false, true});
}

void VulkanRowChains::expect_like_reference(const RowNode& row,
                                            uint32_t seed,
                                            const ChainPlaces& places) {
    SCOPED_TRACE(row.node.op_type + " seed " + std::to_string(seed));
    const DType dtype = GetParam();
    RowCase wanted(row, dtype, seed, places);
    std::vector<DType> types;
    types.reserve(wanted.args.size());
    for (const TensorArg& arg : wanted.args) {
        types.push_back(arg.dtype);
    }
    const vulkan::KernelTypes kernel_types{types, std::span(&dtype, 1)};
    ASSERT_TRUE(vulkan::takes_prologue(row.node, kernel_types));
    ASSERT_TRUE(vulkan::takes_epilogue(row.node, kernel_types));
    const vulkan::KernelChoice choice = choose_kernel(row.node, kernel_types);
    ASSERT_NE(choice.entry, nullptr) << choice.reason;
    vulkan::AttachedChains chains;
    chains.prologue = places.has_prologue ? &wanted.prologue.chain : nullptr;
    chains.epilogue = places.has_epilogue ? &wanted.epilogue.chain : nullptr;
    std::vector<Tensor> outputs = {*Tensor::allocate(dtype, wanted.plain.shape())};
    if (places.is_stored) {
        chains.stored = vulkan::output_ref(1);
        outputs.push_back(*Tensor::allocate(dtype, row.x));
    }
    size_t operands = chains.stored ? 1 : 0;
    for (const vulkan::ElementwiseChain* chain : {chains.prologue, chains.epilogue}) {
        operands += chain == nullptr ? 0 : chain->inputs.size() - 1;
    }
    ASSERT_LE(operands, vulkan::max_attached_operands(row.node));
    const TensorArg result = row_major_arg(dtype, wanted.plain.shape(), nullptr);
    const vulkan::KernelNode kernel_node{row.node, wanted.args, std::span(&result, 1)};
    const auto write = [&](vulkan::KernelWriter& writer) {
        return write_with_chains(
            [&](vulkan::KernelWriter& own) { return choice.entry->write(kernel_node, own); },
            chains, writer);
    };
    OpCase tolerance;
    tolerance.rtol = dtype == DType::kBfloat16 ? 0.02 : dtype == DType::kFloat16 ? 0.004 : 1e-5;
    tolerance.atol = bits_of(dtype) == 16 ? 0.03 : 2e-5;
    OpCase stored;
    stored.rtol = bits_of(dtype) <= 16 ? 0 : 1e-6;
    stored.atol = bits_of(dtype) <= 16 ? 0 : 1e-7;
    // Those without shared memory have the same kernels.
    const std::vector<KernelLimits> kinds = kinds_of_limits(*device_);
    for (const KernelLimits& limits : std::span(kinds).first(2)) {
        run_in_one_dispatch(device_, {limits, places.checks_addresses}, wanted.operands, outputs,
                            write);
        EXPECT_EQ(difference(outputs[0], wanted.epilogue.result, tolerance), "");
        if (places.is_stored) {
            EXPECT_EQ(difference(outputs[1], wanted.prologue.result, stored), "");
        }
    }
}

class VulkanRealRowChains : public VulkanRowChains {};
class VulkanIntegerRowChains : public VulkanRowChains {};
class VulkanCheckedRowChains : public VulkanRowChains {};

// Rows of one invocation and of many; of the last axis and of others.
TEST_P(VulkanRealRowChains, AroundSoftmax) {
    expect_like_reference({node_of("Softmax", 1), {3, 5, 67}, {}, {}}, 10);
    expect_like_reference({node_of("LogSoftmax", 1, {{"axis", int64_t{1}}}), {2, 9, 50}, {}, {}},
                          20);
}

TEST_P(VulkanRealRowChains, AroundNormalizations) {
    expect_like_reference({node_of("LayerNormalization", 3), {2, 7, 40}, {{40}, {40}}, {}}, 40);
    expect_like_reference(
        {node_of("LayerNormalization", 2, {{"axis", int64_t{1}}}), {90, 3, 5}, {{3, 5}}, {}}, 50);
    expect_like_reference({node_of("InstanceNormalization", 3), {2, 6, 4, 9}, {{6}, {6}}, {}}, 60);
}

TEST_P(VulkanRealRowChains, AroundReductions) {
    expect_like_reference(
        {node_of("ReduceSum", 2, {{"keepdims", int64_t{1}}}), {3, 4, 50}, {}, {{-1}}}, 70);
    expect_like_reference(
        {node_of("ReduceMax", 2, {{"keepdims", int64_t{0}}}), {5, 6, 2, 13}, {}, {{0, 2}}}, 80);
    expect_like_reference({node_of("ReduceL2", 2), {7, 33}, {}, {{1}}}, 90);
}

// Kernels with their chains touch nothing but their operands.
TEST_P(VulkanCheckedRowChains, StayInTheirOperands) {
    const ChainPlaces checked{true, true, true, true};
    expect_like_reference({node_of("Softmax", 1), {3, 5, 67}, {}, {}}, 110, checked);
    expect_like_reference({node_of("LayerNormalization", 2), {5, 40}, {{40}}, {}}, 120,
                          {true, false, true, true});
    expect_like_reference({node_of("ReduceSum", 2), {6, 9}, {}, {{0}}}, 130, checked);
}

TEST_P(VulkanIntegerRowChains, AroundReductions) {
    expect_like_reference({node_of("ReduceMax", 2), {3, 4, 50}, {}, {{-1}}}, 90);
    if (bits_of(GetParam()) >= 32) {  // no kernel sums bytes
        expect_like_reference({node_of("ReduceSum", 2), {5, 6, 2, 13}, {}, {{0, 2}}}, 100);
    }
}

std::string name_of_type(const ::testing::TestParamInfo<DType>& test) {
    return std::string(name_of(test.param));
}

INSTANTIATE_TEST_SUITE_P(
    Types,
    VulkanRealRowChains,
    ::testing::Values(DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kFloat64),
    name_of_type);
INSTANTIATE_TEST_SUITE_P(
    Types,
    VulkanIntegerRowChains,
    ::testing::Values(DType::kInt8, DType::kUint8, DType::kInt32, DType::kUint64),
    name_of_type);

INSTANTIATE_TEST_SUITE_P(Types,
                         VulkanCheckedRowChains,
                         ::testing::Values(DType::kFloat32),
                         name_of_type);

}  // namespace
}  // namespace leat::testing
