#include "backends/vulkan/shader/spirv_index.h"

#include <algorithm>
#include <iterator>

namespace leat::vulkan::spirv {
namespace {

// Instructions whose second word is a type and third word is their id, of all that give pointers.
bool may_give_pointer(uint32_t op) {
    constexpr uint32_t kOps[] = {kOpFunctionParameter,
                                 kOpFunctionCall,
                                 kOpVariable,
                                 kOpLoad,
                                 kOpAccessChain,
                                 kOpInBoundsAccessChain,
                                 kOpPtrAccessChain,
                                 kOpInBoundsPtrAccessChain,
                                 kOpCompositeExtract,
                                 kOpCopyObject,
                                 kOpConvertUToPtr,
                                 kOpBitcast,
                                 kOpSelect,
                                 kOpPhi};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

template <class Key>
std::optional<uint32_t> found(const std::map<Key, uint32_t>& table, const Key& key) {
    const auto at = table.find(key);
    return at == table.end() ? std::nullopt : std::optional(at->second);
}

std::optional<uint32_t> scaled(std::optional<uint32_t> bytes, uint32_t count) {
    return bytes ? std::optional(*bytes * count) : std::nullopt;
}

}  // namespace

ModuleIndex::ModuleIndex(std::span<const uint32_t> words) {
    for_each_instruction(words, [&](Instruction instruction) {
        note(instruction);
        return true;
    });
}

std::optional<uint32_t> ModuleIndex::constant(uint32_t id) const {
    return found(constants_, id);
}

Instruction ModuleIndex::chain(uint32_t pointer) const {
    const auto at = chains_.find(pointer);
    return at == chains_.end() ? Instruction() : at->second;
}

std::optional<uint32_t> ModuleIndex::device_pointer_type(uint32_t id) const {
    const std::optional<uint32_t> type = found(types_of_ids_, id);
    const auto at = type ? types_.find(*type) : types_.end();
    const bool is_device = at != types_.end() && op_of(at->second) == kOpTypePointer &&
                           at->second[2] == kPhysicalStorageBuffer;
    return is_device ? type : std::nullopt;
}

std::optional<uint32_t> ModuleIndex::bytes_of(uint32_t type) const {
    const auto at = types_.find(type);
    if (at == types_.end()) {
        return std::nullopt;
    }
    const Instruction words = at->second;
    switch (op_of(words)) {
        case kOpTypeInt:
        case kOpTypeFloat:
            return words[2] / 8;
        case kOpTypePointer:
            return uint32_t(sizeof(uint64_t));
        case kOpTypeVector:
            return scaled(bytes_of(words[2]), words[3]);
        case kOpTypeArray:
            return bytes_of_array(words);
        case kOpTypeStruct:
            return bytes_of_struct(words);
        default:
            return std::nullopt;
    }
}

std::optional<uint32_t> ModuleIndex::bytes_of_array(Instruction words) const {
    const std::optional<uint32_t> count = constant(words[3]);
    const std::optional<uint32_t> stride = found(array_strides_, words[1]);
    const std::optional<uint32_t> element = bytes_of(words[2]);
    if (!count || *count == 0 || !stride || !element) {
        return std::nullopt;
    }
    return (*count - 1) * *stride + *element;
}

std::optional<uint32_t> ModuleIndex::bytes_of_struct(Instruction words) const {
    uint32_t end = 0;
    for (uint32_t i = 2; i < words.size(); ++i) {
        const std::optional<uint32_t> offset = found(member_offsets_, Member(words[1], i - 2));
        const std::optional<uint32_t> bytes = bytes_of(words[i]);
        if (!offset || !bytes) {
            return std::nullopt;
        }
        end = std::max(end, *offset + *bytes);
    }
    return end;
}

void ModuleIndex::note(Instruction words) {
    const uint32_t op = op_of(words);
    if (op >= kOpTypeVoid && op <= kOpTypeFunction) {
        types_[words[1]] = words;
    } else if (op == kOpConstant && words.size() == 4) {
        constants_[words[2]] = words[3];
    } else if (op == kOpDecorate && words[2] == kArrayStride) {
        array_strides_[words[1]] = words[3];
    } else if (op == kOpMemberDecorate && words[3] == kOffset) {
        member_offsets_[{words[1], words[2]}] = words[4];
    } else if (may_give_pointer(op)) {
        types_of_ids_[words[2]] = words[1];
    }
    if (op == kOpVariable && words[3] == kPushConstant) {
        push_variable_ = words[2];
    }
    if (op >= kOpAccessChain && op <= kOpInBoundsPtrAccessChain) {
        chains_[words[2]] = words;
    }
}

}  // namespace leat::vulkan::spirv
