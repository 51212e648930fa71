// What register_kernel() of a backend on the host takes: the bytes of a KernelBlob.
#pragma once

#include "leat/plugin.h"

namespace leat::host_device {

constexpr char kKernelMagic[8] = {'h', 'o', 's', 't', 'k', 'r', 'n', '2'};

struct KernelBlob {
    char magic[8];  // kKernelMagic
    // Called on the device's thread with all operands row-major. `node` has names and attributes.
    // Does not throw.
    LeatCode (*run)(const LeatNodeView* node,
                    int32_t input_count,
                    const LeatTensorView* const* inputs,
                    int32_t output_count,
                    LeatTensorView* const* outputs);
};

}  // namespace leat::host_device
