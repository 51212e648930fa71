// Cooperative matrices that are rewritten for VK_KHR_cooperative_matrix: what no driver here could
// run, so the words themselves are looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/shader/matrix_spirv.h"
#include "backends/vulkan/shader/shaders.h"
#include "backends/vulkan/shader/spirv.h"

namespace leat::vulkan {
namespace {

using spirv::Instruction;
using spirv::op_of;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using Words = std::vector<uint32_t>;

constexpr uint32_t kHalfFloat = 16;

// What a module says of its matrices.
struct Matrices {
    std::set<uint32_t> capabilities;
    std::set<std::string> extensions;
    std::map<uint32_t, uint32_t> uses;          // by type
    std::map<uint32_t, uint32_t> constants;     // of 32 bits
    std::map<uint32_t, uint32_t> loaded_types;  // by what is loaded
    std::vector<uint32_t> layouts;              // of loads and stores
    std::vector<Instruction> products;
    std::vector<size_t> half_words;  // of the type of f16 or bf16
    size_t old_instructions = 0;
    bool is_bound_kept = true;  // every id of a new constant is below the header's bound
};

void note(Instruction words, uint32_t bound, Matrices& found) {
    const uint32_t op = op_of(words);
    if (op == spirv::kOpCapability) {
        found.capabilities.insert(words[1]);
    } else if (op == spirv::kOpExtension) {
        found.extensions.insert(reinterpret_cast<const char*>(&words[1]));
    } else if (op == spirv::kOpTypeFloat && words[2] == kHalfFloat) {
        found.half_words.push_back(words.size());
    } else if (op == spirv::kOpConstant && words.size() == 4) {
        found.constants[words[2]] = words[3];
        found.is_bound_kept = found.is_bound_kept && words[2] < bound;
    } else if (op == spirv::kOpTypeCooperativeMatrixKHR) {
        found.uses[words[1]] = found.constants.at(words[6]);
    } else if (op == spirv::kOpCooperativeMatrixLoadKHR) {
        found.loaded_types[words[2]] = words[1];
        found.layouts.push_back(found.constants.at(words[4]));
    } else if (op == spirv::kOpCooperativeMatrixStoreKHR) {
        found.layouts.push_back(found.constants.at(words[3]));
    } else if (op == spirv::kOpCooperativeMatrixMulAddKHR) {
        found.products.push_back(words);
    }
    found.old_instructions +=
        op >= spirv::kOpTypeCooperativeMatrixNV && op <= spirv::kOpCooperativeMatrixLengthNV;
}

Matrices matrices_in(std::span<const uint32_t> words) {
    Matrices found;
    spirv::for_each_instruction(words, [&](Instruction instruction) {
        note(instruction, words[spirv::kBoundWord], found);
        return true;
    });
    return found;
}

Words words_of(std::string_view name) {
    const Result<Shader> shader = find_shader(name);
    EXPECT_TRUE(shader.ok()) << name;
    return {shader->words.begin(), shader->words.end()};
}

TEST(MatrixSpirv, SaysWhatEachTypeIsAndWhereItLies) {
    for (const char* name : {"conv_matrix_tile_f16", "conv_matrix_tile_f32", "gemm_matrix_tile_f16",
                             "gemm_matrix_tile_f32"}) {
        SCOPED_TRACE(name);
        const Words words = words_of(name);
        EXPECT_TRUE(has_matrices(words));
        const auto result = with_khr_matrices(words, MatrixNumbers::kAsWritten);
        ASSERT_TRUE(result.ok()) << result.error().message();
        EXPECT_FALSE(has_matrices(*result));
        const Matrices found = matrices_in(*result);
        EXPECT_EQ(found.old_instructions, 0U);
        EXPECT_TRUE(found.is_bound_kept);
        EXPECT_THAT(found.capabilities, IsSupersetOf({uint32_t(spirv::kCooperativeMatrixKHR),
                                                      uint32_t(spirv::kFloat16)}));
        EXPECT_EQ(found.capabilities.count(spirv::kCooperativeMatrixNV), 0U);
        EXPECT_THAT(found.extensions, ElementsAre("SPV_KHR_cooperative_matrix"));
        std::set<uint32_t> uses;
        for (const auto& [type, use] : found.uses) {
            uses.insert(use);
        }
        EXPECT_THAT(uses, ElementsAre(0U, 1U, 2U)) << "A, B and their sum";
        // A and B by rows and by columns, in the order of the text; sums by rows.
        EXPECT_THAT(found.layouts, ElementsAre(1U, 0U, 1U, 0U, 0U));
        EXPECT_EQ(found.products.size(), 1U);
        EXPECT_THAT(found.half_words, ElementsAre(3U));
    }
}

TEST(MatrixSpirv, GivesAProductAThenBThenSums) {
    const auto result =
        with_khr_matrices(words_of("gemm_matrix_tile_f16"), MatrixNumbers::kAsWritten);
    ASSERT_TRUE(result.ok());
    const Matrices found = matrices_in(*result);
    ASSERT_EQ(found.products.size(), 1U);
    EXPECT_EQ(found.uses.at(found.products[0][1]), 2U);
    std::map<uint32_t, uint32_t> types;
    spirv::for_each_instruction(*result, [&](Instruction instruction) {
        if (op_of(instruction) == spirv::kOpLoad) {
            types[instruction[2]] = instruction[1];
        }
        return true;
    });
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(found.uses.at(types.at(found.products[0][3 + i])), i);
    }
}

TEST(MatrixSpirv, MakesBfloat16OfF16) {
    const auto result =
        with_khr_matrices(words_of("gemm_matrix_tile_bf16"), MatrixNumbers::kBfloat16);
    ASSERT_TRUE(result.ok()) << result.error().message();
    const Matrices found = matrices_in(*result);
    EXPECT_THAT(found.half_words, ElementsAre(4U)) << "with an encoding";
    EXPECT_THAT(found.capabilities, IsSupersetOf({uint32_t(spirv::kBfloat16Type),
                                                  uint32_t(spirv::kBfloat16CooperativeMatrix)}));
    EXPECT_EQ(found.capabilities.count(spirv::kFloat16), 0U);
    EXPECT_THAT(found.extensions, ElementsAre("SPV_KHR_bfloat16", "SPV_KHR_cooperative_matrix"));
}

// A, B, C and the result: all are signed.
TEST(MatrixSpirv, SaysThatBytesAreSigned) {
    constexpr uint32_t kAllSigned = 0b1111;
    for (const char* name : {"integer_conv_tile_i8", "integer_product_tile_i8"}) {
        SCOPED_TRACE(name);
        const auto result = with_khr_matrices(words_of(name), MatrixNumbers::kAsWritten);
        ASSERT_TRUE(result.ok()) << result.error().message();
        const Matrices found = matrices_in(*result);
        EXPECT_EQ(found.old_instructions, 0U);
        EXPECT_TRUE(found.is_bound_kept);
        ASSERT_EQ(found.products.size(), 1U);
        ASSERT_EQ(found.products[0].size(), 7U) << "with operands";
        EXPECT_EQ(found.products[0][6], kAllSigned);
        EXPECT_THAT(found.capabilities,
                    IsSupersetOf({uint32_t(spirv::kCooperativeMatrixKHR), uint32_t(spirv::kInt8)}));
    }
    const auto real =
        with_khr_matrices(words_of("gemm_matrix_tile_f16"), MatrixNumbers::kAsWritten);
    EXPECT_EQ(matrices_in(*real).products[0].size(), 6U);
}

TEST(MatrixSpirv, LeavesOtherInstructionsAlone) {
    const Words words = words_of("gemm_shared_tile_f16");
    EXPECT_FALSE(has_matrices(words));
    EXPECT_FALSE(has_matrices(words_of("gemm_matrix_tile_f16_emulated")));
    const Words result = *with_khr_matrices(words, MatrixNumbers::kAsWritten);
    Words without_new(result.begin(), result.begin() + spirv::kHeaderWords);
    const uint32_t bound = words[spirv::kBoundWord];
    spirv::for_each_instruction(result, [&](Instruction instruction) {
        if (op_of(instruction) != spirv::kOpConstant || instruction[2] < bound) {
            spirv::append(without_new, instruction);
        }
        return true;
    });
    without_new[spirv::kBoundWord] = bound;
    EXPECT_EQ(without_new, words);
    EXPECT_EQ(result[spirv::kBoundWord], bound + 3);
}

// A type that is both A and B, as where m, n and k are one constant.
TEST(MatrixSpirv, RefusesATypeOfTwoKinds) {
    Words words = words_of("gemm_matrix_tile_f16");
    std::vector<uint32_t> loaded;
    spirv::for_each_instruction(words, [&](Instruction instruction) {
        if (op_of(instruction) == spirv::kOpCooperativeMatrixMulAddNV) {
            loaded.assign(instruction.begin() + 3, instruction.begin() + 5);
        }
        return true;
    });
    ASSERT_EQ(loaded.size(), 2U);
    const auto product = std::search(words.begin(), words.end(), loaded.begin(), loaded.end());
    product[1] = product[0];
    const auto result = with_khr_matrices(words, MatrixNumbers::kAsWritten);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), StatusCode::kUnsupported);
    EXPECT_THAT(result.error().message(), ::testing::HasSubstr("two of A, B and their sum"));
}

