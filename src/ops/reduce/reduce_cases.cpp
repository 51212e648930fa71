// Conformance cases of the reductions.
#include <fmt/core.h>

#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

constexpr const char* kNames[] = {"ReduceSum",       "ReduceMean",     "ReduceMax", "ReduceMin",
                                  "ReduceProd",      "ReduceL1",       "ReduceL2",  "ReduceLogSum",
                                  "ReduceLogSumExp", "ReduceSumSquare"};

struct ReduceShape {
    const char* name;
    Shape shape;
    Ints axes;
};

// Layout of the reduced axes: trailing, leading, middle, several, none left.
std::vector<ReduceShape> shapes() {
    return {{"last", {7, 50}, {1}},
            {"last_long", {3, 1037}, {-1}},
            {"last_short", {40, 3}, {1}},
            {"first", {33, 21}, {0}},
            {"first_long", {300, 5}, {0}},
            {"middle", {3, 17, 40}, {1}},
            {"middle_inner_one", {5, 9, 1}, {1}},
            {"two_last", {2, 10, 7, 9}, {2, 3}},
            {"two_first", {4, 5, 19}, {0, 1}},
            {"outer_and_inner", {3, 11, 6}, {0, 2}},
            {"scattered", {3, 4, 5, 2, 3}, {1, 3}},
            {"everything", {9, 8, 7}, {0, 1, 2}},
            {"extent_one", {4, 1, 6}, {1}}};
}

bool is_log(const std::string& op) {
    return op == "ReduceLogSum";
}

OpCase reduce(const std::string& op, const std::string& name, CaseInput x) {
    if (is_log(op)) {  // the argument of a logarithm
        x.low = 0.1;
    }
    if (op == "ReduceProd") {  // neither overflow nor underflow in long rows
        x.low = 0.9;
        x.high = 1.1;
    }
    OpCase op_case{op + "/" + name, op, {std::move(x)}};
    // Sums of signed terms cancel: the error is relative to the terms.
    op_case.atol = 2e-5;
    return op_case;
}

void add_shape_cases(std::vector<OpCase>& cases, const std::string& op) {
    for (const ReduceShape& row : shapes()) {
        OpCase op_case = reduce(op, row.name, random_input(row.shape));
        op_case.inputs.push_back(constant_ints(row.axes));
        cases.push_back(op_case);
    }
    OpCase dropped = reduce(op, "no_keepdims", random_input({3, 4, 5}));
    dropped.inputs.push_back(constant_ints({-2}));
    dropped.attributes = {{"keepdims", int64_t{0}}};
    cases.push_back(dropped);
    cases.push_back(reduce(op, "default_axes", random_input({3, 4, 5})));
    OpCase none = reduce(op, "noop", random_input({3, 4}));
    none.inputs.push_back(constant_ints({}));
    none.attributes = {{"noop_with_empty_axes", int64_t{1}}};
    cases.push_back(none);
    OpCase empty = reduce(op, "empty_set", random_input({2, 0, 3}));
    empty.inputs.push_back(constant_ints({1}));
    cases.push_back(empty);
    OpCase no_rows = reduce(op, "no_rows", random_input({0, 5}));
    no_rows.inputs.push_back(constant_ints({1}));
    cases.push_back(no_rows);
    cases.push_back(reduce(op, "scalar", random_input({})));
}

void add_type_cases(std::vector<OpCase>& cases, const std::string& op) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt32,
                              DType::kInt64, DType::kUint32, DType::kUint64}) {
        OpCase op_case =
            reduce(op, std::string(name_of(dtype)), random_input({3, 6, 4}, dtype, 1, 9));
        op_case.inputs.push_back(constant_ints({1}));
        op_case.inputs[0].low = 1;
        op_case.inputs[0].high = 4;
        cases.push_back(op_case);
    }
}

