#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> constant_cases() {
    const Tensor seven = Tensor::from<int64_t>({1}, Ints{7}).value();
    const Tensor text = Tensor::from<std::string>({1}, std::vector<std::string>{"text"}).value();
    std::vector<OpCase> cases = {
        {"Constant/ints", "Constant", {}, {{"value_ints", Ints{3, -4}}}},
        {"Constant/tensor", "Constant", {}, {{"value", seven}}},
        {"ConstantOfShape/default", "ConstantOfShape", {constant_ints({2, 3})}},
        {"ConstantOfShape/i64", "ConstantOfShape", {constant_ints({2, 3})}, {{"value", seven}}},
        {"ConstantOfShape/strings", "ConstantOfShape", {constant_ints({3})}, {{"value", text}}},
        {"ConstantOfShape/scalar", "ConstantOfShape", {constant_ints({})}},
        {"ConstantOfShape/empty", "ConstantOfShape", {constant_ints({2, 0, 3})}},
    };
    const auto range = [&cases](const char* name, auto start, auto limit, auto delta) {
        using T = decltype(start);
        OpCase op_case{std::string("Range/") + name, "Range", {}};
        for (const T value : {start, T(limit), T(delta)}) {
            op_case.inputs.push_back(given_input<T>({}, std::vector<T>{value}));
            op_case.inputs.back().constant = true;
        }
        cases.push_back(std::move(op_case));
    };
    range("up", int64_t{3}, 10, 2);
    range("down", int32_t{10}, 3, -3);
    range("none", int64_t{3}, 3, 1);
    range("wrong_way", int64_t{3}, 9, -1);
    range("floats", 1.0F, 2.05F, 0.1F);
    range("doubles", 5.0, -5.0, -0.75);
    return cases;
}

}  // namespace leat::testing
