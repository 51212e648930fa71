// The built-in CPU backend: SIMD kernels where a folder of src/ops has one, else the reference
// kernel.
#pragma once

#include "backends/backend.h"

namespace leat {

const Backend& cpu_backend();

// The instruction set that the SIMD kernels use on this machine, for example "AVX3" (AVX-512).
std::string cpu_simd_name();

}  // namespace leat
