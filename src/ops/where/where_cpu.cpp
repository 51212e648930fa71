// One loop for each element size; the usual strides have their own, which vectorise.
#include <cstring>
#include <memory>

#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/where/where.h"

namespace leat {

using cpu::Row;

namespace {

template <class T, class A, class B>
void select(const uint8_t* condition, A a, B b, T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const T yes = a(i);  // both are read, so that the choice needs no branch
        const T no = b(i);
        y[i] = condition[i] != 0 ? yes : no;
    }
}

template <class T>
void where_row(const Row& row) {
    const auto* condition = row.input<uint8_t>(0);
    const T* a = row.input<T>(1);
    const T* b = row.input<T>(2);
    T* y = reinterpret_cast<T*>(row.output);
    const int64_t n = row.count;
    const int64_t* strides = row.input_strides;
    const auto is = [&](int64_t c_stride, int64_t a_stride, int64_t b_stride) {
        return row.output_stride == 1 && strides[0] == c_stride && strides[1] == a_stride &&
               strides[2] == b_stride;
    };
    const auto from = [](const T* p) { return [p](int64_t i) { return p[i]; }; };
    const auto repeat = [](T value) { return [value](int64_t) { return value; }; };
    if (is(1, 1, 1)) {
        select(condition, from(a), from(b), y, n);
    } else if (is(1, 1, 0)) {
        select(condition, from(a), repeat(*b), y, n);
    } else if (is(1, 0, 1)) {
        select(condition, repeat(*a), from(b), y, n);
    } else if (is(1, 0, 0)) {
        select(condition, repeat(*a), repeat(*b), y, n);
    } else if (strides[0] == 0 && row.output_stride == 1 && strides[*condition != 0 ? 1 : 2] == 1) {
        // The output may lie over an operand, exactly.
        std::memmove(y, *condition != 0 ? a : b, size_t(n) * sizeof(T));
    } else {
        for (int64_t i = 0; i < n; ++i) {
            const bool yes = condition[i * strides[0]] != 0;
            y[i * row.output_stride] = yes ? a[i * strides[1]] : b[i * strides[2]];
        }
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_where(cpu::PrepareContext& context) {
    const DType dtype = context.outputs[0].dtype;
    cpu::RowKernelSpec spec;
    spec.ns_per_element = 0.2;
    const int bits = dtype == DType::kString ? 0 : bits_of(dtype);
    if (bits == 8) {
        spec.name = "where_8";
        spec.function = where_row<uint8_t>;
    } else if (bits == 16) {
        spec.name = "where_16";
        spec.function = where_row<uint16_t>;
    } else if (bits == 32) {
        spec.name = "where_32";
        spec.function = where_row<uint32_t>;
    } else if (bits == 64 && dtype != DType::kComplex64) {  // which is aligned to 4 bytes only
        spec.name = "where_64";
        spec.function = where_row<uint64_t>;
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
