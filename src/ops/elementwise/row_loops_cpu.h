// Loops over one Row for element types that the compiler handles: plain C++, any strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/elementwise/binary_f32.h"
#include "ops/elementwise/row_kernel_cpu.h"

namespace leat::cpu {

// An operand of several rows.
inline F32Rows f32_rows(const Row& row, int input) {
    return {row.input<float>(input), row.input_row_strides[input], row.input_strides[input]};
}

// y = f(x) for one row with one input.
template <class T, class R, class F>
void map_unary(const Row& row, F f) {
    const T* x = row.input<T>(0);
    R* y = reinterpret_cast<R*>(row.output);
    const int64_t n = row.count;
    const int64_t x_stride = row.input_strides[0];
    const int64_t y_stride = row.output_stride;
    if (x_stride == 1 && y_stride == 1) {
        for (int64_t i = 0; i < n; ++i) {
            y[i] = f(x[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        y[i * y_stride] = f(x[i * x_stride]);
    }
}

// z = f(x, y) for rows with two inputs; the usual strides have their own loops, which vectorise.
template <class T, class R, class F>
void map_binary(const Row& row, F f) {
    const int64_t n = row.count;
    const int64_t x_stride = row.input_strides[0];
    const int64_t y_stride = row.input_strides[1];
    const int64_t z_stride = row.output_stride;
    const auto for_rows = [&row](auto one_row) {
        for (int64_t r = 0; r < row.rows; ++r) {
            one_row(row.input<T>(0, r), row.input<T>(1, r), row.result<R>(r));
        }
    };
    if (z_stride == 1 && x_stride == 1 && y_stride == 1) {
        for_rows([n, f](const T* x, const T* y, R* z) {
            for (int64_t i = 0; i < n; ++i) {
                z[i] = f(x[i], y[i]);
            }
        });
    } else if (z_stride == 1 && x_stride == 1 && y_stride == 0) {
        for_rows([n, f](const T* x, const T* y, R* z) {
            const T right = *y;
            for (int64_t i = 0; i < n; ++i) {
                z[i] = f(x[i], right);
            }
        });
    } else if (z_stride == 1 && x_stride == 0 && y_stride == 1) {
        for_rows([n, f](const T* x, const T* y, R* z) {
            const T left = *x;
            for (int64_t i = 0; i < n; ++i) {
                z[i] = f(left, y[i]);
            }
        });
    } else {
        for_rows([&](const T* x, const T* y, R* z) {
            for (int64_t i = 0; i < n; ++i) {
                z[i * z_stride] = f(x[i * x_stride], y[i * y_stride]);
            }
        });
    }
}

template <class T>
void gather_strided(const T* source, int64_t stride, T* target, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        target[i] = source[i * stride];
    }
}

// One row. Calls f(pointers, strides, output, n) on pieces of it whose input strides are 0 or 1 and
// whose output stride is 1, through small copies where the row's are not.
template <class T, int kInputs, class F>
void for_contiguous(const Row& row, F f) {
    const auto direct = [](int64_t stride) { return stride == 0 || stride == 1; };
    std::array<const T*, kInputs> inputs{};
    std::array<int64_t, kInputs> strides{};
    T* output = reinterpret_cast<T*>(row.output);
    const auto used = size_t(std::min(kInputs, row.input_count));
    bool all_direct = row.output_stride == 1 || row.count == 1;
    for (size_t k = 0; k < used; ++k) {
        inputs[k] = row.input<T>(int(k));
        strides[k] = row.count == 1 ? 1 : row.input_strides[k];
        all_direct = all_direct && direct(strides[k]);
    }
    if (all_direct) {
        f(inputs, strides, output, row.count);
        return;
    }
    constexpr int64_t kChunk = 128;
    T buffers[kInputs + 1][kChunk];
    std::array<const T*, kInputs> pieces{};
    std::array<int64_t, kInputs> piece_strides{};
    for (int64_t begin = 0; begin < row.count; begin += kChunk) {
        const int64_t n = std::min(kChunk, row.count - begin);
        for (size_t k = 0; k < used; ++k) {
            const T* source = inputs[k] + begin * strides[k];
            pieces[k] = source;
            piece_strides[k] = direct(strides[k]) ? strides[k] : 1;
            if (!direct(strides[k])) {
                gather_strided(source, strides[k], buffers[k], n);
                pieces[k] = buffers[k];
            }
        }
        const bool copy_out = row.output_stride != 1;
        f(pieces, piece_strides, copy_out ? buffers[kInputs] : output + begin, n);
        for (int64_t i = 0; copy_out && i < n; ++i) {
            output[(begin + i) * row.output_stride] = buffers[kInputs][i];
        }
    }
}

}  // namespace leat::cpu
