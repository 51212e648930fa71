#include "backends/vulkan/shader/matrix_spirv.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "backends/vulkan/shader/spirv.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

using spirv::append;
using spirv::for_each_instruction;
using spirv::Instruction;
using spirv::op_of;
using Words = std::vector<uint32_t>;

// SPV_KHR_cooperative_matrix, "Cooperative Matrix Use".
enum Use : uint32_t { kMatrixA = 0, kMatrixB = 1, kMatrixSum = 2 };
constexpr uint32_t kConstants = 3;  // 0, 1 and 2: uses and layouts (0 by rows, 1 by columns)

void append_extension(Words& words, std::string_view name) {
    Words text(name.size() / sizeof(uint32_t) + 1);
    std::memcpy(text.data(), name.data(), name.size());
    words.push_back(uint32_t(text.size() + 1) << 16U | spirv::kOpExtension);
    append(words, text);
}

// Instructions whose second word is a type and third word their id, of all that give matrices.
bool may_give_matrix(uint32_t op) {
    constexpr uint32_t kOps[] = {spirv::kOpLoad,
                                 spirv::kOpCompositeExtract,
                                 spirv::kOpCopyObject,
                                 spirv::kOpPhi,
                                 spirv::kOpFunctionParameter,
                                 spirv::kOpFunctionCall,
                                 spirv::kOpCooperativeMatrixLoadNV,
                                 spirv::kOpCooperativeMatrixMulAddNV};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

class MatrixRewriter {
  public:
    MatrixRewriter(std::span<const uint32_t> words, MatrixNumbers numbers)
        : words_(words), numbers_(numbers), first_constant_(words[spirv::kBoundWord]) {}

    Result<Words> rewritten() {
        for_each_instruction(words_, [&](Instruction instruction) {
            note(instruction);
            return true;
        });
        for_each_instruction(words_, [&](Instruction instruction) {
            note_uses(instruction);
            return true;
        });
        if (!refused_.empty()) {
            return refusal();
        }
        Words result(words_.begin(), words_.begin() + spirv::kHeaderWords);
        result[spirv::kBoundWord] += kConstants;
        for_each_instruction(words_, [&](Instruction instruction) {
            write(instruction, result);
            return true;
        });
        return refused_.empty() ? Result<Words>(std::move(result)) : refusal();
    }

  private:
    Status refusal() const {
        return unsupported("cooperative matrices of a shader").with_found(refused_);
    }

    void note(Instruction words) {
        const uint32_t op = op_of(words);
        if (op == spirv::kOpTypeInt && words[3] != 0) {
            signed_types_.insert(words[1]);
        } else if (op == spirv::kOpTypeCooperativeMatrixNV) {
            uses_[words[1]] = std::nullopt;
            if (signed_types_.count(words[2]) != 0) {
                signed_types_.insert(words[1]);
            }
        } else if (op == spirv::kOpConstantTrue || op == spirv::kOpConstantFalse) {
            layouts_[words[2]] = op == spirv::kOpConstantTrue ? 1 : 0;
        } else if (may_give_matrix(op)) {
            types_of_ids_[words[2]] = words[1];
        }
    }

    void note_uses(Instruction words) {
        if (op_of(words) != spirv::kOpCooperativeMatrixMulAddNV) {
            return;
        }
        note_use(words[1], kMatrixSum);
        constexpr std::array kUses = {kMatrixA, kMatrixB, kMatrixSum};
        for (size_t i = 0; i < kUses.size(); ++i) {
            const auto type = types_of_ids_.find(words[3 + i]);
            if (type == types_of_ids_.end()) {
                refused_ = "an operand of a product whose type is not known";
                return;
            }
            note_use(type->second, kUses[i]);
        }
    }

    void note_use(uint32_t type, Use use) {
        std::optional<Use>& known = uses_[type];
        if (known && *known != use) {
            refused_ = "a type that is two of A, B and their sum";
        }
        known = use;
    }

    uint32_t layout_of(uint32_t by_column) {
        const auto found = layouts_.find(by_column);
        if (found == layouts_.end()) {
            refused_ = "a layout that is no constant";
            return 0;
        }
        return first_constant_ + found->second;
    }

    uint32_t use_of(uint32_t type) {
        const std::optional<Use> use = uses_[type];
        if (!use) {
            refused_ = "a type that is in no product";
            return 0;
        }
        return first_constant_ + *use;
    }

    void write_capability(uint32_t capability, Words& result) const {
        const bool is_bfloat16 = numbers_ == MatrixNumbers::kBfloat16;
        if (capability == spirv::kCooperativeMatrixNV) {
            append(result, spirv::kOpCapability, {spirv::kCooperativeMatrixKHR});
        } else if (capability == spirv::kFloat16 && is_bfloat16) {
            append(result, spirv::kOpCapability, {spirv::kBfloat16Type});
            append(result, spirv::kOpCapability, {spirv::kBfloat16CooperativeMatrix});
        } else {
            append(result, spirv::kOpCapability, {capability});
        }
    }

    void write_extension(Instruction words, Words& result) const {
        const std::string_view name(reinterpret_cast<const char*>(&words[1]));
        if (name != "SPV_NV_cooperative_matrix") {
            append(result, words);
            return;
        }
        append_extension(result, "SPV_KHR_cooperative_matrix");
        if (numbers_ == MatrixNumbers::kBfloat16) {
            append_extension(result, "SPV_KHR_bfloat16");
        }
    }

    void write_type(Instruction words, Words& result) {
        constexpr uint32_t kBfloat16Encoding = 0;
        const uint32_t op = op_of(words);
        const bool is_half = op == spirv::kOpTypeFloat && words[2] == 16;
        if (is_half && numbers_ == MatrixNumbers::kBfloat16) {
            append(result, op, {words[1], words[2], kBfloat16Encoding});
            return;
        }
        append(result, words);
        // Whatever reads them comes later.
        if (op == spirv::kOpTypeInt && words[2] == 32 && words[3] == 0) {
            for (uint32_t i = 0; i < kConstants; ++i) {
                append(result, spirv::kOpConstant, {words[1], first_constant_ + i, i});
            }
        }
    }

    void write(Instruction words, Words& result) {
        switch (op_of(words)) {
            case spirv::kOpCapability:
                write_capability(words[1], result);
                return;
            case spirv::kOpExtension:
                write_extension(words, result);
                return;
            case spirv::kOpTypeInt:
            case spirv::kOpTypeFloat:
                write_type(words, result);
                return;
            case spirv::kOpTypeCooperativeMatrixNV:
                append(result, spirv::kOpTypeCooperativeMatrixKHR,
                       {words[1], words[2], words[3], words[4], words[5], use_of(words[1])});
                return;
            // Pointer, stride, layout here; there the layout comes before the stride.
            case spirv::kOpCooperativeMatrixLoadNV:
                write_access(words, {spirv::kOpCooperativeMatrixLoadKHR, 4}, result);
                return;
            case spirv::kOpCooperativeMatrixStoreNV:
                write_access(words, {spirv::kOpCooperativeMatrixStoreKHR, 3}, result);
                return;
            case spirv::kOpCooperativeMatrixMulAddNV:
                write_product(words, result);
                return;
            case spirv::kOpCooperativeMatrixLengthNV:
                append_as(words, spirv::kOpCooperativeMatrixLengthKHR, result);
                return;
            default:
                append(result, words);
        }
    }

    static void append_as(Instruction words, uint32_t op, Words& result) {
        append(result, words);
        result[result.size() - words.size()] = uint32_t(words.size()) << 16U | op;
    }

    // What the older extension tells by the types, the newer one by bits of the product
    // ("Cooperative Matrix Operands": A, B, C and the result are signed integers).
    void write_product(Instruction words, Words& result) const {
        std::vector<uint32_t> operands(words.begin() + 1, words.end());
        uint32_t signs = signed_types_.count(words[1]) != 0 ? 0b1000U : 0U;
        for (size_t i = 0; i < 3; ++i) {
            const bool is_signed = signed_types_.count(types_of_ids_.at(words[3 + i])) != 0;
            signs |= is_signed ? 1U << i : 0U;
        }
        if (signs != 0) {
            operands.push_back(signs);
        }
        result.push_back(uint32_t(operands.size() + 1) << 16U |
                         spirv::kOpCooperativeMatrixMulAddKHR);
        result.insert(result.end(), operands.begin(), operands.end());
    }

    struct Access {
        uint32_t op;
        size_t stride_word;
    };
    void write_access(Instruction words, Access access, Words& result) {
        append_as(words, access.op, result);
        uint32_t* stride = &result[result.size() - words.size() + access.stride_word];
        stride[0] = layout_of(words[access.stride_word + 1]);
        stride[1] = words[access.stride_word];
    }

    const std::span<const uint32_t> words_;
    const MatrixNumbers numbers_;
    const uint32_t first_constant_;
    std::set<uint32_t> signed_types_;  // integers, and matrices of them
    std::map<uint32_t, uint32_t> types_of_ids_;
    std::map<uint32_t, std::optional<Use>> uses_;
    std::map<uint32_t, uint32_t> layouts_;  // by the id of a truth
    std::string refused_;
};

}  // namespace

bool has_matrices(std::span<const uint32_t> words) {
    bool found = false;
    for_each_instruction(words, [&](Instruction instruction) {
        found = found || (op_of(instruction) == spirv::kOpCapability &&
                          instruction[1] == spirv::kCooperativeMatrixNV);
        return op_of(instruction) != spirv::kOpMemoryModel;
    });
    return found;
}

Result<Words> with_khr_matrices(std::span<const uint32_t> words, MatrixNumbers numbers) {
    return MatrixRewriter(words, numbers).rewritten();
}

}  // namespace leat::vulkan
