// Attention as one kernel against MatMul, the chain, Softmax and MatMul of the reference kernels:
// those of CPU devices, by addresses and by windows, and those of others.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "conformance/op_difference.h"
#include "conformance/reference_node.h"
#include "conformance/vulkan_kernel_run.h"
#include "ops/attention/fused_attention_vulkan.h"
#include "ops/elementwise/attached_chains_vulkan.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/node_vulkan.h"

namespace leat::testing {
namespace {

using vulkan::AttentionArgs;
using vulkan::chain_input;
using vulkan::chain_result;
using vulkan::ElementwiseChain;
using vulkan::KernelLimits;

// Q [batch, rows, depth], K [key_batch, keys, depth], V [batch, keys, columns].
struct Extents {
    std::vector<int64_t> batch;
    std::vector<int64_t> key_batch;
    int64_t rows = 0;
    int64_t keys = 0;
    int64_t depth = 0;
    int64_t columns = 0;
};

Shape matrices(std::vector<int64_t> batch, int64_t rows, int64_t columns) {
    batch.push_back(rows);
    batch.push_back(columns);
    return *Shape::make(batch);
}

// Scores are scaled by an element and get the mask added where there is one.
struct AttentionCase {
    Tensor q;
    Tensor k;
    Tensor v;
    Tensor scale;
    Tensor mask;

    AttentionCase(const Extents& extents, DType dtype, uint64_t seed)
        : q(random_tensor(dtype, matrices(extents.batch, extents.rows, extents.depth), seed)),
          k(random_tensor(
              dtype, matrices(extents.key_batch, extents.keys, extents.depth), seed + 1)),
          v(random_tensor(dtype, matrices(extents.batch, extents.keys, extents.columns), seed + 2)),
          scale(random_tensor(dtype, {1}, seed + 3, 0.5, 2)) {}

