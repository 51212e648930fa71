// MatMul: y = a b over the last two axes, the leading ones broadcast.  Gemm: y = alpha a' b' + beta
// c.
//
// MatMul-13. a [.., m, k], b [.., k, n], y [.., m, n]; a of rank 1 is a row [1, k] and b of rank 1
// a column
//   [k, 1], whose added axis is dropped from y.
// Gemm-13. a' is a or its transpose (transA), [m, k]; b' [k, n] likewise (transB); c broadcasts to
// [m, n]. Types: f16, bf16, f32, f64, i32, i64, u32, u64 (integers wrap). Numerics: the reference
// accumulates in double, or modulo 2^64, over increasing k.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// The extents of a product of these operands; nullopt where a rank is unknown.
Result<std::optional<std::vector<DimSpec>>> matmul_dims(const TypeInfo& a, const TypeInfo& b);

// OpDef::cost and OpDef::gives_rows of a product; the rows are of one of inputs 0 and 1.
Cost matmul_cost(const NodeData& node,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs);
bool matmul_gives_rows(const ShardArgs& args);

// One MatMul as a batch of plain products. Strides are in matrices: 0 where the operand broadcasts.
struct MatMulGeometry {
    int64_t m = 0;
    int64_t n = 0;
    int64_t k = 0;
    Shape batch;  // leading extents of y
    Strides a_batch_strides{};
    Strides b_batch_strides{};

    // a, b: shapes that inference accepted.
    static MatMulGeometry make(const Shape& a, const Shape& b);

    int64_t batch_count() const { return batch.element_count(); }
    // The matrix of a (or b) that product number `index` of y reads.
    int64_t a_matrix(int64_t index) const { return matrix(index, a_batch_strides); }
    int64_t b_matrix(int64_t index) const { return matrix(index, b_batch_strides); }

  private:
    int64_t matrix(int64_t index, const Strides& strides) const;
};

// One Gemm: extents after transposition, and how c broadcasts. Strides are in elements.
struct GemmGeometry {
    int64_t m = 0;
    int64_t n = 0;
    int64_t k = 0;
    bool transpose_a = false;
    bool transpose_b = false;
    float alpha = 1;
    float beta = 1;
    int64_t c_row_stride = 0;
    int64_t c_column_stride = 0;

    // c: its shape, or null where it is absent.
    static GemmGeometry make(const NodeData& node, const Shape& a, const Shape& b, const Shape* c);
};

}  // namespace leat
