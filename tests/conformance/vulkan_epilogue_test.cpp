// Epilogues of products and convolutions in one dispatch, against the reference kernels one by one:
// every kernel that takes them, every element type.
#include <gtest/gtest.h>

#include "backends/vulkan/record/list_writer.h"
#include "backends/vulkan/shader/glsl_compiler.h"
#include "backends/vulkan/shader/matrix_spirv.h"
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

// LeakyRelu((y + by_channel) * dense): a broadcast operand, a dense one and a constant.
struct Epilogue {
    Tensor addend;
    Tensor factor;

    static constexpr float kAlpha = 0.3F;

    Tensor applied_to(const Tensor& y) const {
        const Tensor sum = evaluated(node_of("Add", 2), {&y, &addend});
        const Tensor product = evaluated(node_of("Mul", 2), {&sum, &factor});
        return evaluated(node_of("LeakyRelu", 1, {{"alpha", kAlpha}}), {&product});
    }

    // Operands number `first` and the next one of the writer.
    ElementwiseChain chain(size_t first) const {
        const DType dtype = factor.dtype();
        const std::vector<DType> pair = {dtype, dtype};
        const vulkan::KernelTypes types{pair, std::span(pair).first(1)};
        const vulkan::KernelTypes unary{std::span(pair).first(1), std::span(pair).first(1)};
        ElementwiseChain chain;
        chain.shape = factor.shape();
        chain.inputs = {{dtype, factor.shape(), {}},
                        {dtype, addend.shape(), vulkan::input_ref(int32_t(first))},
                        {dtype, factor.shape(), vulkan::input_ref(int32_t(first) + 1)}};
        append_steps(node_of("Add", 2), types, std::vector{chain_input(0), chain_input(1)},
                     chain.steps);
        append_steps(node_of("Mul", 2), types, std::vector{chain_result(0), chain_input(2)},
                     chain.steps);
        append_steps(node_of("LeakyRelu", 1, {{"alpha", kAlpha}}), unary,
                     std::vector{chain_result(1)}, chain.steps);
        return chain;
    }
};

class VulkanEpilogues : public VulkanTest<::testing::TestWithParam<DType>> {
  protected:
    void expect_like_reference(const NodeData& node,
                               const std::vector<Tensor>& inputs,
                               const Shape& addend);
    void run(const NodeData& node,
             const std::vector<Tensor>& inputs,
             const Epilogue& epilogue,
             const KernelLimits& limits,
             Tensor& y);
};

void VulkanEpilogues::run(const NodeData& node,
                          const std::vector<Tensor>& inputs,
                          const Epilogue& epilogue,
                          const KernelLimits& limits,
                          Tensor& y) {
    std::vector<Tensor> operands = inputs;
    operands.push_back(epilogue.addend);
    operands.push_back(epilogue.factor);
    std::vector<TensorArg> args;
    std::vector<DType> types;
    args.reserve(operands.size());
    types.reserve(operands.size());
    for (const Tensor& operand : operands) {
        args.push_back(row_major_arg(operand.dtype(), operand.shape(), nullptr));
        types.push_back(operand.dtype());
    }
    const TensorArg result = row_major_arg(y.dtype(), y.shape(), nullptr);
    const DType dtype = y.dtype();
    const vulkan::KernelTypes kernel_types{std::span(types).first(inputs.size()),
                                           std::span(&dtype, 1)};
    ASSERT_TRUE(vulkan::takes_epilogue(node, kernel_types));
    const vulkan::KernelChoice choice = choose_kernel(node, kernel_types);
    ASSERT_NE(choice.entry, nullptr) << choice.reason;
    const ElementwiseChain chain = epilogue.chain(inputs.size());
    const vulkan::KernelNode kernel_node{node, std::span(args).first(inputs.size()),
                                         std::span(&result, 1)};
    run_in_one_dispatch(
        device_, {limits}, operands, std::span(&y, 1), [&](vulkan::KernelWriter& writer) {
            return write_with_chains(
                [&](vulkan::KernelWriter& own) { return choice.entry->write(kernel_node, own); },
                {nullptr, &chain}, writer);
        });
}

void VulkanEpilogues::expect_like_reference(const NodeData& node,
                                            const std::vector<Tensor>& inputs,
                                            const Shape& addend) {
    std::vector<const Tensor*> operands;
    operands.reserve(inputs.size());
    for (const Tensor& input : inputs) {
        operands.push_back(&input);
    }
    const DType dtype = inputs[0].dtype();
    const Tensor plain = evaluated(node, operands);
    const Epilogue epilogue{random_tensor(dtype, addend, 91),
                            random_tensor(dtype, plain.shape(), 92)};
    const Tensor want = epilogue.applied_to(plain);
    OpCase tolerance;
    // Sums in another order, then rounded to 11 or 8 bits.
    const bool is_narrow = bits_of(dtype) == 16;
    tolerance.rtol = dtype == DType::kBfloat16 ? 0.02 : is_narrow ? 0.003 : 1e-5;
    tolerance.atol = is_narrow ? 0.02 : 1e-5;
    for (const KernelLimits& limits : kinds_of_limits(*device_)) {
        Tensor got = *Tensor::allocate(dtype, plain.shape());
        run(node, inputs, epilogue, limits, got);
        EXPECT_EQ(difference(got, want, tolerance), "")
            << "CPU " << limits.is_cpu << ", shared memory " << limits.shared_memory_bytes;
    }
}

