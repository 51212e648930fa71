#include "base/error.h"
#include "ops/cumsum/cumsum.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

std::string refuse_cumsum(const NodeData& /*node*/, const KernelTypes& types) {
    const DType dtype = types.inputs[0];
    return (dtype_bit(dtype) & (kFloatTypes | kWideIntTypes)) != 0
               ? std::string()
               : fmt::format("no sums of {} elements", name_of(dtype));
}

Status write_cumsum(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const int64_t count = x.shape.element_count();
    if (count == 0) {
        return {};
    }
    if (count >= kMovementCountLimit) {
        return unsupported("sums of {} elements", count).with_needed("less than 2^31");
    }
    LEAT_ASSIGN_OR_RETURN(const CumSumLoop loop, cumsum_loop(x.shape, node.inputs[1]));
    const int64_t lines = loop.outer * loop.inner;
    KernelDispatch dispatch;
    dispatch.shader = {"cumsum", {kMovementWorkgroup, uint32_t(x.dtype)}};
    LEAT_ASSIGN_OR_RETURN(dispatch.groups,
                          groups_with_loops(lines, kMovementWorkgroup, loop_iterations(loop.extent),
                                            writer.limits()));
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0)};
    dispatch.scalars = {uint32_t(lines), uint32_t(loop.extent), uint32_t(loop.inner),
                        node.node.attr("exclusive", int64_t{0}) != 0 ? 1U : 0U,
                        node.node.attr("reverse", int64_t{0}) != 0 ? 1U : 0U};
    return writer.dispatch(dispatch);
}

constexpr uint32_t kAxisOnHost = 0b10;
constexpr KernelEntry kCumsumVulkanKernels[] = {
    {"CumSum", refuse_cumsum, write_cumsum, kAxisOnHost}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> cumsum_vulkan_kernels() {
    return vulkan::kCumsumVulkanKernels;
}

}  // namespace leat
