
#include "base/error.h"
#include "ops/arg_reduce/arg_reduce.h"
#include "ops/axis_split.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

// Where fewer lines than this would leave a device idle, a long line is done in parts: about its
// square root of them, so both rounds take as long.
constexpr int64_t kBusyLines = 4096;
constexpr int64_t kLongLine = 1024;
constexpr int64_t kPartElements = 256;

constexpr DTypeSet kNarrowTypes = dtype_bit(DType::kFloat32) | dtype_bit(DType::kFloat16) |
                                  dtype_bit(DType::kBfloat16) | kByteTypes |
                                  dtype_bit(DType::kInt16) | dtype_bit(DType::kUint16);

std::string refuse_arg_reduce(const NodeData& /*node*/, const KernelTypes& types) {
    const DType dtype = types.inputs[0];
    return (dtype_bit(dtype) & (kFloatTypes | kIntTypes)) != 0
               ? std::string()
               : fmt::format("{} elements have no order here", name_of(dtype));
}

struct Round {
    int64_t parts = 1;        // of a line
    int64_t candidates = 1;   // of a part
    OperandRef winners = {};  // of the first round
    OperandRef result = {};
    bool is_second = false;
};

Status write_round(const KernelNode& node,
                   KernelWriter& writer,
                   const AxisSplit& split,
                   const Round& round) {
    const DType dtype = node.inputs[0].dtype;
    const int64_t count = split.outer * split.inner * round.parts;
    KernelDispatch dispatch;
    dispatch.shader = {(dtype_bit(dtype) & kNarrowTypes) != 0 ? "arg_reduce" : "arg_reduce_wide",
                       {kMovementWorkgroup, uint32_t(dtype)}};
    LEAT_ASSIGN_OR_RETURN(dispatch.groups,
                          groups_with_loops(count, kMovementWorkgroup,
                                            loop_iterations(round.candidates), writer.limits()));
    // Without a first round the result stands in its winners' place, and nobody reads it.
    dispatch.reads = {input_ref(0)};
    if (round.is_second) {
        dispatch.reads.push_back(round.winners);
    } else {
        dispatch.writes.push_back(round.result);
    }
    dispatch.writes.push_back(round.result);
    dispatch.scalars = {uint32_t(count),
                        uint32_t(split.extent),
                        uint32_t(split.inner),
                        uint32_t(round.parts),
                        uint32_t(round.candidates),
                        node.node.op_type == "ArgMax" ? 1U : 0U,
                        node.node.attr("select_last_index", int64_t{0}) != 0 ? 1U : 0U,
                        round.is_second ? 1U : 0U};
    return writer.dispatch(dispatch);
}

Status write_arg_reduce(const KernelNode& node, KernelWriter& writer) {
    const Shape& shape = node.inputs[0].shape;
    LEAT_ASSIGN_OR_RETURN(const AxisSplit split, AxisSplit::of(node.node, shape, 0));
    const int64_t lines = split.outer * split.inner;
    if (shape.element_count() == 0) {
        return {};
    }
    if (shape.element_count() >= kMovementCountLimit) {
        return unsupported("{} elements", shape.element_count()).with_needed("less than 2^31");
    }
    const bool is_busy = lines >= kBusyLines && split.extent < kMostIterations / 2;
    if (split.extent < kLongLine || is_busy) {
        return write_round(node, writer, split, {1, split.extent, {}, output_ref(0), false});
    }
    const int64_t parts = (split.extent + kPartElements - 1) / kPartElements;
    const OperandRef winners = writer.scratch(lines * parts * int64_t{8});
    LEAT_RETURN_IF_ERROR(
        write_round(node, writer, split, {parts, kPartElements, {}, winners, false}));
    return write_round(node, writer, split, {1, parts, winners, output_ref(0), true});
}

constexpr KernelEntry kArgReduceVulkanKernels[] = {{"ArgMax", refuse_arg_reduce, write_arg_reduce},
                                                   {"ArgMin", refuse_arg_reduce, write_arg_reduce}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> arg_reduce_vulkan_kernels() {
    return vulkan::kArgReduceVulkanKernels;
}

}  // namespace leat
