#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> cumsum_cases() {
    std::vector<OpCase> cases;
    const auto add_op = [&cases](const char* op, const std::string& name, CaseInput x, int64_t axis,
                                 int64_t exclusive, int64_t reverse) {
        CaseInput operand = given_input<int64_t>({}, Ints{axis});
        operand.constant = true;
        cases.push_back(make_case(op, name, {std::move(x), std::move(operand)},
                                  {{"exclusive", exclusive}, {"reverse", reverse}}));
    };
    const auto add = [&add_op](const std::string& name, const CaseInput& x, int64_t axis,
                               int64_t exclusive, int64_t reverse) {
        add_op("CumSum", name, x, axis, exclusive, reverse);
        add_op("CumProd", name, x, axis, exclusive, reverse);
    };
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64,
                              DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64}) {
        const std::string name(name_of(dtype));
        add(name + "_line", random_elements({3, 7}, dtype), -1, 0, 0);
        add(name + "_rows", random_elements({2, 5, 4}, dtype), 1, 0, 0);
        add(name + "_exclusive", random_elements({2, 5, 4}, dtype), 1, 1, 0);
        add(name + "_reverse", random_elements({3, 7}, dtype), 1, 0, 1);
        add(name + "_both", random_elements({4, 3}, dtype), 0, 1, 1);
    }
    // Equal elements: every rounding of a running sum goes one way.
    const std::vector<float> equal(size_t{60'000} * 2, 0.1F);
    add_op("CumSum", "long_axis0", given_input<float>({60'000, 2}, equal), 0, 0, 0);
    add_op("CumSum", "long_axis0_exclusive", given_input<float>({60'000, 2}, equal), 0, 1, 1);
    add_op("CumSum", "long_line", given_input<float>({2, 60'000}, equal), 1, 0, 0);
    const std::vector<float> near_one(size_t{60'000}, 1.0001F);
    add_op("CumProd", "long_line", given_input<float>({60'000}, near_one), 0, 0, 0);
    add("wide_rows", random_elements({3, 20, 1100}), 1, 0, 0);
    add("wide_rows_both", random_elements({3, 20, 1100}), 1, 1, 1);
    add("empty", random_elements({3, 0}), 0, 0, 0);
    add("large", random_elements({90, 500}, DType::kInt32), 1, 0, 0);
    return cases;
}

}  // namespace leat::testing
