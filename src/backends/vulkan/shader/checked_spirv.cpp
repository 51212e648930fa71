#include "backends/vulkan/shader/checked_spirv.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/vulkan/record/address_rules.h"
#include "backends/vulkan/shader/shaders.h"
#include "backends/vulkan/shader/spirv_index.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

using spirv::append;
using spirv::for_each_instruction;
using spirv::Instruction;
using spirv::op_of;
using Words = std::vector<uint32_t>;

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

class CheckInserter {
  public:
    explicit CheckInserter(std::span<const uint32_t> words)
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
        // The checks' atomics are of the whole device.
        const uint32_t vulkan_model[] = {2U << 16U | spirv::kOpCapability,
                                         spirv::kVulkanMemoryModel};
        for_each_instruction(words_, [&](Instruction instruction) {
            if (std::equal(instruction.begin(), instruction.end(), std::begin(vulkan_model),
                           std::end(vulkan_model))) {
                append(result, spirv::kOpCapability, {spirv::kVulkanMemoryModelDeviceScope});
            }
            return op_of(instruction) != spirv::kOpMemoryModel;
        });
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
    spirv::ModuleIndex index_;
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
    return CheckInserter(words).rewritten(checks.words);
}

}  // namespace leat::vulkan
