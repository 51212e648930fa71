#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> bitcast_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](DType from, DType to, const Shape& shape) {
        const std::string name = std::string(name_of(from)) + "_" + std::string(name_of(to));
        cases.push_back(exact(
            make_case("BitCast", name, {random_input(shape, from, 0, 3)}, {{"to", int64_t(to)}})));
    };
    add(DType::kFloat32, DType::kInt32, {2, 3, 4});
    add(DType::kInt64, DType::kFloat64, {2, 3});
    add(DType::kUint16, DType::kBfloat16, {5});
    add(DType::kBool, DType::kUint8, {2, 3});
    add(DType::kUint8, DType::kFloat8E4M3FN, {7});
    add(DType::kUint4, DType::kInt4, {3, 3});
    add(DType::kInt2, DType::kUint2, {5});
    add(DType::kFloat32, DType::kUint32, {});
    add(DType::kInt8, DType::kUint8, {0, 4});
    return cases;
}

}  // namespace leat::testing
