#include "backends/vulkan/checked_spirv.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/vulkan/shaders.h"
#include "backends/vulkan/spirv.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

using spirv::for_each_instruction;
using spirv::Instruction;
using spirv::op_of;
using Words = std::vector<uint32_t>;

// What a stray access may read or write at most, as in address_check.comp.
constexpr uint32_t kStrayBytes = 512;

void append(Words& words, Instruction instruction) {
    words.insert(words.end(), instruction.begin(), instruction.end());
}

void append(Words& words, uint32_t op, std::initializer_list<uint32_t> operands) {
    words.push_back(uint32_t(operands.size() + 1) << 16U | op);
    words.insert(words.end(), operands);
}

bool is_global(uint32_t op) {
    return (op >= spirv::kOpTypeVoid && op <= spirv::kOpTypeForwardPointer) ||
           (op >= spirv::kOpConstantTrue && op <= spirv::kOpSpecConstantOp) ||
           op == spirv::kOpVariable;
}

// Types of which a module may have only one each.
bool is_unique_type(uint32_t op) {
    return (op >= spirv::kOpTypeVoid && op <= spirv::kOpTypeVector) || op == spirv::kOpTypeFunction;
}

// Literal words [begin, end) of an instruction of address_check.comp; all others are ids.
std::pair<size_t, size_t> literals_of(Instruction instruction) {
    const size_t end = instruction.size();
    switch (op_of(instruction)) {
        case spirv::kOpTypeInt:
        case spirv::kOpTypeFloat:
        case spirv::kOpTypeForwardPointer:
        case spirv::kOpDecorate:
        case spirv::kOpMemberDecorate:
        case spirv::kOpSelectionMerge:
            return {2, end};
        case spirv::kOpTypeVector:
        case spirv::kOpConstant:
        case spirv::kOpStore:
        case spirv::kOpLoopMerge:
            return {3, end};
        case spirv::kOpLoad:
        case spirv::kOpCompositeExtract:
        case spirv::kOpBranchConditional:
            return {4, end};
        case spirv::kOpTypePointer:
            return {2, 3};
        case spirv::kOpFunction:
        case spirv::kOpVariable:
            return {3, 4};
        default:
            return {end, end};
    }
}

std::string_view name_in(Instruction name) {
    const auto* text = reinterpret_cast<const char*>(&name[2]);
    const std::string_view words(text, (name.size() - 2) * sizeof(uint32_t));
    return words.substr(0, words.find('\0'));
}

// The pointer of an access through it: where it stands in the instruction, and what it does.
struct Access {
    size_t pointer_word = 0;
    bool is_write = false;
};
std::optional<Access> access_of(Instruction instruction) {
    const uint32_t op = op_of(instruction);
    if (op == spirv::kOpLoad) {
        return Access{3, false};
    }
    if (op == spirv::kOpStore || op == spirv::kOpAtomicStore) {
        return Access{1, true};
    }
    if ((op >= spirv::kOpAtomicLoad && op <= spirv::kOpAtomicXor) || op == spirv::kOpAtomicFMin ||
        op == spirv::kOpAtomicFMax || op == spirv::kOpAtomicFAdd) {
        return Access{3, op != spirv::kOpAtomicLoad};
    }
    return std::nullopt;
}

