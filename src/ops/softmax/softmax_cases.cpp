// Conformance cases of Softmax, LogSoftmax and Hardmax.
#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

void add_cases(std::vector<OpCase>& cases, const std::string& op) {
    const auto add = [&](const char* name, CaseInput x, int64_t axis) -> OpCase& {
        cases.push_back({op + "/" + name, op, {std::move(x)}, {{"axis", axis}}});
        return cases.back();
    };
    cases.push_back({op + "/default_axis", op, {random_input({3, 4, 37})}});
    add("rows_of_1", random_input({5, 1}), -1);
    add("rows_of_7", random_input({5, 7}), -1);
    add("rows_of_128", random_input({30, 128}), -1);
    add("rows_of_1000", random_input({2, 1000}), 1);
    add("many_rows", random_input({500, 130}), -1);
    add("axis0", random_input({19, 35}), 0);
    add("middle", random_input({3, 21, 5, 7}), 1);
    add("middle_wide", random_input({2, 9, 300}), 1);
    add("rank_one", random_input({65}), 0);
    add("large_values", random_input({4, 50}, DType::kFloat32, -10000, 10000), -1);
    add("very_negative", random_input({4, 50}, DType::kFloat32, -1e30, -1e29), -1);
    add("no_rows", random_input({0, 5}), 1);
    add("empty_rows", random_input({5, 0}), 1);
    std::vector<float> masked(40, -1.0F);
    for (size_t i = 20; i < 32; ++i) {
        masked[i] = -std::numeric_limits<float>::infinity();
    }
    add("masked", given_input<float>({2, 20}, masked), -1);
    if (op != "Hardmax") {
        // Equal but for one: every rounding of a running sum goes one way.
        std::vector<float> equal(100'003, -2.3025851F);
        equal[77] = 0;
        add("long_row", given_input<float>({1, 100'003}, equal), -1).atol = 0;
        add("long_column", given_input<float>({100'003, 1}, equal), 0).atol = 0;
        equal.resize(size_t{33'000} * 3, -2.3025851F);
        add("long_columns", given_input<float>({33'000, 3}, equal), 0).atol = 0;
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    add("nan",
        given_input<float>({4, 3}, {nan, 1, infinity, 1, nan, nan, -infinity, 2, nan, 3, 2, 1}),
        -1);
    add("f64", random_input({4, 33}, DType::kFloat64), -1);
    OpCase& f16 = add("f16", random_input({4, 33}, DType::kFloat16), -1);
    f16.rtol = f16.atol = 1e-2;
    OpCase& long_f16 = add("long_f16", random_input({2, 700}, DType::kFloat16), -1);
    long_f16.rtol = long_f16.atol = 1e-2;
    OpCase& bf16 = add("bf16", random_input({4, 33}, DType::kBfloat16), -1);
    bf16.rtol = bf16.atol = 5e-2;
}

}  // namespace

std::vector<OpCase> softmax_cases() {
    std::vector<OpCase> cases;
    cases.reserve(64);  // add() hands out references
    add_cases(cases, "Softmax");
    add_cases(cases, "LogSoftmax");
    add_cases(cases, "Hardmax");
    return cases;
}

}  // namespace leat::testing
