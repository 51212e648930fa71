// What register_kernel() of sim takes: the bytes of a SimKernelBlob.
#pragma once

#include "leat/plugin.h"

namespace leat::sim {

constexpr char kKernelMagic[8] = {'s', 'i', 'm', 'k', 'e', 'r', 'n', '1'};

struct SimKernelBlob {
    char magic[8];  // kKernelMagic
    // Called on the device's thread with all operands row-major. Does not throw.
    LeatCode (*run)(int32_t input_count,
                    const LeatTensorView* const* inputs,
                    int32_t output_count,
                    LeatTensorView* const* outputs);
};

}  // namespace leat::sim
