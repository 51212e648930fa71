// The pool's tree is built once for a node; tiles are rows.
#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/cpu_kernel.h"
#include "ops/tf_idf/tf_idf.h"

namespace leat {
namespace {

class TfIdfKernel final : public cpu::CpuKernel {
  public:
    TfIdfKernel(TfIdfCounter counter, const Shape& x)
        : counter_(std::move(counter)),
          rows_(x.rank() == 2 ? x[0] : 1),
          tokens_(x.rank() == 0 ? 1 : x[x.rank() - 1]) {
        kernel_name = "tf_idf_tree";
        names_node = true;  // it has views of the node's attributes
        tile_count = std::max<int64_t>(rows_, 1);
        sum_bytes_ = counter_.columns() * int64_t{sizeof(double)};
        scratch_bytes = sum_bytes_ + tokens_ * int64_t{sizeof(int32_t)};
    }

    Status run(const cpu::KernelArgs& args, int64_t begin, int64_t end) const override {
        auto* const sums = reinterpret_cast<double*>(args.scratch);
        auto* const numbers = reinterpret_cast<int32_t*>(args.scratch + sum_bytes_);
        for (int64_t row = begin; row < std::min(end, rows_); ++row) {
            counter_.count_row(args.inputs[0], row * tokens_, tokens_, numbers, sums,
                               args.outputs[0].as<float>() + row * counter_.columns());
        }
        return {};
    }

  private:
    TfIdfCounter counter_;
    int64_t rows_;
    int64_t tokens_;
    int64_t sum_bytes_ = 0;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_tf_idf(cpu::PrepareContext& context) {
    LEAT_ASSIGN_OR_RETURN(TfIdfCounter counter, TfIdfCounter::make(context.node));
    return std::unique_ptr<cpu::CpuKernel>(
        new TfIdfKernel(std::move(counter), context.inputs[0].shape));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> tf_idf_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{
        {{"TfIdfVectorizer", make_tf_idf}}};
    return kEntries;
}

}  // namespace leat