    std::vector<Tensor> operands() const {
        std::vector<Tensor> all = {q, k, v, scale};
        if (mask.defined()) {
            all.push_back(mask);
        }
        return all;
    }
    Tensor expected() const;
    ElementwiseChain chain() const;
    AttentionArgs args(const Shape& y) const;
};

std::vector<int64_t> swap_of_last(int rank) {
    std::vector<int64_t> permutation;
    permutation.reserve(size_t(rank));
    for (int axis = 0; axis < rank; ++axis) {
        permutation.push_back(axis);
    }
    std::swap(permutation[size_t(rank - 2)], permutation[size_t(rank - 1)]);
    return permutation;
}

Tensor AttentionCase::expected() const {
    const Tensor transposed =
        evaluated(node_of("Transpose", 1, {{"perm", swap_of_last(k.shape().rank())}}), {&k});
    Tensor scores = evaluated(node_of("MatMul", 2), {&q, &transposed});
    scores = evaluated(node_of("Mul", 2), {&scores, &scale});
    if (mask.defined()) {
        scores = evaluated(node_of("Add", 2), {&scores, &mask});
    }
    const Tensor weights = evaluated(node_of("Softmax", 1), {&scores});
    return evaluated(node_of("MatMul", 2), {&weights, &v});
}

// Operands 3 and 4 of the writer.
ElementwiseChain AttentionCase::chain() const {
    const DType dtype = q.dtype();
    const std::vector<DType> pair = {dtype, dtype};
    const vulkan::KernelTypes types{pair, std::span(pair).first(1)};
    ElementwiseChain chain;
    std::vector<int64_t> extents;
    for (int axis = 0; axis + 1 < q.shape().rank(); ++axis) {
        extents.push_back(q.shape()[axis]);
    }
    extents.push_back(k.shape()[k.shape().rank() - 2]);
    chain.shape = *Shape::make(extents);
    chain.inputs = {{dtype, chain.shape, {}}, {dtype, scale.shape(), vulkan::input_ref(3)}};
    append_steps(node_of("Mul", 2), types, std::vector{chain_input(0), chain_input(1)},
                 chain.steps);
    if (mask.defined()) {
        chain.inputs.push_back({dtype, mask.shape(), vulkan::input_ref(4)});
        append_steps(node_of("Add", 2), types, std::vector{chain_result(0), chain_input(2)},
                     chain.steps);
    }
    return chain;
}

AttentionArgs AttentionCase::args(const Shape& y) const {
    const DType dtype = q.dtype();
    TensorArg transposed = row_major_arg(dtype, k.shape(), nullptr);
    const auto last = size_t(k.shape().rank() - 1);
    std::swap(transposed.strides[last - 1], transposed.strides[last]);
    std::vector<int64_t> extents(k.shape().begin(), k.shape().end());
    std::swap(extents[last - 1], extents[last]);
    transposed.shape = *Shape::make(extents);
    return {row_major_arg(dtype, q.shape(), nullptr), transposed,
            row_major_arg(dtype, v.shape(), nullptr), row_major_arg(dtype, y, nullptr)};
}

class VulkanAttention : public VulkanTest<::testing::Test> {
  protected:
    // By windows, by addresses, and in shared memory.
    std::vector<KernelLimits> kinds() const {
        const std::vector<KernelLimits> kinds = kinds_of_limits(*device_);
        KernelLimits addresses = kinds[0];
        addresses.max_window_texels = 0;
        return {kinds[0], addresses, kinds[1]};
    }
    void expect_like_reference(const AttentionCase& wanted, const OpCase& tolerance);
    void expect_like_reference(const AttentionCase& wanted) {
        OpCase tolerance;
        tolerance.rtol = 2e-5;
        tolerance.atol = 2e-6;
        expect_like_reference(wanted, tolerance);
    }
    bool checks_addresses_ = false;
};

void VulkanAttention::expect_like_reference(const AttentionCase& wanted, const OpCase& tolerance) {
    const Tensor expected = wanted.expected();
    const AttentionArgs args = wanted.args(expected.shape());
    const ElementwiseChain chain = wanted.chain();
    for (const KernelLimits& limits : kinds()) {
        SCOPED_TRACE(fmt::format("q {} k {} CPU {} windows {}", wanted.q.shape().to_string(),
                                 wanted.k.shape().to_string(), limits.is_cpu,
                                 limits.max_window_texels));
        if (!attention_refusal(args, limits).empty()) {
            // Tiles of CPU devices take whole vectors of f32 alone.
            EXPECT_TRUE(limits.is_cpu);
            continue;
        }
        std::vector<Tensor> outputs = {*Tensor::allocate(expected.dtype(), expected.shape())};
        const std::vector<Tensor> operands = wanted.operands();
        run_in_one_dispatch(
            device_, {limits, checks_addresses_}, operands, outputs,
            [&](vulkan::KernelWriter& writer) {
                return write_with_chains(
                    [&](vulkan::KernelWriter& own) { return write_attention(args, own); },
                    {nullptr, &chain}, writer);
            });
        EXPECT_EQ(difference(outputs[0], expected, tolerance), "");
    }
}

// Extents that are multiples of no tile, one query, one key, many of both; keys shared by heads.
TEST_F(VulkanAttention, OfAnyExtents) {
    const Extents all[] = {
        {{2, 3}, {2, 3}, 19, 37, 8, 12},   {{1, 2}, {1, 2}, 1, 77, 64, 64}, {{3}, {3}, 9, 1, 4, 4},
        {{}, {}, 33, 64, 32, 140},         {{2, 2}, {1, 1}, 8, 33, 16, 68}, {{2}, {2}, 1, 1, 4, 8},
        {{1, 2}, {1, 2}, 65, 197, 64, 64}, {{2}, {2}, 35, 70, 16, 96}};
    uint64_t seed = 1;
    for (const Extents& extents : all) {
        expect_like_reference(AttentionCase(extents, DType::kFloat32, seed += 10));
    }
}

// One of each height, few of each, for the slow leg of validation.
TEST_F(VulkanAttention, OfEachTile) {
    for (const int64_t rows : {1, 9, 19}) {
        expect_like_reference(AttentionCase({{2}, {2}, rows, 37, 8, 12}, DType::kFloat32, 14));
    }
}

// The same with checked kernels, and a mask that broadcasts.
TEST_F(VulkanAttention, StaysInItsOperands) {
    checks_addresses_ = true;
    for (const int64_t rows : {1, 21}) {
        AttentionCase wanted({{2, 3}, {2, 3}, rows, 45, 12, 20}, DType::kFloat32, 12);
        wanted.mask = random_tensor(DType::kFloat32, {2, 1, 1, 45}, 13);
        expect_like_reference(wanted);
    }
}

// Depth and columns that are no multiples of 4: shared memory alone.
TEST_F(VulkanAttention, OfOddRows) {
    expect_like_reference(AttentionCase({{2}, {2}, 7, 45, 5, 9}, DType::kFloat32, 5));
    expect_like_reference(AttentionCase({{2}, {2}, 35, 31, 17, 67}, DType::kFloat32, 6));
}

TEST_F(VulkanAttention, OfNarrowElements) {
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        OpCase tolerance;
        tolerance.rtol = 0.02;
        tolerance.atol = dtype == DType::kFloat16 ? 0.004 : 0.02;
        expect_like_reference(AttentionCase({{2, 2}, {2, 2}, 21, 50, 16, 24}, dtype, 7), tolerance);
    }
}

// Large scores: without a shift exp() of them would be infinite.
TEST_F(VulkanAttention, OfLargeScores) {
    AttentionCase wanted({{2}, {2}, 17, 90, 16, 16}, DType::kFloat32, 8);
    wanted.scale = *Tensor::from<float>({1}, std::vector<float>{300.0F});
    OpCase tolerance;
    tolerance.rtol = 1e-3;
    tolerance.atol = 1e-4;
    expect_like_reference(wanted, tolerance);
}

// Key j of row i is hidden, -inf, where `is_hidden`.
template <class IsHidden>
Tensor mask_of(int64_t rows, int64_t keys, const IsHidden& is_hidden) {
    std::vector<float> values(size_t(rows * keys), 0.0F);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < keys; ++j) {
            values[size_t(i * keys + j)] =
                is_hidden(i, j) ? -std::numeric_limits<float>::infinity() : float(i - j) * 0.01F;
        }
    }
    return *Tensor::from<float>({rows, keys}, values);
}

