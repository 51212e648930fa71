// Products of a matrix and a vector: MatMul and Gemm whose result has one column, or one row where
// the matrix is no constant and lies transposed.
#pragma once

#include <memory>
#include <optional>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/epilogue.h"
#include "ops/matmul/matmul.h"

namespace leat::cpu {

// y[i, r] = sum_k matrix(i)[r, k] * factor * vector(i)[k] for r in [0, rows), i in [0, count).
struct VectorProduct {
    int64_t count = 0;
    int64_t rows = 0;
    int64_t k = 0;
    int column_axis = -1;  // of the result: that of r, as an Epilogue has it
    int matrix_input = 0;  // the vector is the other one
    // Offsets by i.
    RowView matrix;
    RowView vector;
    RowView result;
    // Of r and k.
    int64_t matrix_row_stride = 0;
    int64_t matrix_k_stride = 1;
    int64_t result_row_stride = 1;
    float factor = 1;
};

// Of f32 operands, the second row-major or transposed; nullopt: it is none, or its operands do not
// lie like that.
std::optional<VectorProduct> matmul_vector_product(const PrepareContext& context);
std::optional<VectorProduct> gemm_vector_product(const PrepareContext& context,
                                                 const GemmGeometry& geometry);

std::unique_ptr<CpuKernel> make_vector_product(const VectorProduct& product, Epilogue epilogue);

}  // namespace leat::cpu
