// Einsum: equations, the order of contractions, and what inference says.
#include "ops/einsum/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor floats(const Shape& shape, const std::vector<float>& elements) {
    return *Tensor::from<float>(shape, elements);
}

const Tensor& two_by_three() {
    static const Tensor kTensor = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    return kTensor;
}

SingleResult einsum(const std::string& equation, const std::vector<SingleInput>& operands) {
    return run_single("Einsum", operands, {{"equation", equation}});
}

std::vector<float> values_of(const SingleResult& result) {
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    if (result.tensors.empty()) {
        return {};
    }
    const std::span<const float> elements = result.tensors[0].data<float>();
    return {elements.begin(), elements.end()};
}

TEST(Einsum, SumsWhatTheOutputLacks) {
    EXPECT_THAT(values_of(einsum("ij->j", {two_by_three()})), ElementsAre(5, 7, 9));
    EXPECT_THAT(values_of(einsum("ij->", {two_by_three()})), ElementsAre(21));
    EXPECT_THAT(values_of(einsum("...j->j", {two_by_three()})), ElementsAre(5, 7, 9));
}

TEST(Einsum, SortsImplicitOutputsByAscii) {
    const SingleResult result = einsum("bA", {two_by_three()});
    EXPECT_EQ(result.type(), "f32[3,2]");
    EXPECT_THAT(values_of(result), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Einsum, TakesDiagonals) {
    const Tensor square = floats({2, 2}, {1, 2, 3, 4});
    EXPECT_THAT(values_of(einsum("ii->i", {square})), ElementsAre(1, 4));
    EXPECT_THAT(values_of(einsum("ii", {square})), ElementsAre(5));
}

TEST(Einsum, MultipliesMatrices) {
    const Tensor b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
    EXPECT_THAT(values_of(einsum("ij, jk -> ik", {two_by_three(), b})), ElementsAre(4, 5, 10, 11));
    EXPECT_THAT(values_of(einsum("ij, jk -> ki", {two_by_three(), b})), ElementsAre(4, 10, 5, 11));
}

TEST(Einsum, BroadcastsEllipsesAndOnes) {
    const Tensor row = floats({1, 3}, {1, 10, 100});
    EXPECT_THAT(values_of(einsum("...,...->...", {two_by_three(), row})),
                ElementsAre(1, 20, 300, 4, 50, 600));
    EXPECT_THAT(values_of(einsum("ij,ij->i", {two_by_three(), row})), ElementsAre(321, 654));
}

TEST(Einsum, OfIntegersWraps) {
    const Tensor x = *Tensor::from<uint8_t>({2}, std::vector<uint8_t>{200, 100});
    const SingleResult result = einsum("i,i", {x, x});
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_EQ(result.tensors[0].data<uint8_t>()[0], uint8_t(200 * 200 + 100 * 100));
}

TEST(Einsum, OfBfloat16RoundsOnce) {
    const auto one = [](float value) {
        BFloat16 bits = {uint16_t(std::bit_cast<uint32_t>(value) >> 16)};
        return bits;
    };
    const Tensor x = *Tensor::from<BFloat16>({3}, std::vector<BFloat16>{one(256), one(1), one(1)});
    const SingleResult result = einsum("i->", {x});
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_EQ(result.tensors[0].data<BFloat16>()[0].bits, one(258).bits);
}

TEST(Einsum, RefusesEquationsThatSayNothing) {
    const auto message = [](const std::string& equation) {
        return einsum(equation, {two_by_three()}).status.message();
    };
    EXPECT_THAT(message("i1->i"), HasSubstr("'i1->i'"));
    EXPECT_THAT(message("i..j"), HasSubstr("one ellipsis a term"));
    EXPECT_THAT(message("ij->k"), HasSubstr("letters of the operands, each once"));
    EXPECT_THAT(message("ij->ii"), HasSubstr("each once"));
    EXPECT_THAT(message("ij,jk"), HasSubstr("1 operands"));
    EXPECT_THAT(message("ijk"), HasSubstr("rank 3"));
    EXPECT_THAT(message("i"), HasSubstr("rank 1"));
    EXPECT_THAT(message("ijk..."), HasSubstr("rank 3 or more"));
    EXPECT_THAT(message("ii"), HasSubstr("f32[2]"));
    EXPECT_FALSE(run_single("Einsum", {two_by_three()}).status.ok());
}

TEST(Einsum, InfersNamesAndUnknownRanks) {
    const SingleInput a = fact_of({"n", "m", 4});
    const SingleInput b = fact_of({1, 4, "k"});
    EXPECT_EQ(einsum("bij,bjk->bik", {a, b}).type(), "f32[n,m,k]");
    EXPECT_EQ(einsum("...ij,...jk", {a, b}).type(), "f32[n,m,k]");
    const SingleInput open = fact_of_unknown_rank();
    EXPECT_EQ(einsum("...i,i->...", {open, fact_of({4})}).type(), "f32[*]");
    EXPECT_EQ(einsum("ij,jk->ki", {open, open}).type(), "f32[?,?]");
}

EinsumLabelSet labels(const std::string& letters) {
    EinsumLabelSet set;
    for (const char letter : letters) {
        set.set(size_t(letter));
    }
    return set;
}

// a = 1000, b = 1000, c = 1000, d = 1
TEST(EinsumOrder, LeavesNoLargeResultInBetween) {
    EinsumExtents extents{};
    extents.fill(1000);
    extents['d'] = 1;
    const EinsumOrder order =
        einsum_order({labels("ab"), labels("bc"), labels("cd")}, labels("ad"), extents);
    EXPECT_THAT(order.steps, ElementsAre(ElementsAre(1, 2), ElementsAre(0, 3)));
    EXPECT_EQ(order.multiplications, 2e6);
}

// A chain of matrices [10, 10] and in the middle a column [10, 1] and a row: all by vectors.
TEST(EinsumOrder, OfManyOperandsIsGreedy) {
    EinsumExtents extents{};
    extents.fill(10);
    extents['f'] = 1;
    std::vector<EinsumLabelSet> operands;
    for (char letter = 'a'; letter < 'k'; ++letter) {
        operands.push_back(labels({letter, char(letter + 1)}));
    }
    const EinsumOrder order = einsum_order(operands, labels("ak"), extents);
    EXPECT_EQ(order.steps.size(), 9U);
    EXPECT_LE(order.multiplications, 9 * 1000);
}

}  // namespace
}  // namespace leat::testing
