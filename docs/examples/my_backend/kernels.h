// The operators: f32, one input, one output of its shape, element by element.
#pragma once

#include <cstdint>
#include <string_view>

namespace my {

struct Kernel {
    std::string_view op_type;  // of the standard's domain
    void (*run)(const float* x, float* y, int64_t elements);
};

inline void relu(const float* x, float* y, int64_t elements) {
    for (int64_t i = 0; i < elements; ++i) {
        y[i] = x[i] < 0 ? 0 : x[i];  // NaN stays NaN
    }
}

inline void neg(const float* x, float* y, int64_t elements) {
    for (int64_t i = 0; i < elements; ++i) {
        y[i] = -x[i];
    }
}

constexpr Kernel kKernels[] = {
    {"Relu", relu},
    {"Neg", neg},
};

// Null if there is none.
inline const Kernel* find_kernel(std::string_view domain, std::string_view op_type) {
    for (const Kernel& kernel : kKernels) {
        if (domain.empty() && kernel.op_type == op_type) {
            return &kernel;
        }
    }
    return nullptr;
}

}  // namespace my
