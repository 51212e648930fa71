// Kernels that check their addresses: a shader's SPIR-V with a call of checked_address()
// (shaders/address_check.comp) before every access through an address.
//
//     %p = OpAccessChain %tensor %i          %a = OpFunctionCall %checked_address %rules %tensor %p
//     ... %x = OpLoad %p                   -->   %q = OpBitcast %a
//                                            %x = OpLoad %q
//
// That covers loads, stores and atomics of every shader, however its text was made; accesses to
// descriptors and shared memory stay as they are. Such a kernel wants the address of its rules
// (address_rules.h) where push.parameters was, and arithmetic of the types that it stores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/status.h"

namespace leat::vulkan {

// unsupported where an access is of a kind that the rewriting does not know (a copy of memory, a
// matrix); such a kernel cannot be checked. Thread-safe.
Result<std::vector<uint32_t>> with_address_checks(std::span<const uint32_t> words);

}  // namespace leat::vulkan