TEST(KernelLimits, HaveTheShapesOfMatricesThatFitTiles) {
    EXPECT_TRUE(fits_tiles({16, 16, 16}));
    EXPECT_TRUE(fits_tiles({16, 8, 16}));
    EXPECT_TRUE(fits_tiles({8, 32, 16}));
    EXPECT_FALSE(fits_tiles({32, 32, 16})) << "more sums than a subgroup has room for";
    EXPECT_FALSE(fits_tiles({16, 16, 64})) << "deeper than a tile";
    EXPECT_FALSE(fits_tiles({12, 16, 16}));
    EXPECT_FALSE(fits_tiles({16, 16, 4}));

    DeviceInfo info;
    info.cooperative_matrix.cooperative_matrix = VK_TRUE;
    const auto add = [&](uint32_t k, uint32_t type, uint32_t sums) {
        CooperativeMatrixProperties shape;
        shape.m = shape.n = 16;
        shape.k = k;
        shape.a_type = shape.b_type = type;
        shape.c_type = shape.result_type = sums;
        shape.scope = 3;
        info.cooperative_matrix_shapes.push_back(shape);
    };
    add(16, 0, 0);  // sums in f16
    add(64, 0, 1);  // too deep
    add(16, 0, 1);
    add(16, 1'000'141'000, 1);
    KernelLimits limits = kernel_limits(info);
    ASSERT_TRUE(limits.f16_matrices.has_value());
    EXPECT_EQ(limits.f16_matrices->k, 16U);
    EXPECT_FALSE(limits.f16_matrices->is_emulated);
    EXPECT_FALSE(limits.bf16_matrices.has_value()) << "the feature is missing";
    info.bfloat16.cooperative_matrix = VK_TRUE;
    EXPECT_TRUE(kernel_limits(info).bf16_matrices.has_value());
    constexpr uint32_t kInt8 = 3;
    constexpr uint32_t kInt32 = 5;
    EXPECT_FALSE(kernel_limits(info).i8_matrices.has_value());
    add(32, kInt8, kInt32);
    info.cooperative_matrix_shapes.back().saturating_accumulation = VK_TRUE;
    EXPECT_FALSE(kernel_limits(info).i8_matrices.has_value()) << "its sums do not wrap";
    add(32, kInt8, kInt32);
    EXPECT_TRUE(kernel_limits(info).i8_matrices.has_value());
    info.cooperative_matrix.cooperative_matrix = VK_FALSE;
    EXPECT_FALSE(kernel_limits(info).f16_matrices.has_value());
}

}  // namespace
}  // namespace leat::vulkan
