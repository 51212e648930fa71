// Scatter runs the plain kernel: its cost is the copy of the data (which planning in place avoids)
// and of whole slices, and equal positions must be written in order.
#include "backends/cpu/cpu_kernel.h"
#include "ops/scatter/scatter.h"

namespace leat {
namespace cpu {
namespace {

class ScatterKernel final : public CpuKernel {
  public:
    ScatterKernel(const NodeData& node, ReferenceKernel function, std::string_view name)
        : node_(node), function_(function) {
        kernel_name = name;
        names_node = true;
    }
    Status run(const KernelArgs& args,
               int64_t /*tile_begin*/,
               int64_t /*tile_end*/) const override {
        return function_({node_, args.inputs, args.outputs});
    }

  private:
    NodeData node_;
    ReferenceKernel function_;
};

Result<std::unique_ptr<CpuKernel>> make_scatter(PrepareContext& context) {
    const bool is_nd = context.node.op_type == "ScatterND";
    return std::unique_ptr<CpuKernel>(
        new ScatterKernel(context.node, is_nd ? scatter_nd_reference : scatter_elements_reference,
                          is_nd ? "scatter_nd_slices" : "scatter_elements"));
}

constexpr CpuKernelEntry kScatterCpuKernels[] = {
    {"ScatterND", make_scatter},
    {"ScatterElements", make_scatter},
};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> scatter_cpu_kernels() {
    return cpu::kScatterCpuKernels;
}

}  // namespace leat
