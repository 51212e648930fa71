// MatMul and Gemm as plain loops in i k j order, so that the innermost one is over contiguous
// memory.
#include <algorithm>
#include <vector>

#include "ops/element.h"
#include "ops/matmul/matmul.h"
#include "ops/type_checks.h"

namespace leat {

namespace {

// sums [n] += factors [k] times rows [k, n].
template <class T>
void accumulate_rows(const std::vector<Accumulator<T>>& factors,
                     const T* rows,
                     std::vector<Accumulator<T>>& sums) {
    const size_t n = sums.size();
    for (const Accumulator<T> factor : factors) {
        for (size_t j = 0; j < n; ++j) {
            sums[j] += factor * widen(rows[j]);
        }
        rows += n;
    }
}

// sums [n] += columns [n, k], a transposed matrix, times factors [k].
template <class T>
void accumulate_columns(const std::vector<Accumulator<T>>& factors,
                        const T* columns,
                        std::vector<Accumulator<T>>& sums) {
    const size_t k = factors.size();
    for (Accumulator<T>& sum : sums) {
        for (size_t p = 0; p < k; ++p) {
            sum += factors[p] * widen(columns[p]);
        }
        columns += k;
    }
}

// Widens a row whose first element is at `offset` and whose others follow at column_stride.
template <class T>
void load_row(const T* data,
              int64_t offset,
              int64_t column_stride,
              std::vector<Accumulator<T>>& row) {
    for (Accumulator<T>& element : row) {
        element = widen(data[offset]);
        offset += column_stride;
    }
}

template <class T>
Status run_matmul(const ReferenceArgs& args) {
    const auto geometry = MatMulGeometry::make(args.inputs[0].shape, args.inputs[1].shape);
    const int64_t m = geometry.m;
    const int64_t n = geometry.n;
    const int64_t k = geometry.k;
    const T* a = args.inputs[0].as<const T>();
    const T* b = args.inputs[1].as<const T>();
    T* y = args.outputs[0].as<T>();
    std::vector<Accumulator<T>> row(static_cast<size_t>(k));
    std::vector<Accumulator<T>> sums(static_cast<size_t>(n));
    for (int64_t index = 0; index < geometry.batch_count(); ++index) {
        const T* a_matrix = a + geometry.a_matrix(index) * m * k;
        const T* b_matrix = b + geometry.b_matrix(index) * k * n;
        for (int64_t i = 0; i < m; ++i) {
            std::fill(sums.begin(), sums.end(), Accumulator<T>{});
            load_row(a_matrix, i * k, 1, row);
            accumulate_rows(row, b_matrix, sums);
            std::transform(sums.begin(), sums.end(), y + (index * m + i) * n, narrow<T>);
        }
    }
    return {};
}

// alpha and beta are real; a product with 1 stays exact, also for 64-bit integers.
template <class T>
Accumulator<T> scaled(Accumulator<T> x, float factor) {
    if constexpr (std::is_integral_v<T>) {
        if (factor == 1.0F) {
            return x;
        }
        const double product = double(T(x)) * double(factor);
        // Out of the range of int64 is undefined in C++; saturate.
        const double limited = std::clamp(product, -0x1p63, 0x1p64);
        if (limited < 0) {
            return uint64_t(int64_t(limited));
        }
        return limited >= 0x1p64 ? UINT64_MAX : uint64_t(limited);
    } else {
        return x * double(factor);
    }
}

template <class T>
Status run_gemm(const ReferenceArgs& args) {
    const bool has_bias = is_own_input(args.node, 2) && find_arg(args.inputs, 2) != nullptr;
    const auto geometry = GemmGeometry::make(args.node, args.inputs[0].shape, args.inputs[1].shape,
                                             has_bias ? &args.inputs[2].shape : nullptr);
    const int64_t m = geometry.m;
    const int64_t n = geometry.n;
    const int64_t k = geometry.k;
    const T* c = has_bias ? args.inputs[2].as<const T>() : nullptr;
    T* y = args.outputs[0].as<T>();
    const T* a = args.inputs[0].as<const T>();
    const T* b = args.inputs[1].as<const T>();
    std::vector<Accumulator<T>> row(static_cast<size_t>(k));
    std::vector<Accumulator<T>> sums(static_cast<size_t>(n));
    for (int64_t i = 0; i < m; ++i) {
        std::fill(sums.begin(), sums.end(), Accumulator<T>{});
        load_row(a, geometry.transpose_a ? i : i * k, geometry.transpose_a ? m : 1, row);
        if (geometry.transpose_b) {
            accumulate_columns(row, b, sums);
        } else {
            accumulate_rows(row, b, sums);
        }
        for (int64_t j = 0; j < n; ++j) {
            Accumulator<T> value = scaled<T>(sums[size_t(j)], geometry.alpha);
            if (c != nullptr) {
                const T bias = c[i * geometry.c_row_stride + j * geometry.c_column_stride];
                value += scaled<T>(widen(bias), geometry.beta);
            }
            y[i * n + j] = narrow<T>(value);
        }
    }
    return {};
}

}  // namespace

Status matmul_reference(const ReferenceArgs& args) {
    return dispatch_number(args.inputs[0].dtype, [&](auto element) {
        return run_matmul<typename decltype(element)::type>(args);
    });
}

Status gemm_reference(const ReferenceArgs& args) {
    return dispatch_number(args.inputs[0].dtype, [&](auto element) {
        return run_gemm<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
