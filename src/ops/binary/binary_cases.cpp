#include <limits>

#include "conformance/case_inputs.h"
#include "ops/binary/binary.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

std::vector<OpCase> binary_cases();

namespace {

Attributes attributes_of(const BinaryOp& op, DType dtype) {
    if (op.name == "BitShift") {
        return {{"direction", std::string("LEFT")}};
    }
    if (op.name == "Mod" && contains(kFloatTypes, dtype)) {
        return {{"fmod", int64_t{1}}};
    }
    return {};
}

// Operands for which every operator is defined and no result is a near tie.
CaseInput left(DType dtype, const Shape& shape) {
    return random_input(shape, dtype, contains(kUnsignedTypes, dtype) ? 0 : -5, 20);
}
CaseInput right(const BinaryOp& op, DType dtype, const Shape& shape) {
    const bool may_be_negative = op.name != "Pow" && !contains(kUnsignedTypes, dtype);
    return random_input(shape, dtype, may_be_negative ? -4 : 1, 5);
}
OpCase broadcast(
    const BinaryOp& op, DType dtype, std::string_view suffix, const Shape& a, const Shape& b) {
    CaseInput x = left(dtype, a);
    if (op.name == "Pow" && contains(kFloatTypes, dtype)) {
        x.low = 0.1;  // a negative base has no real power
    }
    return make_case(op.name, suffix, {x, right(op, dtype, b)}, attributes_of(op, dtype));
}

void add_shapes(const BinaryOp& op, DType dtype, std::vector<OpCase>& cases) {
    const std::string type(name_of(dtype));
    const auto add = [&](std::string_view suffix, const Shape& a, const Shape& b) {
        cases.push_back(broadcast(op, dtype, type + "_" + std::string(suffix), a, b));
    };
    add("same", {2, 3, 4, 5}, {2, 3, 4, 5});
    add("scalar_right", {3, 37}, {});
    add("channel", {2, 5, 3, 7}, {5, 1, 1});
    add("row", {4, 6, 19}, {19});
    add("column", {6, 19}, {6, 1});
    add("batch", {3, 5, 2, 9}, {3, 1, 1, 9});
    add("tiles", {7, 1000, 9}, {1000, 1});
    add("short_columns", {70, 16}, {70, 1});
    add("short_rows", {2, 35, 11}, {11});
    add("short_batches", {3, 40, 5}, {3, 1, 5});
    add("empty", {2, 0, 3}, {3});
    add("rank0", {}, {});
    add("rank8", {1, 2, 1, 3, 2, 1, 2, 3}, {3, 1, 1, 2, 3});
    if (op.name != "PRelu") {
        add("scalar_left", {}, {3, 37});
        add("short_columns_left", {70, 1}, {70, 16});
        add("short_rows_left", {21}, {50, 21});
        add("short_both_ways", {90, 1}, {18});
        add("both_ways", {4, 1, 6}, {1, 5, 1});
        add("both_ways_4d", {2, 1, 3, 1}, {1, 4, 1, 5});
    }
}

void add_special_values(std::vector<OpCase>& cases) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> x = {0.0F, -0.0F, 1,     -1,     kInf, -kInf,
                                  kNan, 3e38F, -2.5F, 1e-40F, 4,    9};
    const std::vector<float> y = {0.0F, 2, -0.0F, kNan, kInf, 2, 1, 3e38F, 0.5F, 2, 0.5F, -0.5F};
    for (const char* op : {"Add", "Sub", "Mul", "Div", "PRelu"}) {
        cases.push_back(make_case(op, "special_values",
                                  {given_input<float>({12}, x), given_input<float>({12}, y)}));
    }
    for (const float exponent : {0.0F, 0.5F, 1.0F, 2.0F, 3.0F, -1.0F, 1.7F}) {
        cases.push_back(
            make_case("Pow", fmt::format("exponent_{}", exponent),
                      {given_input<float>({12}, x), given_input<float>({}, {exponent})}));
    }
    constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
    const std::vector<int64_t> a = {7, -7, 7, -7, kLow, kLow, 5, 0, kLow};
    const std::vector<int64_t> b = {2, 2, -2, -2, -1, 1, 0, 3, kLow};
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Mod"}) {
        cases.push_back(make_case(op, "i64_edges",
                                  {given_input<int64_t>({9}, a), given_input<int64_t>({9}, b)}));
    }
    cases.push_back(
        make_case("Mod", "f32_floored",
                  {random_input({40}, DType::kFloat32), random_input({40}, DType::kFloat32)}));
    cases.push_back(make_case(
        "BitShift", "right",
        {random_input({40}, DType::kUint32, 0, 4e9), random_input({40}, DType::kUint32, 0, 40)},
        {{"direction", std::string("RIGHT")}}));
    for (const char* direction : {"LEFT", "RIGHT"}) {
        const Attributes attributes = {{"direction", std::string(direction)}};
        cases.push_back(
            make_case("BitShift", fmt::format("i8_edges_{}", direction),
                      {given_input<int8_t>({10}, {-128, -1, 127, -5, 5, 64, -64, -128, 1, -2}),
                       given_input<int8_t>({10}, {7, 8, 9, -1, -1, 1, 1, 127, 7, 6})},
                      attributes));
        cases.push_back(make_case("BitShift", fmt::format("i64_edges_{}", direction),
                                  {given_input<int64_t>({9}, a),
                                   given_input<int64_t>({9}, {63, 64, 65, -1, 0, 62, kLow, 1, 1})},
                                  attributes));
    }
    for (const auto& [base, exponent] :
         {std::pair(DType::kFloat32, DType::kInt64), std::pair(DType::kInt64, DType::kFloat32),
          std::pair(DType::kInt32, DType::kUint8), std::pair(DType::kFloat16, DType::kInt32)}) {
        cases.push_back(
            make_case("Pow", fmt::format("{}_{}", name_of(base), name_of(exponent)),
                      {random_input({4, 5}, base, 1, 5), random_input({5}, exponent, 0, 4)}));
    }
}

}  // namespace

std::vector<OpCase> binary_cases() {
    std::vector<OpCase> cases;
    for (const BinaryOp& op : binary_table()) {
        for (int i = 0; i < kDTypeCount; ++i) {
            const auto dtype = DType(i);
            if (!contains(op.dtypes, dtype)) {
                continue;
            }
            if (dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kInt32 ||
                dtype == DType::kInt64) {
                add_shapes(op, dtype, cases);
            } else {
                cases.push_back(broadcast(op, dtype, name_of(dtype), {3, 5}, {5}));
            }
        }
    }
    add_special_values(cases);
    return cases;
}

}  // namespace leat::testing
