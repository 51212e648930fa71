#include "ops/matmul/vector_product_cpu.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/matrix_vector.h"
#include "base/parts.h"
#include "base/round_up.h"

namespace leat::cpu {
namespace {

// Rows that an epilogue sees at once.
constexpr int64_t kBlockRows = int64_t{kMaxPanelColumns} * kMaxPanelsPerCall;
// Of an element of the matrix: between 0.06 from L1 and 0.16 from memory.
constexpr double kElementNs = 0.1;
// Two workers that share such a tile's time gain more than they lose by meeting.
constexpr double kTileNs = 5e3;

class VectorProductKernel final : public CpuKernel {
  public:
    VectorProductKernel(const VectorProduct& product, Epilogue epilogue)
        : product_(product),
          epilogue_(std::move(epilogue)),
          row_blocks_(divide_up(product.rows, kBlockRows)) {
        kernel_name = "matrix_vector_f32";
        cost_ns = kElementNs * double(product.count) * double(product.rows) * double(product.k);
        const int64_t blocks = product.count * row_blocks_;
        tile_count =
            std::clamp<int64_t>(int64_t(cost_ns / kTileNs), std::min<int64_t>(blocks, 1), blocks);
        scratch_bytes = product.factor == 1 ? 0 : product.k * int64_t{sizeof(float)};
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const int64_t blocks = product_.count * row_blocks_;
        const int64_t end = part_begin(blocks, tile_count, tile_end);
        for (int64_t block = part_begin(blocks, tile_count, tile_begin); block < end;) {
            const int64_t matrix = block / row_blocks_;
            const int64_t first = block % row_blocks_;
            const int64_t last = std::min(row_blocks_, first + end - block);
            LEAT_RETURN_IF_ERROR(run_rows(args, matrix, first * kBlockRows,
                                          std::min(last * kBlockRows, product_.rows)));
            block += last - first;
        }
        return {};
    }

  private:
    // Rows [begin, end) of a matrix.
    Status run_rows(const KernelArgs& args, int64_t matrix, int64_t begin, int64_t end) const {
        const auto matrix_input = size_t(product_.matrix_input);
        MatrixVectorCall call;
        call.row_stride = product_.matrix_row_stride;
        call.k_stride = product_.matrix_k_stride;
        call.k = product_.k;
        call.x = args.inputs[1 - matrix_input].as<float>() + product_.vector.offset(matrix);
        if (product_.factor != 1) {
            call.x = scaled(call.x, reinterpret_cast<float*>(args.scratch));
        }
        const float* a = args.inputs[matrix_input].as<float>() + product_.matrix.offset(matrix);
        float* y = args.outputs[0].as<float>() + product_.result.offset(matrix);
        const int64_t y_stride = product_.result_row_stride;
        const GemmRow row{.row = int32_t(matrix)};
        float buffer[kBlockRows];
        for (int64_t r = begin; r < end; r += call.rows) {
            call.rows = std::min(end - r, kBlockRows);
            call.a = a + r * call.row_stride;
            call.y = y_stride == 1 ? y + r : buffer;
            multiply_(call);
            epilogue_.apply_first(args, call.y, matrix, r, call.rows);
            if (epilogue_.has_more()) {
                LEAT_RETURN_IF_ERROR(
                    epilogue_.apply(args, call.y, call.rows, {&row, 1}, r, call.rows));
            }
            for (int64_t i = 0; i < call.rows && y_stride != 1; ++i) {
                y[(r + i) * y_stride] = buffer[i];
            }
        }
        return {};
    }
    const float* scaled(const float* x, float* to) const {
        for (int64_t k = 0; k < product_.k; ++k) {
            to[k] = x[k] * product_.factor;
        }
        return to;
    }

