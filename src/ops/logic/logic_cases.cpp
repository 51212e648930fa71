#include <cmath>
#include <limits>

#include "conformance/case_inputs.h"
#include "ops/elementwise/element_access.h"
#include "ops/logic/logic.h"

namespace leat::testing {

std::vector<OpCase> logic_cases();

namespace {

// Few different values, so that equal ones occur.
CaseInput few(DType dtype, const Shape& shape) {
    CaseInput input = random_input(shape, dtype, contains(kUnsignedTypes, dtype) ? 0 : -2, 2);
    if (contains(kFloatTypes, dtype)) {
        input.value = *Tensor::allocate(dtype, shape);
        for (int64_t i = 0; i < shape.element_count(); ++i) {
            store_real(dtype, input.value.mutable_bytes(), i, double(i * 7 % 5 + shape.rank()) - 3);
        }
    }
    return input;
}

void add_binary(const LogicOp& op, std::vector<OpCase>& cases) {
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = DType(i);
        if (!contains(op.dtypes, dtype)) {
            continue;
        }
        const std::string type(name_of(dtype));
        const auto add = [&](std::string_view suffix, const Shape& a, const Shape& b) {
            cases.push_back(make_case(op.name, type + "_" + std::string(suffix),
                                      {few(dtype, a), few(dtype, b)}));
        };
        add("same", {2, 3, 4, 5}, {2, 3, 4, 5});
        add("channel", {2, 5, 3, 7}, {5, 1, 1});
        add("both_ways", {4, 1, 6}, {5, 1});
        add("short_columns", {70, 16}, {70, 1});
        add("short_rows", {19}, {2, 35, 19});
        add("scalar", {3, 37}, {});
        add("scalar_left", {}, {37});
        add("empty", {0, 3}, {3});
    }
    if (contains(op.dtypes, DType::kFloat32)) {
        cases.push_back(make_case(
            op.name, "tiles", {few(DType::kFloat32, {70, 1001}), few(DType::kFloat32, {1001})}));
        constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
        cases.push_back(make_case(op.name, "special_values",
                                  {given_input<float>({5}, {kNan, 1, kNan, 0.0F, HUGE_VALF}),
                                   given_input<float>({5}, {kNan, kNan, 1, -0.0F, HUGE_VALF})}));
    }
    if (contains(op.dtypes, DType::kUint64)) {
        cases.push_back(make_case(op.name, "u64_high",
                                  {given_input<uint64_t>({3}, {~uint64_t{0}, 1, 5}),
                                   given_input<uint64_t>({3}, {1, ~uint64_t{0}, 5})}));
    }
}

void add_unary(const LogicOp& op, std::vector<OpCase>& cases) {
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = DType(i);
        if (contains(op.dtypes, dtype)) {
            cases.push_back(make_case(op.name, name_of(dtype), {few(dtype, {2, 3, 4, 5})}));
        }
    }
}

}  // namespace

std::vector<OpCase> logic_cases() {
    std::vector<OpCase> cases;
    for (const LogicOp& op : logic_table()) {
        if (op.inputs == 2) {
            add_binary(op, cases);
        } else {
            add_unary(op, cases);
        }
    }
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const CaseInput special = given_input<float>({6}, {kNan, HUGE_VALF, -HUGE_VALF, 0, 1, -kNan});
    cases.push_back(make_case("IsNaN", "special_values", {special}));
    cases.push_back(make_case("IsInf", "special_values", {special}));
    cases.push_back(make_case("IsInf", "positive", {special}, {{"detect_negative", int64_t{0}}}));
    cases.push_back(make_case("IsInf", "negative", {special}, {{"detect_positive", int64_t{0}}}));
    return cases;
}

}  // namespace leat::testing
