// Short ways to write the inputs of an OpCase.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/op_case.h"

namespace leat::testing {

using Ints = std::vector<int64_t>;

// Random elements in [low, high].
inline CaseInput random_input(Shape shape,
                              DType dtype = DType::kFloat32,
                              double low = -2,
                              double high = 2) {
    CaseInput input;
    input.dtype = dtype;
    input.shape = shape;
    input.low = low;
    input.high = high;
    return input;
}

// The same, given to the graph as a constant.
inline CaseInput random_constant(Shape shape, DType dtype = DType::kFloat32) {
    CaseInput input = random_input(shape, dtype);
    input.constant = true;
    return input;
}

// Given elements.
template <class T>
CaseInput given_input(Shape shape, std::vector<T> values) {
    CaseInput input;
    input.dtype = kDTypeOf<T>;
    input.shape = shape;
    input.value = Tensor::from<T>(shape, values).value();
    return input;
}

// Every code of a type of 8 bits, in order.
inline CaseInput all_codes(DType dtype) {
    CaseInput input;
    input.dtype = dtype;
    input.shape = {256};
    input.value = Tensor::allocate(dtype, input.shape).value();
    for (int code = 0; code < 256; ++code) {
        input.value.mutable_bytes()[code] = std::byte(code);
    }
    return input;
}

// A 1-D i64 constant: axes, pads, shapes.
inline CaseInput constant_ints(const Ints& values) {
    CaseInput input = given_input<int64_t>(Shape{int64_t(values.size())}, values);
    input.constant = true;
    return input;
}

inline CaseInput absent_input() {
    CaseInput input;
    input.absent = true;
    return input;
}

// A case named "Op/suffix".
inline OpCase make_case(std::string_view op_type,
                        std::string_view suffix,
                        std::vector<CaseInput> inputs,
                        Attributes attributes = {}) {
    OpCase op_case;
    op_case.name = std::string(op_type) + "/" + std::string(suffix);
    op_case.op_type = std::string(op_type);
    op_case.inputs = std::move(inputs);
    op_case.attributes = std::move(attributes);
    return op_case;
}

// Results are equal, with the signs of zeros, or one of the kernels is wrong. Of NaNs only those of
// 8 bits have to be the same.
inline OpCase exact(OpCase op_case) {
    op_case.rtol = 0;
    op_case.atol = 0;
    return op_case;
}

}  // namespace leat::testing
