// Short ways to write the cases of the movement operators.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/op_case.h"

namespace leat::testing {

inline CaseInput random_input(Shape shape, DType dtype = DType::kFloat32) {
    CaseInput input;
    input.dtype = dtype;
    input.shape = shape;
    const bool is_integer = dtype != DType::kFloat32 && dtype != DType::kFloat64;
    input.low = is_integer ? 0 : -2;
    input.high = is_integer ? 3 : 2;
    return input;
}

template <class T>
CaseInput given_input(Shape shape, const std::vector<T>& values) {
    CaseInput input;
    input.dtype = kDTypeOf<T>;
    input.shape = shape;
    input.value = Tensor::from<T>(shape, std::span<const T>(values)).value();
    return input;
}

inline CaseInput given_strings(Shape shape) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < shape.element_count(); ++i) {
        values.push_back("element number " + std::to_string(i));
    }
    return given_input<std::string>(shape, values);
}

// A shape operand: a constant i64 vector.
inline CaseInput constant_ints(const std::vector<int64_t>& values) {
    CaseInput input = given_input<int64_t>({int64_t(values.size())}, values);
    input.constant = true;
    return input;
}

inline CaseInput absent_input() {
    CaseInput input;
    input.absent = true;
    return input;
}

using Ints = std::vector<int64_t>;

// One type of every size of element: 1, 2, 4, 8 and 16 bytes, and packed ones.
inline const std::vector<DType>& types_of_all_sizes() {
    static const std::vector<DType> kTypes = {DType::kUint8, DType::kBool,       DType::kFloat16,
                                              DType::kInt32, DType::kFloat64,    DType::kComplex64,
                                              DType::kInt4,  DType::kComplex128, DType::kUint2};
    return kTypes;
}

}  // namespace leat::testing