// Instructions that touch memory in other ways.
bool is_unknown_access(uint32_t op) {
    constexpr uint32_t kOps[] = {spirv::kOpCopyMemory,
                                 spirv::kOpCopyMemorySized,
                                 spirv::kOpCooperativeMatrixLoadKHR,
                                 spirv::kOpCooperativeMatrixStoreKHR,
                                 spirv::kOpCooperativeMatrixLoadNV,
                                 spirv::kOpCooperativeMatrixStoreNV};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// Instructions whose second word is a type and third word is their id, of all that give pointers.
bool may_give_pointer(uint32_t op) {
    constexpr uint32_t kOps[] = {spirv::kOpFunctionParameter,
                                 spirv::kOpFunctionCall,
                                 spirv::kOpVariable,
                                 spirv::kOpLoad,
                                 spirv::kOpAccessChain,
                                 spirv::kOpInBoundsAccessChain,
                                 spirv::kOpPtrAccessChain,
                                 spirv::kOpInBoundsPtrAccessChain,
                                 spirv::kOpCompositeExtract,
                                 spirv::kOpCopyObject,
                                 spirv::kOpConvertUToPtr,
                                 spirv::kOpBitcast,
                                 spirv::kOpSelect,
                                 spirv::kOpPhi};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// What the rewriting asks of a module's ids.
class ModuleIndex {
  public:
    explicit ModuleIndex(std::span<const uint32_t> words) {
        for_each_instruction(words, [&](Instruction instruction) {
            note(instruction);
            return true;
        });
    }

    uint32_t push_variable() const { return push_variable_; }
    std::optional<uint32_t> constant(uint32_t id) const { return found(constants_, id); }
    // The chain of accesses that gives a pointer, or none.
    Instruction chain(uint32_t pointer) const {
        const auto at = chains_.find(pointer);
        return at == chains_.end() ? Instruction() : at->second;
    }
    // Of an id that is a pointer to device memory: its type.
    std::optional<uint32_t> device_pointer_type(uint32_t id) const {
        const std::optional<uint32_t> type = found(types_of_ids_, id);
        const auto at = type ? types_.find(*type) : types_.end();
        const bool is_device = at != types_.end() && op_of(at->second) == spirv::kOpTypePointer &&
                               at->second[2] == spirv::kPhysicalStorageBuffer;
        return is_device ? type : std::nullopt;
    }
    uint32_t pointee(uint32_t pointer_type) const { return types_.at(pointer_type)[3]; }

    // Bytes from an object's first to its last one; none where the type has no such size.
    std::optional<uint32_t> bytes_of(uint32_t type) const {
        const auto at = types_.find(type);
        if (at == types_.end()) {
            return std::nullopt;
        }
        const Instruction words = at->second;
        switch (op_of(words)) {
            case spirv::kOpTypeInt:
            case spirv::kOpTypeFloat:
                return words[2] / 8;
            case spirv::kOpTypePointer:
                return uint32_t(sizeof(uint64_t));
            case spirv::kOpTypeVector:
                return scaled(bytes_of(words[2]), words[3]);
            case spirv::kOpTypeArray:
                return bytes_of_array(words);
            case spirv::kOpTypeStruct:
                return bytes_of_struct(words);
            default:
                return std::nullopt;
        }
    }

  private:
    using Member = std::pair<uint32_t, uint32_t>;  // structure, index

    template <class Key>
    static std::optional<uint32_t> found(const std::map<Key, uint32_t>& table, const Key& key) {
        const auto at = table.find(key);
        return at == table.end() ? std::nullopt : std::optional(at->second);
    }
    static std::optional<uint32_t> scaled(std::optional<uint32_t> bytes, uint32_t count) {
        return bytes ? std::optional(*bytes * count) : std::nullopt;
    }

    std::optional<uint32_t> bytes_of_array(Instruction words) const {
        const std::optional<uint32_t> count = constant(words[3]);
        const std::optional<uint32_t> stride = found(array_strides_, words[1]);
        const std::optional<uint32_t> element = bytes_of(words[2]);
        if (!count || *count == 0 || !stride || !element) {
            return std::nullopt;
        }
        return (*count - 1) * *stride + *element;
    }

    std::optional<uint32_t> bytes_of_struct(Instruction words) const {
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

    void note(Instruction words) {
        const uint32_t op = op_of(words);
        if (op >= spirv::kOpTypeVoid && op <= spirv::kOpTypeFunction) {
            types_[words[1]] = words;
        } else if (op == spirv::kOpConstant && words.size() == 4) {
            constants_[words[2]] = words[3];
        } else if (op == spirv::kOpDecorate && words[2] == spirv::kArrayStride) {
            array_strides_[words[1]] = words[3];
        } else if (op == spirv::kOpMemberDecorate && words[3] == spirv::kOffset) {
            member_offsets_[{words[1], words[2]}] = words[4];
        } else if (may_give_pointer(op)) {
            types_of_ids_[words[2]] = words[1];
        }
        if (op == spirv::kOpVariable && words[3] == spirv::kPushConstant) {
            push_variable_ = words[2];
        }
        if (op >= spirv::kOpAccessChain && op <= spirv::kOpInBoundsPtrAccessChain) {
            chains_[words[2]] = words;
        }
    }

    uint32_t push_variable_ = 0;
    std::map<uint32_t, Instruction> types_;
    std::map<uint32_t, uint32_t> types_of_ids_;
    std::map<uint32_t, uint32_t> constants_;
    std::map<uint32_t, uint32_t> array_strides_;
    std::map<Member, uint32_t> member_offsets_;
    std::map<uint32_t, Instruction> chains_;
};

class Rewriter {
  public:
    explicit Rewriter(std::span<const uint32_t> words)
        : words_(words), index_(words), next_id_(words[spirv::kBoundWord]) {}

    Result<Words> rewritten(std::span<const uint32_t> checks) {
        for_each_instruction(words_, [&](Instruction instruction) {
            note_unique_type(instruction);
            return true;
        });
        link(checks);
        Status status;
        for_each_instruction(words_, [&](Instruction instruction) {
            status = add(instruction);
            return status.ok();
        });
        if (!status.ok()) {
            return status;
        }
        Words result(words_.begin(), words_.begin() + spirv::kHeaderWords);
        result[spirv::kBoundWord] = next_id_;
        add_capabilities(result);
        for (const Words* part : {&before_, &linked_decorations_, &globals_, &linked_globals_,
                                  &functions_, &linked_functions_}) {
            append(result, *part);
        }
        return result;
    }

  private:
    // Pointers to narrow numbers may be stored through by all devices of a tier, but not be
    // converted. To declare what is declared already is allowed.
    void add_capabilities(Words& result) const {
        for (const auto& [key, capability] :
             {std::pair<Words, uint32_t>{{4U << 16U | spirv::kOpTypeInt, 0, 8, 0}, spirv::kInt8},
              {{4U << 16U | spirv::kOpTypeInt, 0, 8, 1}, spirv::kInt8},
              {{4U << 16U | spirv::kOpTypeInt, 0, 16, 0}, spirv::kInt16},
              {{4U << 16U | spirv::kOpTypeInt, 0, 16, 1}, spirv::kInt16},
              {{3U << 16U | spirv::kOpTypeFloat, 0, 16}, spirv::kFloat16}}) {
            if (unique_types_.count(key) != 0) {
                append(result, spirv::kOpCapability, {capability});
            }
        }
    }

    void note_unique_type(Instruction instruction) {
        if (is_unique_type(op_of(instruction))) {
            unique_types_.try_emplace(key_of(instruction), instruction[1]);
        }
    }
    static Words key_of(Instruction type) {
        Words key(type.begin(), type.end());
        key[1] = 0;
        return key;
    }

    // Adds all of the module `checks` but its entry point, with ids of its own.
    void link(std::span<const uint32_t> checks) {
        const uint32_t first_id = next_id_;
        next_id_ += checks[spirv::kBoundWord];
        std::map<uint32_t, uint32_t> twins;  // ids of types that the module has already
        uint32_t main_id = 0;
        bool is_in_main = false;
        for_each_instruction(checks, [&](Instruction instruction) {
            const uint32_t op = op_of(instruction);
            if (op == spirv::kOpEntryPoint) {
                main_id = instruction[2];
            } else if (op == spirv::kOpName) {
                note_function(name_in(instruction), first_id + instruction[1]);
            }
            Words own(instruction.begin(), instruction.end());
            const auto [begin, end] = literals_of(instruction);
            for (size_t i = 1; i < own.size(); ++i) {
                if (i < begin || i >= end) {
                    own[i] = twins.try_emplace(own[i], first_id + own[i]).first->second;
                }
            }
            is_in_main = is_in_main || (op == spirv::kOpFunction && instruction[2] == main_id);
            if (is_unique_type(op)) {
                const auto [at, is_new] = unique_types_.try_emplace(key_of(own), own[1]);
                twins[instruction[1]] = at->second;
                if (!is_new) {
                    return true;
                }
            }
            if (op == spirv::kOpDecorate || op == spirv::kOpMemberDecorate) {
                append(linked_decorations_, own);
            } else if (is_global(op) && linked_functions_.empty() && !is_in_main) {
                append(linked_globals_, own);
            } else if ((op == spirv::kOpFunction || !linked_functions_.empty()) && !is_in_main) {
                append(linked_functions_, own);
            }
            is_in_main = is_in_main && op != spirv::kOpFunctionEnd;
            return true;
        });
        uint_ = unique_types_.at({4U << 16U | spirv::kOpTypeInt, 0, 32, 0});
        uvec2_ = unique_types_.at({4U << 16U | spirv::kOpTypeVector, 0, uint_, 2});
        uvec2_pushed_ = next_id_++;
        append(linked_globals_, spirv::kOpTypePointer,
               {uvec2_pushed_, spirv::kPushConstant, uvec2_});
    }

    // "name(types;"
    void note_function(std::string_view name, uint32_t id) {
        const std::string_view stem = name.substr(0, name.find('('));
        if (stem.size() == name.size()) {
            return;
        }
        if (stem == "checked_address") {
            checked_address_ = id;
        } else if (stem == "kernel_parameters") {
            kernel_parameters_ = id;
        }
    }

    Status add(Instruction instruction) {
        const uint32_t op = op_of(instruction);
        if (op == spirv::kOpFunction) {
            is_in_functions_ = true;
        }
        if (!is_in_functions_) {
            append(is_global(op) || !globals_.empty() ? globals_ : before_, instruction);
            return {};
        }
        if (op == spirv::kOpLoad && load_parameters(instruction)) {
            return {};
        }
        if (const std::optional<Access> access = access_of(instruction)) {
            return add_access(instruction, *access);
        }
        const auto is_device_pointer = [&](uint32_t id) {
            return index_.device_pointer_type(id).has_value();
        };
        if (is_unknown_access(op) &&
            std::any_of(instruction.begin() + 1, instruction.end(), is_device_pointer)) {
            return unsupported("an access by instruction {} of SPIR-V", op)
                .with_needed("a load, a store or an atomic");
        }
        append(functions_, instruction);
        return {};
    }

    uint32_t constant(uint32_t value) {
        const auto [at, is_new] = constants_.try_emplace(value, next_id_);
        if (is_new) {
            append(linked_globals_, spirv::kOpConstant, {uint_, next_id_++, value});
        }
        return at->second;
    }

    // push.parameters as it is, which is where the rules are.
    uint32_t load_rules() {
        const uint32_t chain = next_id_++;
        const uint32_t rules = next_id_++;
        append(functions_, spirv::kOpAccessChain,
               {uvec2_pushed_, chain, index_.push_variable(), constant(0)});
        append(functions_, spirv::kOpLoad, {uvec2_, rules, chain});
        return rules;
    }

    // Loads of push.parameters or of one component of it become those of what the rules name.
    bool load_parameters(Instruction load) {
        const Instruction chain = index_.chain(load[3]);
        if (chain.empty() || chain[3] != index_.push_variable() || index_.constant(chain[4]) != 0) {
            return false;
        }
        const uint32_t rules = load_rules();
        const bool is_component = chain.size() > 5;
        const uint32_t parameters = is_component ? next_id_++ : load[2];
        append(functions_, spirv::kOpFunctionCall, {uvec2_, parameters, kernel_parameters_, rules});
        if (is_component) {
            append(functions_, spirv::kOpCompositeExtract,
                   {load[1], load[2], parameters, index_.constant(chain[5]).value_or(0)});
        }
        return true;
    }

    Status add_access(Instruction instruction, Access access) {
        const uint32_t pointer = instruction[access.pointer_word];
        const std::optional<uint32_t> type = index_.device_pointer_type(pointer);
        if (!type) {
            append(functions_, instruction);
            return {};
        }
        const std::optional<uint32_t> bytes = index_.bytes_of(index_.pointee(*type));
        if (!bytes || *bytes > kStrayBytes) {
            return unsupported("an access of {} bytes", bytes.value_or(0))
                .with_needed(fmt::format("a known size, at most {}", kStrayBytes));
        }
        uint32_t base = pointer;
        while (!index_.chain(base).empty()) {
            base = index_.chain(base)[3];
        }
        const uint32_t rules = load_rules();
        const uint32_t base_address = next_id_++;
        const uint32_t address = next_id_++;
        const uint32_t checked = next_id_++;
        const uint32_t checked_pointer = next_id_++;
        append(functions_, spirv::kOpBitcast, {uvec2_, base_address, base});
        append(functions_, spirv::kOpBitcast, {uvec2_, address, pointer});
        append(functions_, spirv::kOpFunctionCall,
               {uvec2_, checked, checked_address_, rules, base_address, address, constant(*bytes),
                constant(access.is_write ? 1 : 0)});
        append(functions_, spirv::kOpBitcast, {*type, checked_pointer, checked});
        const size_t at = functions_.size();
        append(functions_, instruction);
        functions_[at + access.pointer_word] = checked_pointer;
        return {};
    }

    std::span<const uint32_t> words_;
    ModuleIndex index_;
    uint32_t next_id_;
    std::map<Words, uint32_t> unique_types_;  // by the instruction without its id
    std::map<uint32_t, uint32_t> constants_;
    uint32_t uint_ = 0;
    uint32_t uvec2_ = 0;
    uint32_t uvec2_pushed_ = 0;
    uint32_t checked_address_ = 0;
    uint32_t kernel_parameters_ = 0;
    bool is_in_functions_ = false;
    // The parts of the result, in their order there.
    Words before_;
    Words linked_decorations_;
    Words globals_;
    Words linked_globals_;
    Words functions_;
    Words linked_functions_;
};

}  // namespace

Result<std::vector<uint32_t>> with_address_checks(std::span<const uint32_t> words) {
    LEAT_ASSIGN_OR_RETURN(const Shader checks, find_shader("address_check"));
    return Rewriter(words).rewritten(checks.words);
}

}  // namespace leat::vulkan
