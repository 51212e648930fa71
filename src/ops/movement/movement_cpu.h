// CopyKernel: a CPU kernel that is a list of strided copies, cut into tiles of about equal size.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "base/inline_vector.h"
#include "ops/movement/strided_copy.h"

namespace leat::cpu {

// One copy: from input `source_input` (kZeros: from a zero element) to output `destination_output`.
struct CopyJob {
    static constexpr int kZeros = -1;
    int source_input = 0;
    int destination_output = 0;
    StridedCopy copy;
};

// True for types whose elements are whole bytes without a constructor: all but packed ones and
// strings.
bool has_byte_elements(DType dtype);
int element_bytes(DType dtype);

// Axes of a copy of `shape` from strides to strides.
InlineVector<CopyAxis, kMaxRank> copy_axes(const Shape& shape,
                                           const Strides& source,
                                           const Strides& destination);

// A copy of a whole tensor of one shape; strides come from the arguments.
CopyJob copy_job(int source_input,
                 const TensorArg& source,
                 int destination_output,
                 const TensorArg& destination);

// The kernel; its tiles hold about 64 KiB of output.
std::unique_ptr<CpuKernel> make_copy_kernel(std::vector<CopyJob> jobs, std::string_view name);

}  // namespace leat::cpu
