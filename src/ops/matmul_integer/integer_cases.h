// Short ways to write the cases of quantized products and convolutions.
#pragma once

#include "conformance/case_inputs.h"

namespace leat::testing {

inline constexpr DType kU8 = DType::kUint8;
inline constexpr DType kI8 = DType::kInt8;

// All values that the type has.
inline CaseInput bytes(Shape shape, DType dtype = kU8) {
    return random_input(shape, dtype, dtype == kU8 ? 0 : -128, dtype == kU8 ? 255 : 127);
}
inline CaseInput weights(Shape shape, DType dtype = kI8) {
    CaseInput input = bytes(shape, dtype);
    input.constant = true;
    return input;
}
inline CaseInput scale(Shape shape = {}, double low = 0.02, double high = 0.08) {
    return random_input(shape, DType::kFloat32, low, high);
}

}  // namespace leat::testing
