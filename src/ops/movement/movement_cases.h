// Short ways to write the cases of the movement operators.
#pragma once

#include <string>
#include <vector>

#include "conformance/case_inputs.h"

namespace leat::testing {

// Random elements; whole numbers from 0 to 3 in the integer types.
inline CaseInput random_elements(Shape shape, DType dtype = DType::kFloat32) {
    const bool is_integer = dtype != DType::kFloat32 && dtype != DType::kFloat64;
    return is_integer ? random_input(shape, dtype, 0, 3) : random_input(shape, dtype);
}

inline CaseInput given_strings(Shape shape) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < shape.element_count(); ++i) {
        values.push_back("element number " + std::to_string(i));
    }
    return given_input<std::string>(shape, values);
}

// One type of every size of element: 1, 2, 4, 8 and 16 bytes, and packed ones.
inline const std::vector<DType>& types_of_all_sizes() {
    static const std::vector<DType> kTypes = {DType::kUint8, DType::kBool,       DType::kFloat16,
                                              DType::kInt32, DType::kFloat64,    DType::kComplex64,
                                              DType::kInt4,  DType::kComplex128, DType::kUint2};
    return kTypes;
}

}  // namespace leat::testing
