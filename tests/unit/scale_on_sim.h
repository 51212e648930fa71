// acme.Scale with a kernel for the simulated device.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "backends/host_device/kernel_blob.h"
#include "custom_operators.h"

namespace leat::testing {

// x times "factor" and 3, so that results tell which kernel ran.
inline LeatCode run_thrice(const LeatNodeView* node,
                           int32_t /*input_count*/,
                           const LeatTensorView* const* inputs,
                           int32_t /*output_count*/,
                           LeatTensorView* const* outputs) {
    const auto* x = static_cast<const float*>(inputs[0]->data);
    auto* y = static_cast<float*>(outputs[0]->data);
    if (node->attribute_count != 1 || std::strcmp(node->attributes[0]->name, "factor") != 0) {
        return kLeatInvalidArgument;
    }
    const float factor = 3 * node->attributes[0]->floats[0];
    for (size_t i = 0; i < size_t(inputs[0]->bytes) / sizeof(float); ++i) {
        y[i] = factor * x[i];
    }
    return kLeatOk;
}

inline std::string sim_kernel() {
    host_device::KernelBlob blob{};
    std::memcpy(blob.magic, host_device::kKernelMagic, sizeof(blob.magic));
    blob.run = run_thrice;
    return {reinterpret_cast<const char*>(&blob), sizeof(blob)};
}

// acme.Scale with that kernel for the simulated device; empty: with none.
inline CustomOperator operator_with(std::string kernel) {
    CustomOperator scale = scale_operator();
    if (!kernel.empty()) {
        scale.device_kernels["sim"] = std::move(kernel);
    }
    return scale;
}

}  // namespace leat::testing
