#include "base/error.h"
#include "base/round_up.h"
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

// Lines that are longer are done in parts of so many elements: an invocation may have no more than
// kMostIterations on devices that are CPUs, and others have more invocations then.
constexpr int64_t kPartElements = int64_t{16} * 1024;

struct Round {
    int64_t parts = 1;     // of a line
    OperandRef sums = {};  // of the parts, where there are several
    bool is_first = false;
};

Status write_round(const KernelNode& node,
                   KernelWriter& writer,
                   const AxisSplit& loop,
                   const Round& round) {
    const TensorArg& x = node.inputs[0];
    const int64_t lines = loop.outer * loop.inner * round.parts;
    const int64_t length = round.parts == 1 ? loop.extent : kPartElements;
    KernelDispatch dispatch;
    dispatch.shader = {"cumsum", {kMovementWorkgroup, uint32_t(x.dtype)}};
    LEAT_ASSIGN_OR_RETURN(
        dispatch.groups,
        groups_with_loops(lines, kMovementWorkgroup,
                          loop_iterations(length) + loop_iterations(round.parts), writer.limits()));
    const OperandRef result = round.is_first ? round.sums : output_ref(0);
    dispatch.reads = {input_ref(0)};
    if (round.parts > 1 && !round.is_first) {
        dispatch.reads.push_back(round.sums);
    } else {
        dispatch.writes.push_back(result);
    }
    dispatch.writes.push_back(result);
    dispatch.scalars = {uint32_t(lines),
                        uint32_t(loop.extent),
                        uint32_t(loop.inner),
                        node.node.attr("exclusive", int64_t{0}) != 0 ? 1U : 0U,
                        node.node.attr("reverse", int64_t{0}) != 0 ? 1U : 0U,
                        uint32_t(round.parts),
                        uint32_t(length),
                        round.is_first ? 1U : 0U};
    return writer.dispatch(dispatch);
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
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, cumsum_loop(x.shape, node.inputs[1]));
    Round round;
    round.parts = divide_up(loop.extent, kPartElements);
    if (round.parts > 1) {
        round.sums = writer.scratch(loop.outer * loop.inner * round.parts * int64_t{8});
        round.is_first = true;
        LEAT_RETURN_IF_ERROR(write_round(node, writer, loop, round));
        round.is_first = false;
    }
    return write_round(node, writer, loop, round);
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
