// RowKernel: a CPU kernel of any element-wise operator, made of a function for one row.
//
// The loops over all operands are put in the order of the output's strides and merged where every
// operand allows, so that most operators become one long row whatever their rank and layout. A tile
// is a range of the remaining elements in that order; a row function may therefore see any part of
// a row, and an element's result must not depend on its place in the row.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "backends/cpu/cpu_kernel.h"
#include "base/inline_vector.h"

namespace leat::cpu {

inline constexpr int kMaxRowInputs = 8;

// Some consecutive elements of a row. Strides are in elements and may be anything, mostly 0 or 1.
// Or several whole rows, where stepping from one to the next is the same for all: strides of
// elements are 0 or 1 then, and 1 in the output.
struct Row {
    std::array<const std::byte*, kMaxRowInputs> inputs;
    std::byte* output;
    const int64_t* input_strides;
    int64_t output_stride;
    int64_t count;  // elements of a row, >= 1
    int input_count;
    const void* state;                 // what the maker of the kernel gave
    int64_t rows;                      // 1 unless RowKernelSpec::takes_rows
    const int64_t* input_row_strides;  // from row to row
    int64_t output_row_stride;

    // The first element of a row.
    template <class T>
    const T* input(int i, int64_t row = 0) const {
        return reinterpret_cast<const T*>(inputs[size_t(i)]) + row * input_row_strides[i];
    }
    template <class T>
    T* result(int64_t row = 0) const {
        return reinterpret_cast<T*>(output) + row * output_row_stride;
    }
};
using RowFunction = void (*)(const Row& row);

// A loop nest over an output and inputs that broadcast to it, innermost axis last. At least one
// axis.
struct RowLoops {
    struct Axis {
        int64_t extent;
        int64_t output_stride;
        std::array<int64_t, kMaxRowInputs> input_strides;
    };
    int input_count = 0;
    int64_t element_count = 0;     // of the output
    InlineVector<Axis, 1> axes{};  // one or more; a plan has a kernel for each of many steps
};

// Inputs broadcast to the output by numpy's rules (this is not checked again here).
RowLoops make_row_loops(const TensorArg& output, std::span<const TensorArg> inputs);

// What make_row_kernel needs beside the operands.
struct RowKernelSpec {
    std::string_view name;  // of the implementation, a literal
    RowFunction function = nullptr;
    bool takes_rows = false;            // the function takes several rows at a time
    std::shared_ptr<const void> state;  // Row::state, kept by the kernel
    double ns_per_element = 0.5;        // decides the size of tiles
};

// The kernel over `inputs` (at most kMaxRowInputs; Row::inputs of absent ones is null) and
// outputs[0]. run() takes its operands from the same positions of KernelArgs. Packed dtypes are not
// allowed.
std::unique_ptr<CpuKernel> make_row_kernel(const RowKernelSpec& spec,
                                           const TensorArg& output,
                                           std::span<const TensorArg> inputs);

}  // namespace leat::cpu
