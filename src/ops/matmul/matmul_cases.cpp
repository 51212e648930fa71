// Conformance cases of MatMul and Gemm.
#include <algorithm>

#include "conformance/op_case.h"

namespace leat::testing {

namespace {

CaseInput in(Shape shape, DType dtype = DType::kFloat32) {
    CaseInput input;
    input.dtype = dtype;
    input.shape = shape;
    return input;
}

CaseInput factors(Shape shape) {
    CaseInput input = in(shape);
    input.constant = true;
    return input;
}

// Half types: both backends round the result once.
OpCase half(OpCase op_case) {
    op_case.rtol = 1e-2;
    op_case.atol = 1e-2;
    return op_case;
}

// A sum of k products in f32 that cancel: errors grow with k, not with the result.
double atol_of(int64_t k) {
    return std::max(1e-6, 1e-7 * double(k));
}

void add_matmul_cases(std::vector<OpCase>& cases) {
    const auto add = [&cases](const char* name, CaseInput a, CaseInput b) {
        OpCase op_case{std::string("MatMul/") + name, "MatMul", {std::move(a), std::move(b)}};
        const Shape& rows = op_case.inputs[0].shape;
        op_case.atol = atol_of(rows[rows.rank() - 1]);
        cases.push_back(std::move(op_case));
    };
    add("square", in({16, 16}), in({16, 16}));
    add("odd_extents", in({37, 53}), in({53, 41}));
    add("one_row", in({1, 300}), in({300, 130}));
    add("one_column", in({130, 300}), in({300, 1}));
    add("weights", in({29, 64}), factors({64, 96}));
    add("weights_batched_rows", in({2, 5, 64}), factors({64, 33}));
    add("long_k", in({7, 3000}), factors({3000, 17}));
    add("batched", in({3, 4, 9, 11}), in({3, 4, 11, 13}));
    add("broadcast_batch", in({3, 1, 9, 11}), in({2, 11, 13}));
    add("broadcast_left", in({9, 11}), in({2, 3, 11, 5}));
    add("vector_matrix", in({11}), in({2, 11, 5}));
    add("matrix_vector", in({2, 5, 11}), in({11}));
    add("dot", in({40}), in({40}));
    add("one_column_batched", in({2, 37, 16}), in({2, 16, 1}));
    add("one_column_broadcast", in({3, 1, 9, 11}), in({2, 11, 1}));
    add("one_column_of_few", in({70, 3}), in({3}));
    add("one_column_weights", in({37, 53}), factors({53, 1}));
    add("vector_columns", in({11}), in({2, 11, 1}));
    add("matrix_vector_long", in({5, 3000}), in({3000}));
    add("matrix_vector_tiles", in({3, 700, 600}), in({600}));
    add("matrix_vector_k_zero", in({3, 0}), in({0}));
    add("k_zero", in({3, 0}), in({0, 4}));
    add("m_zero", in({0, 3}), in({3, 4}));
    add("batch_zero", in({0, 2, 3}), in({3, 4}));
    for (const DType dtype :
         {DType::kFloat64, DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64}) {
        CaseInput a = in({5, 7}, dtype);
        CaseInput b = in({7, 6}, dtype);
        a.low = b.low = dtype == DType::kUint32 || dtype == DType::kUint64 ? 0 : -9;
        a.high = b.high = 9;
        add(std::string(name_of(dtype)).c_str(), std::move(a), std::move(b));
    }
    add("wide_batched", in({2, 20, 24}), in({2, 24, 101}));
    add("f64_broadcast_batch", in({3, 1, 9, 11}, DType::kFloat64),
        in({2, 11, 13}, DType::kFloat64));
    CaseInput large = in({3, 5}, DType::kInt32);
    large.low = -2e9;
    large.high = 2e9;
    add("i32_wraps", large, in({5, 4}, DType::kInt32));
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        cases.push_back(half({"MatMul/" + std::string(name_of(dtype)),
                              "MatMul",
                              {in({5, 7}, dtype), in({7, 6}, dtype)}}));
    }
}

void add_gemm_cases(std::vector<OpCase>& cases) {
    const auto add = [&cases](const char* name, std::vector<CaseInput> inputs,
                              Attributes attributes) {
        OpCase op_case{std::string("Gemm/") + name, "Gemm", std::move(inputs),
                       std::move(attributes)};
        op_case.atol = atol_of(std::max(op_case.inputs[0].shape[0], op_case.inputs[0].shape[1]));
        cases.push_back(std::move(op_case));
    };
    const int64_t yes = 1;
    add("plain", {in({13, 21}), in({21, 17})}, {});
    add("fully_connected", {in({3, 100}), factors({70, 100}), factors({70})}, {{"transB", yes}});
    add("weights", {in({30, 48}), factors({48, 64}), factors({64})}, {});
    add("all", {in({21, 13}), in({17, 21}), in({13, 17})},
        {{"transA", yes}, {"transB", yes}, {"alpha", 0.25F}, {"beta", 0.35F}});
    add("bias_row", {in({13, 21}), in({21, 17}), in({1, 17})}, {{"beta", 2.0F}});
    add("bias_column", {in({13, 21}), in({21, 17}), in({13, 1})}, {});
    add("bias_scalar", {in({13, 21}), in({21, 17}), in({})}, {});
    add("bias_one", {in({13, 21}), in({21, 17}), in({1})}, {});
    add("transposed_a_weights", {in({40, 9}), factors({40, 24})}, {{"transA", yes}});
    add("one_column", {in({37, 21}), in({21, 1}), in({1})}, {{"beta", 2.0F}});
    add("one_column_all", {in({21, 37}), in({1, 21}), in({37, 1})},
        {{"transA", yes}, {"transB", yes}, {"alpha", 0.25F}, {"beta", 0.35F}});
    add("one_column_weights", {in({37, 21}), factors({21, 1}), factors({1, 1})},
        {{"alpha", 0.25F}});
    add("one_row_transposed", {in({1, 21}), in({37, 21}), in({37})},
        {{"transB", yes}, {"alpha", 0.5F}});
    add("one_row_all_transposed", {in({21, 1}), in({18, 21})}, {{"transA", yes}, {"transB", yes}});
    add("k_zero", {in({2, 0}), in({0, 3}), in({3})}, {});
    add("rows_zero", {in({0, 4}), in({4, 3}), in({3})}, {});
    add("i32", {in({3, 4}, DType::kInt32), in({4, 5}, DType::kInt32), in({5}, DType::kInt32)}, {});
    add("f64", {in({3, 4}, DType::kFloat64), in({4, 5}, DType::kFloat64)}, {{"alpha", 0.5F}});
    cases.push_back(half(
        {"Gemm/f16",
         "Gemm",
         {in({3, 4}, DType::kFloat16), in({4, 5}, DType::kFloat16), in({5}, DType::kFloat16)}}));
}

}  // namespace

std::vector<OpCase> matmul_cases() {
    std::vector<OpCase> cases;
    add_matmul_cases(cases);
    add_gemm_cases(cases);
    return cases;
}

}  // namespace leat::testing
