#include <fmt/core.h>

#include "ops/matmul_integer/integer_cases.h"

namespace leat::testing {

std::vector<OpCase> matmul_integer_cases();

namespace {

void add(std::vector<OpCase>& cases, const std::string& name, std::vector<CaseInput> inputs) {
    cases.push_back(exact(make_case("MatMulInteger", name, std::move(inputs))));
}

struct Shapes {
    const char* name = "";
    Shape a;
    Shape b;
};

void add_sums(std::vector<OpCase>& cases) {
    const Shapes shapes[] = {
        {"square", {16, 16}, {16, 16}},
        {"odd_extents", {37, 53}, {53, 41}},
        {"one_row", {1, 301}, {301, 130}},
        {"one_column", {130, 300}, {300, 1}},
        {"batched", {3, 4, 9, 11}, {3, 4, 11, 13}},
        {"broadcast_batch", {3, 1, 9, 11}, {2, 11, 13}},
        {"broadcast_left", {9, 11}, {2, 3, 11, 5}},
        {"broadcast_one_matrix", {9, 11}, {2, 1, 11, 5}},
        {"shared_b", {2, 5, 64}, {64, 33}},
        {"one_shared_b", {5, 64}, {1, 64, 33}},
        {"vector_matrix", {11}, {2, 11, 5}},
        {"matrix_vector", {2, 5, 11}, {11}},
        {"dot", {40}, {40}},
        {"k_zero", {3, 0}, {0, 4}},
        {"m_zero", {0, 3}, {3, 4}},
        {"n_zero", {4, 3}, {3, 0}},
        {"tiles", {250, 300}, {300, 310}},
    };
    for (const Shapes& s : shapes) {
        add(cases, s.name, {bytes(s.a), bytes(s.b, kI8), bytes({}), bytes({}, kI8)});
        add(cases, std::string(s.name) + "_weights", {bytes(s.a), weights(s.b)});
    }
    for (const DType a : {kU8, kI8}) {
        for (const DType b : {kU8, kI8}) {
            const std::string name = fmt::format("{}_{}", name_of(a), name_of(b));
            add(cases, name,
                {bytes({13, 70}, a), weights({70, 35}, b), bytes({}, a), bytes({}, b)});
            add(cases, name + "_no_zeros", {bytes({13, 70}, a), bytes({70, 35}, b)});
            add(cases, name + "_columns",
                {bytes({13, 70}, a), weights({70, 35}, b), bytes({1}, a), bytes({35}, b)});
            add(cases, name + "_rows",
                {bytes({2, 13, 70}, a), bytes({70, 35}, b), bytes({13}, a), bytes({35}, b)});
        }
    }
    add(cases, "only_b_zero", {bytes({5, 7}), bytes({7, 6}), absent_input(), bytes({})});
    add(cases, "zeros_by_batch",
        {bytes({2, 3, 5, 7}), bytes({2, 3, 7, 6}), bytes({2, 3, 5, 1}), bytes({2, 1, 1, 6})});
    // All factors as large as they can be; sums of more than 2^31 / 255^2 = 33,025 wrap.
    add(cases, "wraps",
        {random_input({2, 40000}, kU8, 255, 255), random_input({40000, 3}, kU8, 255, 255)});
}

void add_requantized(std::vector<OpCase>& cases) {
    const auto product = [&cases](const std::string& name, const CaseInput& a, const CaseInput& b,
                                  DType y, Shape columns, Shape rows) {
        cases.push_back(
            exact(make_case("QLinearMatMul", name,
                            {a, scale(), bytes({}, a.dtype), b, scale(columns),
                             bytes(columns, b.dtype), scale(rows, 2, 40), bytes(rows, y)})));
    };
    for (const DType a : {kU8, kI8}) {
        for (const DType b : {kU8, kI8}) {
            const std::string name = fmt::format("{}_{}", name_of(a), name_of(b));
            product(name, bytes({29, 64}, a), weights({64, 70}, b), a, {}, {});
            product(name + "_columns", bytes({29, 64}, a), weights({64, 70}, b), a, {70}, {});
        }
    }
    product("other_result", bytes({9, 33}), bytes({33, 10}), kI8, {}, {1});
    product("batched", bytes({3, 2, 9, 33}), bytes({3, 2, 33, 10}), kU8, {}, {});
    product("batched_columns", bytes({3, 9, 33}), weights({3, 33, 10}), kU8, {10}, {});
    product("rows", bytes({9, 33}), bytes({33, 10}), kU8, {10}, {9});
    product("one_row", bytes({1, 500}), weights({500, 200}), kU8, {200}, {});
    product("empty", bytes({0, 5}), bytes({5, 4}), kU8, {}, {});
    product("tiles", bytes({150, 300}), weights({300, 310}), kU8, {}, {});
    // Halves go to the even neighbour; 3 k for k from -8 on, times 1/2.
    cases.push_back(exact(make_case(
        "QLinearMatMul", "ties",
        {given_input<int8_t>({16, 1}, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}),
         given_input<float>({}, {0.5F}), given_input<int8_t>({}, {0}),
         given_input<int8_t>({1, 1}, {3}), given_input<float>({}, {1}),
         given_input<int8_t>({}, {0}), given_input<float>({}, {1}),
         given_input<int8_t>({}, {5})})));
}

}  // namespace

std::vector<OpCase> matmul_integer_cases() {
    std::vector<OpCase> cases;
    add_sums(cases);
    add_requantized(cases);
    return cases;
}

}  // namespace leat::testing
