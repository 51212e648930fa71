// Compress: runs of slices are copied at once; single elements without a branch.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/cpu_kernel.h"
#include "ops/compress/compress.h"
#include "ops/open_result.h"

namespace leat {
namespace {

// The slices of an axis that are wanted.
struct WantedSlices {
    const uint8_t* condition = nullptr;
    int64_t length = 0;  // behind the last one that is wanted
    int64_t count = 0;
};

WantedSlices wanted_slices(const TensorArg& condition, int64_t extent) {
    WantedSlices wanted;
    wanted.condition = condition.as<const uint8_t>();
    const int64_t length = std::min(extent, condition.shape.element_count());
    for (int64_t i = 0; i < length; ++i) {
        wanted.count += wanted.condition[i] != 0 ? 1 : 0;
    }
    wanted.length = length;
    while (wanted.length > 0 && wanted.condition[wanted.length - 1] == 0) {
        --wanted.length;
    }
    return wanted;
}

// Each element goes to the next free place, where the next one that is wanted replaces it if it
// was not: so only the last one has to be wanted.
template <class T>
void compress_elements(const WantedSlices& wanted, const std::byte* x, std::byte* y) {
    const T* const from = reinterpret_cast<const T*>(x);
    T* to = reinterpret_cast<T*>(y);
    const auto take = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            *to = from[i];
            to += wanted.condition[i] != 0 ? 1 : 0;
        }
    };
    constexpr int64_t kStep = sizeof(uint64_t);
    int64_t i = 0;
    for (; i + kStep <= wanted.length; i += kStep) {
        uint64_t conditions = 0;
        std::memcpy(&conditions, wanted.condition + i, sizeof(conditions));
        if (conditions != 0) {
            take(i, i + kStep);
        }
    }
    take(i, wanted.length);
}

void compress_slices(const WantedSlices& wanted,
                     const std::byte* x,
                     int64_t slice_bytes,
                     std::byte* y) {
    for (int64_t i = 0; i < wanted.length;) {
        if (wanted.condition[i] == 0) {
            ++i;
            continue;
        }
        const int64_t begin = i;
        while (i < wanted.length && wanted.condition[i] != 0) {
            ++i;
        }
        const int64_t bytes = (i - begin) * slice_bytes;
        std::memcpy(y, x + begin * slice_bytes, size_t(bytes));
        y += bytes;
    }
}

void compress_line(const WantedSlices& wanted,
                   const std::byte* x,
                   int64_t slice_bytes,
                   std::byte* y) {
    switch (slice_bytes) {
        case 1:
            return compress_elements<uint8_t>(wanted, x, y);
        case 2:
            return compress_elements<uint16_t>(wanted, x, y);
        case 4:
            return compress_elements<uint32_t>(wanted, x, y);
        case 8:
            return compress_elements<uint64_t>(wanted, x, y);
        default:
            return compress_slices(wanted, x, slice_bytes, y);
    }
}

// One tile: the result has a shape only when the whole condition was read.
class CompressKernel final : public cpu::CpuKernel {
  public:
    CompressKernel(const NodeData& node, const AxisSplit& loop, DType dtype)
        : node_(node), loop_(loop), element_bytes_(storage_bytes(dtype, 1).value_or(0)) {
        kernel_name = "compress";
        names_node = true;
    }

    Status run(const cpu::KernelArgs& args, int64_t /*begin*/, int64_t /*end*/) const override {
        const TensorArg& x = args.inputs[0];
        const WantedSlices wanted = wanted_slices(args.inputs[1], loop_.extent);
        LEAT_ASSIGN_OR_RETURN(const Shape shape, with_axis_or_all(node_, x.shape, wanted.count));
        LEAT_ASSIGN_OR_RETURN(std::byte * y, give_shape(args.outputs[0], shape));
        const int64_t slice_bytes = loop_.inner * element_bytes_;
        if (wanted.count * loop_.inner == 0) {
            return {};
        }
        for (int64_t outer = 0; outer < loop_.outer; ++outer) {
            const std::byte* const from = x.data + outer * loop_.extent * slice_bytes;
            compress_line(wanted, from, slice_bytes, y);
            y += wanted.count * slice_bytes;
        }
        return {};
    }

  private:
    const NodeData& node_;
    AxisSplit loop_;
    int64_t element_bytes_;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_compress(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (bits_of(x.dtype) < 8 || x.dtype == DType::kString) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, AxisSplit::of_axis_or_all(context.node, x.shape));
    return std::unique_ptr<cpu::CpuKernel>(new CompressKernel(context.node, loop, x.dtype));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> compress_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{{"Compress", make_compress}}};
    return kEntries;
}

}  // namespace leat
