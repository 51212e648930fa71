// What the backend knows of SPIR-V 1.6: numbers of instructions (section 3.52), and how to walk
// through a module's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace leat::vulkan::spirv {

constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundWord = 3;  // of the header: one more than the largest id

enum Op : uint32_t {
    kOpName = 5,
    kOpExtension = 10,
    kOpMemoryModel = 14,  // the first instruction after all capabilities
    kOpEntryPoint = 15,
    kOpCapability = 17,
    kOpTypeVoid = 19,  // to kOpTypeForwardPointer: types
    kOpTypeBool = 20,
    kOpTypeInt = 21,
    kOpTypeFloat = 22,
    kOpTypeVector = 23,
    kOpTypeArray = 28,
    kOpTypeStruct = 30,
    kOpTypePointer = 32,
    kOpTypeFunction = 33,
    kOpTypeForwardPointer = 39,
    kOpConstantTrue = 41,  // to kOpSpecConstantOp: constants
    kOpConstantFalse = 42,
    kOpConstant = 43,
    kOpSpecConstantOp = 52,
    kOpFunction = 54,
    kOpFunctionParameter = 55,
    kOpFunctionEnd = 56,
    kOpFunctionCall = 57,
    kOpVariable = 59,
    kOpLoad = 61,
    kOpStore = 62,
    kOpCopyMemory = 63,
    kOpCopyMemorySized = 64,
    kOpAccessChain = 65,
    kOpInBoundsAccessChain = 66,
    kOpPtrAccessChain = 67,
    kOpInBoundsPtrAccessChain = 70,
    kOpDecorate = 71,
    kOpMemberDecorate = 72,
    kOpCompositeExtract = 81,
    kOpCopyObject = 83,
    kOpConvertUToPtr = 120,
    kOpBitcast = 124,
    kOpSelect = 169,
    kOpAtomicLoad = 227,  // to kOpAtomicXor: atomics
    kOpAtomicStore = 228,
    kOpAtomicXor = 242,
    kOpPhi = 245,
    kOpLoopMerge = 246,
    kOpSelectionMerge = 247,
    kOpBranchConditional = 250,
    kOpTypeCooperativeMatrixKHR = 4456,
    kOpCooperativeMatrixLoadKHR = 4457,
    kOpCooperativeMatrixStoreKHR = 4458,
    kOpCooperativeMatrixMulAddKHR = 4459,
    kOpCooperativeMatrixLengthKHR = 4460,
    kOpTypeCooperativeMatrixNV = 5358,
    kOpCooperativeMatrixLoadNV = 5359,
    kOpCooperativeMatrixStoreNV = 5360,
    kOpCooperativeMatrixMulAddNV = 5361,
    kOpCooperativeMatrixLengthNV = 5362,
    kOpAtomicFMin = 5614,
    kOpAtomicFMax = 5615,
    kOpAtomicFAdd = 6035,
};

enum StorageClass : uint32_t { kPushConstant = 9, kPhysicalStorageBuffer = 5349 };
enum Capability : uint32_t {
    kFloat16 = 9,
    kFloat64 = 10,
    kInt64 = 11,
    kInt16 = 22,
    kInt8 = 39,
    kBfloat16Type = 5116,
    kBfloat16CooperativeMatrix = 5118,
    kVulkanMemoryModel = 5345,
    kVulkanMemoryModelDeviceScope = 5346,
    kCooperativeMatrixNV = 5357,
    kCooperativeMatrixKHR = 6022,
};
enum Decoration : uint32_t { kArrayStride = 6, kOffset = 35 };

// One instruction's words, the first of which has its length and number.
using Instruction = std::span<const uint32_t>;
inline uint32_t op_of(Instruction instruction) {
    return instruction[0] & 0xffffU;
}

inline void append(std::vector<uint32_t>& words, Instruction instruction) {
    words.insert(words.end(), instruction.begin(), instruction.end());
}
inline void append(std::vector<uint32_t>& words,
                   uint32_t op,
                   std::initializer_list<uint32_t> operands) {
    words.push_back(uint32_t(operands.size() + 1) << 16U | op);
    words.insert(words.end(), operands);
}

// Calls visit(Instruction) for each, until it returns false or the words are no instructions.
template <class Visit>
void for_each_instruction(std::span<const uint32_t> words, const Visit& visit) {
    size_t at = kHeaderWords;
    while (at < words.size()) {
        const size_t count = words[at] >> 16U;
        if (count == 0 || count > words.size() - at || !visit(words.subspan(at, count))) {
            return;
        }
        at += count;
    }
}

}  // namespace leat::vulkan::spirv