void add_extreme_cases(std::vector<OpCase>& cases, const std::string& op) {
    for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kBool}) {
        OpCase op_case =
            reduce(op, std::string(name_of(dtype)), random_input({5, 6}, dtype, 0, 100));
        op_case.inputs.push_back(constant_ints({1}));
        cases.push_back(op_case);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> values(40, 1.0F);
    values[3] = infinity;
    values[17] = -infinity;
    values[33] = nan;
    OpCase special = reduce(op, "special_values", given_input<float>({4, 10}, values));
    special.inputs.push_back(constant_ints({1}));
    cases.push_back(special);
    OpCase columns = reduce(op, "special_values_first", given_input<float>({4, 10}, values));
    columns.inputs.push_back(constant_ints({0}));
    cases.push_back(columns);
}

// Sums of few long rows of a half type, and integers beyond 32 bits.
void add_sum_cases(std::vector<OpCase>& cases) {
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        OpCase op_case = reduce("ReduceMean", fmt::format("long_{}", name_of(dtype)),
                                random_input({3, 700}, dtype, 1, 2));
        op_case.inputs.push_back(constant_ints({1}));
        op_case.rtol = 1e-2;
        cases.push_back(op_case);
    }
    for (const DType dtype : {DType::kInt32, DType::kUint32}) {
        OpCase op_case = reduce("ReduceMean", fmt::format("beyond_{}", name_of(dtype)),
                                random_input({4, 9}, dtype, 1.5e9, 2.1e9));
        op_case.inputs.push_back(constant_ints({1}));
        cases.push_back(op_case);
    }
    // Near 1 and denormal, where a device's own logarithm may be wrong.
    OpCase logs = reduce("ReduceLogSum", "hard_logarithms",
                         given_input<float>({4}, {1.0001F, 0.99995F, 1e-40F, 3e38F}));
    logs.inputs.push_back(constant_ints({}));
    logs.attributes = {{"noop_with_empty_axes", int64_t{1}}};
    logs.atol = 1e-9;
    cases.push_back(logs);
}

// Equal elements: every rounding of a running sum goes one way.
void add_long_axes(std::vector<OpCase>& cases, const std::string& op) {
    const std::vector<float> equal(size_t{3} * 70'001, 0.1F);
    const auto add = [&](const std::string& name, const Shape& shape, const std::vector<float>& x,
                         int64_t axis) {
        cases.push_back(reduce(op, name, given_input<float>(shape, x)));
        cases.back().inputs.push_back(constant_ints({axis}));
    };
    add("long_rows", {3, 70'001}, equal, 1);
    add("long_columns", {70'001, 3}, equal, 0);
    add("long_column", {210'003, 1}, equal, 0);
}

// Sums that f32 does not hold, though it holds their means, roots and logarithms; by rows, by
// columns of whole vectors and others.
void add_sums_beyond_floats(std::vector<OpCase>& cases, const std::string& op) {
    for (const float element : {3e38F, -3e38F, 1e-25F, 4e30F}) {
        if (element < 0 && op == "ReduceLogSum") {
            continue;
        }
        std::vector<float> values(size_t{5} * 21, element);
        values[30] /= 2;
        values[31] = 0;
        for (const int64_t axis : {0, 1}) {
            OpCase op_case = reduce(op, fmt::format("near_{}_axis{}", element, axis),
                                    given_input<float>({5, 21}, values));
            op_case.inputs.push_back(constant_ints({axis}));
            op_case.atol = 0;
            cases.push_back(op_case);
        }
    }
}

}  // namespace

std::vector<OpCase> reduce_cases() {
    std::vector<OpCase> cases;
    for (const char* op : kNames) {
        add_shape_cases(cases, op);
        add_type_cases(cases, op);
    }
    add_extreme_cases(cases, "ReduceMax");
    add_extreme_cases(cases, "ReduceMin");
    add_sum_cases(cases);
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSum",
                           "ReduceLogSumExp", "ReduceSumSquare"}) {
        add_long_axes(cases, op);
    }
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSum"}) {
        add_sums_beyond_floats(cases, op);
    }
    return cases;
}

}  // namespace leat::testing