// A causal mask, first keys that are hidden (so that whole blocks are), and rows without any key.
TEST_F(VulkanAttention, OfMasks) {
    AttentionCase wanted({{2, 2}, {2, 2}, 40, 101, 16, 16}, DType::kFloat32, 9);
    wanted.mask = mask_of(40, 101, [](int64_t i, int64_t j) { return j > i + 61; });
    expect_like_reference(wanted);
    wanted.mask = mask_of(40, 101, [](int64_t i, int64_t j) { return j < 2 * i + 20; });
    expect_like_reference(wanted);
    wanted.mask = mask_of(40, 101, [](int64_t i, int64_t j) { return i % 7 == 3 || j == i; });
    expect_like_reference(wanted);
    wanted.mask = random_tensor(DType::kFloat32, {2, 1, 1, 101}, 10, -9, 0);
    expect_like_reference(wanted);
}

// A score of +inf or NaN makes its row NaN, and infinite values reach the rows that weigh them.
TEST_F(VulkanAttention, OfSpecialNumbers) {
    AttentionCase wanted({{1}, {1}, 12, 70, 8, 8}, DType::kFloat32, 11);
    std::vector<float> mask(size_t(12 * 70), 0.0F);
    mask[3 * 70 + 5] = std::numeric_limits<float>::infinity();
    mask[6 * 70 + 69] = std::nanf("");
    wanted.mask = *Tensor::from<float>({12, 70}, mask);
    wanted.v.mutable_data<float>()[69 * 8 + 2] = std::numeric_limits<float>::infinity();
    expect_like_reference(wanted);
}

}  // namespace
}  // namespace leat::testing