    VectorProduct product_;
    Epilogue epilogue_;
    int64_t row_blocks_;
    MatrixVector multiply_ = matrix_vector();
};

// An operand without its axis of k, and with so many axes of extent 1 at its end.
TensorArg without_k(const TensorArg& operand, int k_axis, int ones) {
    TensorArg lines;
    for (int axis = 0; axis < operand.shape.rank(); ++axis) {
        if (axis != k_axis) {
            lines.strides[size_t(lines.shape.rank())] = operand.strides[size_t(axis)];
            lines.shape.append(operand.shape[axis]);
        }
    }
    for (int i = 0; i < ones; ++i) {
        lines.shape.append(1);
    }
    return lines;
}

// Operands without their axes of k, which broadcast to the result.
struct Lines {
    TensorArg matrix;
    TensorArg vector;
    const TensorArg& result;
};

// An epilogue sees one axis of rows.
void see_rows(const Lines& lines, int column_axis, VectorProduct& product) {
    const Shape& shape = lines.result.shape;
    product.column_axis = column_axis;
    product.matrix = RowView(lines.matrix, shape, column_axis);
    product.vector = RowView(lines.vector, shape, column_axis);
    product.result = RowView(lines.result, shape, column_axis);
    product.matrix_row_stride = product.matrix.column_stride();
    product.result_row_stride = product.result.column_stride();
    product.rows = column_axis < 0 ? 1 : shape[column_axis];
    product.count = product.rows == 0 ? 0 : shape.element_count() / product.rows;
}

// All results as rows of one matrix, where they lie like that.
void see_one_matrix(const Lines& lines, VectorProduct& product) {
    const Shape& shape = lines.result.shape;
    const RowView matrix(lines.matrix, shape, -1);
    const RowView vector(lines.vector, shape, -1);
    const RowView result(lines.result, shape, -1);
    if (matrix.uniform() && result.uniform() && vector.uniform() && vector.row_stride() == 0) {
        product.matrix = product.vector = product.result = RowView();
        product.matrix_row_stride = matrix.row_stride();
        product.result_row_stride = result.row_stride();
        product.rows = shape.element_count();
        product.count = 1;
    }
}

// A matrix is read along its rows or its columns, and the elements of a vector are adjacent.
bool is_readable(const VectorProduct& product, int64_t vector_k_stride) {
    return product.k <= 1 ||
           (vector_k_stride == 1 &&
            (product.rows <= 1 || product.matrix_k_stride == 1 || product.matrix_row_stride == 1));
}

// y = a b for one row a of each product and matrices b that lie transposed: rows of that matrix are
// columns of the result.
std::optional<VectorProduct> row_product(const TensorArg& a,
                                         const TensorArg& b,
                                         const TensorArg& y) {
    const bool has_row = a.shape.rank() > 1;
    const int b_k_axis = b.shape.rank() - 2;
    VectorProduct product;
    product.k = b.shape[b_k_axis];
    TensorArg matrix = b;
    if (has_row) {
        matrix.shape[b_k_axis] = 1;  // where the result has its row
    } else {
        matrix = without_k(b, b_k_axis, 0);
    }
    product.matrix_input = 1;
    const int a_k_axis = a.shape.rank() - 1;
    see_rows({matrix, without_k(a, a_k_axis, has_row ? 1 : 0), y}, y.shape.rank() - 1, product);
    return is_readable(product, a.strides[size_t(a_k_axis)]) ? std::optional(product)
                                                             : std::nullopt;
}

}  // namespace

std::optional<VectorProduct> matmul_vector_product(const PrepareContext& context) {
    const TensorArg& a = context.inputs[0];
    const TensorArg& b = context.inputs[1];
    const TensorArg& y = context.outputs[0];
    const MatMulGeometry geometry = MatMulGeometry::make(a.shape, b.shape);
    if (geometry.n != 1) {
        return geometry.m == 1 && !b.is_row_major() ? row_product(a, b, y) : std::nullopt;
    }
    // A matrix of one column has that axis in the result, too.
    const bool has_rows = a.shape.rank() > 1;
    const bool has_column = b.shape.rank() > 1;
    const int a_k_axis = a.shape.rank() - 1;
    const int b_k_axis = has_column ? b.shape.rank() - 2 : 0;
    const Lines lines{without_k(a, a_k_axis, has_rows && has_column ? 1 : 0),
                      without_k(b, b_k_axis, has_rows && has_column ? 1 : 0), y};
    VectorProduct product;
    product.k = geometry.k;
    product.matrix_k_stride = a.strides[size_t(a_k_axis)];
    see_rows(lines, y.shape.rank() - (has_rows && has_column ? 2 : 1), product);
    if (context.node.epilogue.empty()) {
        see_one_matrix(lines, product);
    }
    return is_readable(product, b.strides[size_t(b_k_axis)]) ? std::optional(product)
                                                             : std::nullopt;
}

std::optional<VectorProduct> gemm_vector_product(const PrepareContext& context,
                                                 const GemmGeometry& geometry) {
    const TensorArg& a = context.inputs[0];
    const TensorArg& b = context.inputs[1];
    const int a_k_axis = geometry.transpose_a ? 0 : 1;
    const int b_k_axis = geometry.transpose_b ? 1 : 0;
    const bool is_constant = context.constants[1] != nullptr;
    VectorProduct product;
    product.k = geometry.k;
    // [m] or [n], and 1 in the place of the other.
    Lines lines{without_k(a, a_k_axis, 1), without_k(b, b_k_axis, 0), context.outputs[0]};
    int64_t vector_k_stride = b.strides[size_t(b_k_axis)];
    if (geometry.n == 1) {
        product.matrix_k_stride = a.strides[size_t(a_k_axis)];
        product.factor = is_constant ? geometry.alpha : 1;
        see_rows(lines, 0, product);
    } else if (geometry.m == 1 && geometry.transpose_b && !is_constant) {
        std::swap(lines.matrix, lines.vector);
        vector_k_stride = a.strides[size_t(a_k_axis)];
        product.matrix_k_stride = 1;
        product.matrix_input = 1;
        see_rows(lines, 1, product);
    } else {
        return std::nullopt;
    }
    return is_readable(product, vector_k_stride) ? std::optional(product) : std::nullopt;
}

std::unique_ptr<CpuKernel> make_vector_product(const VectorProduct& product, Epilogue epilogue) {
    return std::make_unique<VectorProductKernel>(product, std::move(epilogue));
}

}  // namespace leat::cpu
