// TensorScatter by blocks of the cache. Where the plan has the result in the cache's own memory
// nothing but the update moves.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_kernel.h"
#include "base/parts.h"
#include "ops/movement/movement_cpu.h"
#include "ops/tensor_scatter/tensor_scatter.h"

namespace leat {
namespace cpu {
namespace {

class TensorScatterKernel final : public CpuKernel {
  public:
    TensorScatterKernel(const NodeData& node, const CacheUpdate& plan, int64_t element_bytes)
        : node_(node), plan_(plan), slice_bytes_(plan.cache.inner * element_bytes) {
        constexpr int64_t kTileBytes = int64_t{64} * 1024;
        kernel_name = "tensor_scatter_blocks";
        names_node = true;
        tile_count = std::clamp<int64_t>(plan.cache.outer * block_bytes() / kTileBytes, 1,
                                         std::max<int64_t>(plan.cache.outer, 1));
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const TensorArg* const indices = find_arg(args.inputs, 2);
        const int64_t end = part_begin(plan_.cache.outer, tile_count, tile_end);
        for (int64_t block = part_begin(plan_.cache.outer, tile_count, tile_begin); block < end;
             ++block) {
            auto first = plan_.first_position(indices, block / plan_.blocks_per_sample);
            if (!first.ok()) {
                return std::move(first).error().with_node(node_.label());
            }
            update_block(args, block, *first);
        }
        return {};
    }

  private:
    int64_t block_bytes() const { return plan_.cache.extent * slice_bytes_; }

    void update_block(const KernelArgs& args, int64_t block, int64_t first) const {
        const std::byte* const past = args.inputs[0].data + block * block_bytes();
        const std::byte* const update =
            args.inputs[1].data + block * plan_.update_extent * slice_bytes_;
        std::byte* const present = args.outputs[0].data + block * block_bytes();
        if (present != past) {
            std::memcpy(present, past, size_t(block_bytes()));
        }
        // What reaches beyond the end goes to the beginning.
        const int64_t straight = std::min(plan_.update_extent, plan_.cache.extent - first);
        std::memcpy(present + first * slice_bytes_, update, size_t(straight * slice_bytes_));
        std::memcpy(present, update + straight * slice_bytes_,
                    size_t((plan_.update_extent - straight) * slice_bytes_));
    }

    NodeData node_;
    CacheUpdate plan_;
    int64_t slice_bytes_;
};

Result<std::unique_ptr<CpuKernel>> make_tensor_scatter(PrepareContext& context) {
    const TensorArg& past = context.inputs[0];
    if (!has_byte_elements(past.dtype) || past.shape.element_count() == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const CacheUpdate plan,
                          CacheUpdate::make(context.node, past.shape, context.inputs[1].shape));
    return std::unique_ptr<CpuKernel>(
        new TensorScatterKernel(context.node, plan, element_bytes(past.dtype)));
}

constexpr CpuKernelEntry kTensorScatterCpuKernels[] = {{"TensorScatter", make_tensor_scatter}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> tensor_scatter_cpu_kernels() {
    return cpu::kTensorScatterCpuKernels;
}

}  // namespace leat
