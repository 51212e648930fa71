#include "ops/movement/movement_cpu.h"

#include <algorithm>

#include "base/parts.h"

namespace leat::cpu {
namespace {

// Waking a worker costs as much as copying some ten KiB; more tiles than needed cost little.
constexpr int64_t kTileBytes = int64_t{64} * 1024;

constexpr std::byte kZeroElement[16] = {};

class CopyKernel final : public CpuKernel {
  public:
    CopyKernel(std::vector<CopyJob> jobs, std::string_view name) : jobs_(std::move(jobs)) {
        kernel_name = name;
        int64_t bytes = 0;
        first_units_.reserve(jobs_.size());
        for (const CopyJob& job : jobs_) {
            first_units_.push_back(unit_count_);
            unit_count_ += job.copy.unit_count();
            bytes += job.copy.destination_bytes();
        }
        tile_count = std::clamp<int64_t>(bytes / kTileBytes, 1, std::max<int64_t>(unit_count_, 1));
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const int64_t end = first_unit(tile_end);
        int64_t unit = first_unit(tile_begin);
        auto job = size_t(std::upper_bound(first_units_.begin(), first_units_.end(), unit) -
                          first_units_.begin());
        for (; unit < end; ++job) {
            const CopyJob& now = jobs_[job - 1];
            const int64_t job_begin = first_units_[job - 1];
            const int64_t job_end = std::min(end, job_begin + now.copy.unit_count());
            if (unit < job_end) {
                const std::byte* source = now.source_input == CopyJob::kZeros
                                              ? kZeroElement
                                              : args.inputs[size_t(now.source_input)].data;
                now.copy.run(source, args.outputs[size_t(now.destination_output)].data,
                             unit - job_begin, job_end - job_begin);
                unit = job_end;
            }
        }
        return {};
    }

  private:
    int64_t first_unit(int64_t tile) const { return part_begin(unit_count_, tile_count, tile); }

    std::vector<CopyJob> jobs_;
    std::vector<int64_t> first_units_;
    int64_t unit_count_ = 0;
};

}  // namespace

bool has_byte_elements(DType dtype) {
    return dtype != DType::kString && bits_of(dtype) >= 8;
}

int element_bytes(DType dtype) {
    return bits_of(dtype) / 8;
}

InlineVector<CopyAxis, kMaxRank> copy_axes(const Shape& shape,
                                           const Strides& source,
                                           const Strides& destination) {
    InlineVector<CopyAxis, kMaxRank> axes;
    for (int i = 0; i < shape.rank(); ++i) {
        axes.push_back({shape[i], source[size_t(i)], destination[size_t(i)]});
    }
    return axes;
}

CopyJob copy_job(int source_input,
                 const TensorArg& source,
                 int destination_output,
                 const TensorArg& destination) {
    const auto axes = copy_axes(destination.shape, source.strides, destination.strides);
    return {source_input, destination_output,
            StridedCopy(axes, element_bytes(destination.dtype), 0, 0)};
}

std::unique_ptr<CpuKernel> make_copy_kernel(std::vector<CopyJob> jobs, std::string_view name) {
    std::erase_if(jobs, [](const CopyJob& job) { return job.copy.unit_count() == 0; });
    return std::make_unique<CopyKernel>(std::move(jobs), name);
}

}  // namespace leat::cpu