TEST_P(VulkanEpilogues, OfProducts) {
    expect_like_reference(
        node_of("MatMul", 2),
        {random_tensor(GetParam(), {2, 3, 19, 21}, 1), random_tensor(GetParam(), {3, 21, 37}, 2)},
        {37});
    expect_like_reference(
        node_of("MatMul", 2),
        {random_tensor(GetParam(), {5, 7, 8}, 3), random_tensor(GetParam(), {8, 70}, 4)}, {7, 1});
    // Enough for tiles of matrices.
    expect_like_reference(
        node_of("MatMul", 2),
        {random_tensor(GetParam(), {2, 33, 35}, 15), random_tensor(GetParam(), {35, 45}, 16)},
        {45});
}

TEST_P(VulkanEpilogues, OfGemmWithItsOwnAddend) {
    expect_like_reference(
        node_of("Gemm", 3, {{"transA", int64_t{1}}, {"alpha", 0.5F}, {"beta", 2.0F}}),
        {random_tensor(GetParam(), {11, 6}, 5), random_tensor(GetParam(), {11, 33}, 6),
         random_tensor(GetParam(), {33}, 7)},
        {6, 1});
}

TEST_P(VulkanEpilogues, OfConvolutions) {
    expect_like_reference(
        node_of("Conv", 3, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}),
        {random_tensor(GetParam(), {2, 3, 9, 11}, 8), random_tensor(GetParam(), {18, 3, 3, 3}, 9),
         random_tensor(GetParam(), {18}, 10)},
        {18, 1, 1});
    // Enough for tiles of matrices.
    expect_like_reference(node_of("Conv", 2),
                          {random_tensor(GetParam(), {1, 5, 9, 11}, 17),
                           random_tensor(GetParam(), {33, 5, 3, 3}, 18)},
                          {33, 1, 1});
}

// A product of matrices, and groups of too few channels for tiles.
TEST_P(VulkanEpilogues, OfPointwiseAndDepthwiseConvolutions) {
    expect_like_reference(
        node_of("Conv", 2),
        {random_tensor(GetParam(), {2, 5, 4, 7}, 11), random_tensor(GetParam(), {9, 5, 1, 1}, 12)},
        {9, 1, 1});
    expect_like_reference(
        node_of("Conv", 2, {{"group", int64_t{6}}}),
        {random_tensor(GetParam(), {1, 6, 8, 8}, 13), random_tensor(GetParam(), {6, 1, 3, 3}, 14)},
        {1, 6, 1, 1});
}

// For devices with cooperative matrices, of which there is none here: the text is a shader, and its
// words can be rewritten.
TEST_P(VulkanEpilogues, OfMatricesAreSpirv) {
    const DType dtype = GetParam();
    if (dtype == DType::kFloat64) {
        GTEST_SKIP() << "no matrices of f64";
    }
    KernelLimits limits;
    limits.max_workgroup_invocations = 256;
    limits.shared_memory_bytes = 49152;
    limits.f16_matrices = limits.bf16_matrices = vulkan::MatrixShape{16, 16, 16};
    limits.is_fast = true;
    const Epilogue epilogue{random_tensor(dtype, {64}, 1), random_tensor(dtype, {64, 64}, 2)};
    const TensorArg square = row_major_arg(dtype, {64, 64}, nullptr);
    const std::vector<TensorArg> args{square, square};
    const std::vector<DType> types{dtype, dtype};
    const NodeData node = node_of("MatMul", 2);
    vulkan::CommandList list;
    const int64_t bytes = epilogue.factor.byte_count();
    std::vector<vulkan::PlacedOperand> places;
    places.reserve(5);
    for (int i = 0; i < 5; ++i) {
        places.push_back({list.add_buffer(bytes), 0, bytes});
    }
    vulkan::ListWriter writer(list, limits);
    writer.begin_node(std::span(places).first(4), std::span(places).last(1));
    const vulkan::KernelChoice choice =
        vulkan::choose_kernel(node, {types, std::span(types).first(1)});
    const vulkan::KernelNode kernel_node{node, args, std::span(args).first(1)};
    const ElementwiseChain chain = epilogue.chain(2);
    const Status written = write_with_chains(
        [&](vulkan::KernelWriter& own) { return choice.entry->write(kernel_node, own); },
        {nullptr, &chain}, writer);
    ASSERT_TRUE(written.ok()) << written.message();
    const vulkan::ShaderUse& shader = writer.shaders()[0];
    EXPECT_EQ(shader.required_subgroup_size, limits.subgroup_size);
    EXPECT_EQ(shader.has_bfloat16_matrices, dtype == DType::kBfloat16);
    const auto words = vulkan::compile_glsl(shader.name, shader.source);
    ASSERT_TRUE(words.ok()) << words.error().message();
    EXPECT_TRUE(vulkan::has_matrices(*words));
    const auto rewritten = vulkan::with_khr_matrices(
        *words, shader.has_bfloat16_matrices ? vulkan::MatrixNumbers::kBfloat16
                                             : vulkan::MatrixNumbers::kAsWritten);
    EXPECT_TRUE(rewritten.ok()) << rewritten.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    Types,
    VulkanEpilogues,
    ::testing::Values(DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kFloat64),
    [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace leat::testing
