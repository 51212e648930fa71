// Loops for each element size and for each operand that repeats or does not, which vectorise.
#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/where/where.h"

namespace leat {

using cpu::Row;

namespace {

// An operand's rows as select() reads them: element by element, or one for all of a row.
template <class T>
struct Elements {
    const T* first;
    int64_t row_stride;
    auto row(int64_t r) const {
        return [p = first + r * row_stride](int64_t i) { return p[i]; };
    }
};
template <class T>
struct Repeated {
    const T* first;
    int64_t row_stride;
    auto row(int64_t r) const {
        return [value = first[r * row_stride]](int64_t /*i*/) { return value; };
    }
};

// Both are read, so that the choice needs no branch. The output may lie over an operand, exactly,
// here and in where_rows().
template <class T, class C, class A, class B>
void select(const Row& row, const C& condition, const A& a, const B& b) {
    for (int64_t r = 0; r < row.rows; ++r) {
        T* y = row.result<T>(r);
        const auto c_row = condition.row(r);
        const auto a_row = a.row(r);
        const auto b_row = b.row(r);
        for (int64_t i = 0; i < row.count; ++i) {
            const T yes = a_row(i);
            const T no = b_row(i);
            y[i] = c_row(i) != 0 ? yes : no;
        }
    }
}

// Calls f with the operand as its stride says, which is 0 or 1.
template <class T, class F>
void with_operand(const Row& row, int input, const F& f) {
    if (row.input_strides[input] == 1) {
        f(Elements<T>{row.input<T>(input), row.input_row_strides[input]});
    } else {
        f(Repeated<T>{row.input<T>(input), row.input_row_strides[input]});
    }
}

template <class T>
void choose_loop(const Row& row) {
    with_operand<uint8_t>(row, 0, [&row](const auto& condition) {
        with_operand<T>(row, 1, [&](const auto& a) {
            with_operand<T>(row, 2, [&](const auto& b) { select<T>(row, condition, a, b); });
        });
    });
}

template <class T>
void where_rows(const Row& row) {
    const int64_t* strides = row.input_strides;
    const bool is_dense =
        row.output_stride == 1 &&
        std::all_of(strides, strides + 3, [](int64_t s) { return s == 0 || s == 1; });
    if (row.rows == 1 && strides[0] == 0 && row.output_stride == 1) {
        const int chosen = *row.input<uint8_t>(0) != 0 ? 1 : 2;
        if (strides[chosen] == 1) {
            std::memmove(row.result<T>(), row.input<T>(chosen), size_t(row.count) * sizeof(T));
            return;
        }
    }
    if (is_dense) {
        choose_loop<T>(row);
        return;
    }
    const auto* condition = row.input<uint8_t>(0);
    const T* a = row.input<T>(1);
    const T* b = row.input<T>(2);
    T* y = row.result<T>();
    for (int64_t i = 0; i < row.count; ++i) {
        const bool yes = condition[i * strides[0]] != 0;
        y[i * row.output_stride] = yes ? a[i * strides[1]] : b[i * strides[2]];
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_where(cpu::PrepareContext& context) {
    const DType dtype = context.outputs[0].dtype;
    cpu::RowKernelSpec spec;
    spec.takes_rows = true;
    spec.ns_per_element = 0.2;
    const int bits = dtype == DType::kString ? 0 : bits_of(dtype);
    if (bits == 8) {
        spec.name = "where_8";
        spec.function = where_rows<uint8_t>;
    } else if (bits == 16) {
        spec.name = "where_16";
        spec.function = where_rows<uint16_t>;
    } else if (bits == 32) {
        spec.name = "where_32";
        spec.function = where_rows<uint32_t>;
    } else if (bits == 64 && dtype != DType::kComplex64) {  // which is aligned to 4 bytes only
        spec.name = "where_64";
        spec.function = where_rows<uint64_t>;
    } else {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    return cpu::make_row_kernel(spec, context.outputs[0], context.inputs);
}

}  // namespace

std::span<const cpu::CpuKernelEntry> where_cpu_kernels() {
    static constexpr cpu::CpuKernelEntry kEntries[] = {{"Where", make_where}};
    return kEntries;
}

}  // namespace leat
