// What passes over a shader ask of its SPIR-V: types, sizes, constants and chains of accesses by
// id.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "backends/vulkan/shader/spirv.h"

namespace leat::vulkan::spirv {

// Of a module as glslang writes it. The words outlive it.
class ModuleIndex {
  public:
    explicit ModuleIndex(std::span<const uint32_t> words);

    // The variable of the push constants; 0: there is none.
    uint32_t push_variable() const { return push_variable_; }
    // The value of a constant of 32 bits.
    std::optional<uint32_t> constant(uint32_t id) const;
    // The chain of accesses that gives a pointer, or none.
    Instruction chain(uint32_t pointer) const;
    // Of an id that is a pointer to device memory: its type.
    std::optional<uint32_t> device_pointer_type(uint32_t id) const;
    uint32_t pointee(uint32_t pointer_type) const { return types_.at(pointer_type)[3]; }
    // Bytes from an object's first to its last one; none where the type has no such size.
    std::optional<uint32_t> bytes_of(uint32_t type) const;

  private:
    using Member = std::pair<uint32_t, uint32_t>;  // structure, index

    void note(Instruction words);
    std::optional<uint32_t> bytes_of_array(Instruction words) const;
    std::optional<uint32_t> bytes_of_struct(Instruction words) const;

    uint32_t push_variable_ = 0;
    std::map<uint32_t, Instruction> types_;
    std::map<uint32_t, uint32_t> types_of_ids_;
    std::map<uint32_t, uint32_t> constants_;
    std::map<uint32_t, uint32_t> array_strides_;
    std::map<Member, uint32_t> member_offsets_;
    std::map<uint32_t, Instruction> chains_;
};

}  // namespace leat::vulkan::spirv
