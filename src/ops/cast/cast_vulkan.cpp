#include "base/error.h"
#include "ops/cast/cast.h"
#include "ops/elementwise/chain_vulkan.h"
#include "ops/elementwise/node_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/roofline.h"

namespace leat {
namespace vulkan {
namespace {

constexpr DTypeSet kPackedTypes = kPackedIntegerTypes | dtype_set(DType::kFloat4E2M1);

// Elements of one type are copied, whatever they mean; bool bytes become 0 or 1.
bool is_copy(DType from, DType to) {
    return from == to && from != DType::kBool;
}

bool is_packed(DType dtype) {
    return contains(kPackedTypes, dtype);
}

// Chains have elements of whole bytes only: packed ones are words beside them.
DType unpacked_type(DType dtype) {
    return dtype == DType::kFloat4E2M1 ? DType::kFloat32 : DType::kInt32;
}

std::string refuse_packed_cast(DType from, DType to) {
    for (const DType dtype : {from, to}) {
        std::string refusal = is_packed(dtype) ? std::string() : cast_refusal(dtype);
        if (!refusal.empty()) {
            return refusal;
        }
    }
    // It would be rounded to f32 first, and to f4e2m1 then.
    return from == DType::kFloat64 && to == DType::kFloat4E2M1 ? "no casts of f64 to f4e2m1"
                                                               : std::string();
}

std::string refuse_cast(const NodeData& node, const KernelTypes& types) {
    const DType from = types.inputs[0];
    const DType to = types.outputs[0];
    if (is_copy(from, to)) {
        return from == DType::kString ? "no strings" : "";
    }
    if (is_packed(from) || is_packed(to)) {
        return refuse_packed_cast(from, to);
    }
    return elementwise_refusal(node, types);
}

Status write_unpacking(
    KernelWriter& writer, DType dtype, int64_t count, OperandRef from, OperandRef to) {
    const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt2;
    KernelDispatch dispatch;
    dispatch.shader = {"unpack_bits", {kMovementWorkgroup}};
    dispatch.groups = groups_for(count, kMovementWorkgroup, writer.limits());
    dispatch.reads = {from};
    dispatch.writes = {to};
    dispatch.scalars = {uint32_t(count), uint32_t(bits_of(dtype)),
                        dtype == DType::kFloat4E2M1 ? 2U
                        : is_signed                 ? 1U
                                                    : 0U};
    return writer.dispatch(dispatch);
}

// saturates: the words are of floats; else they keep their low bits, as casts of integers do.
Status write_packing(KernelWriter& writer,
                     DType dtype,
                     bool saturates,
                     int64_t count,
                     OperandRef from,
                     OperandRef to) {
    const int bits = bits_of(dtype);
    const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt2;
    const int32_t least = is_signed ? -(1 << (bits - 1)) : 0;
    const int32_t largest = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    const int64_t bytes = storage_bytes(dtype, count).value_or(0);
    KernelDispatch dispatch;
    dispatch.shader = {"pack_bits", {kMovementWorkgroup}};
    dispatch.groups = groups_for(bytes, kMovementWorkgroup, writer.limits());
    dispatch.reads = {from};
    dispatch.writes = {to};
    dispatch.scalars = {uint32_t(bytes), uint32_t(count),
                        uint32_t(bits),  dtype == DType::kFloat4E2M1 ? 2U : saturates ? 1U : 0U,
                        uint32_t(least), uint32_t(largest)};
    return writer.dispatch(dispatch);
}

// A chain of one step without function.
Status write_step(const KernelNode& node,
                  KernelWriter& writer,
                  DType from,
                  DType to,
                  OperandRef source,
                  OperandRef target) {
    ElementwiseChain chain;
    chain.inputs = {{from, node.inputs[0].shape, source}};
    chain.steps = {{"", from, to, {chain_input(0)}, cast_options(node.node)}};
    chain.shape = node.outputs[0].shape;
    chain.output = target;
    return write_elementwise_chain(chain, writer);
}

// Packed elements become words, words become the other type, and words become packed elements.
Status write_packed_cast(const KernelNode& node, KernelWriter& writer) {
    const int64_t count = node.inputs[0].shape.element_count();
    const DType to = node.outputs[0].dtype;
    if (count == 0) {
        return {};
    }
    if (count >= kMovementCountLimit) {
        return unsupported("a cast of {} packed elements", count).with_needed("less than 2^31");
    }
    DType from = node.inputs[0].dtype;
    OperandRef source = input_ref(0);
    const bool saturates = contains(kFloatTypes | kSmallFloatTypes, from);
    if (is_packed(from)) {
        const OperandRef words = writer.scratch(count * 4);
        LEAT_RETURN_IF_ERROR(write_unpacking(writer, from, count, source, words));
        source = words;
        from = unpacked_type(from);
    }
    if (!is_packed(to)) {
        return write_step(node, writer, from, to, source, output_ref(0));
    }
    if (from != unpacked_type(to)) {
        const OperandRef words = writer.scratch(count * 4);
        LEAT_RETURN_IF_ERROR(write_step(node, writer, from, unpacked_type(to), source, words));
        source = words;
    }
    return write_packing(writer, to, saturates, count, source, output_ref(0));
}

Status write_cast(const KernelNode& node, KernelWriter& writer) {
    const DType from = node.inputs[0].dtype;
    const DType to = node.outputs[0].dtype;
    if (is_copy(from, to)) {
        return write_whole_copy(node, writer);
    }
    return is_packed(from) || is_packed(to) ? write_packed_cast(node, writer)
                                            : write_elementwise_node(node, writer);
}

constexpr KernelEntry kCastVulkanKernels[] = {{"Cast", refuse_cast, write_cast}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> cast_vulkan_kernels() {
    return vulkan::kCastVulkanKernels;
}

}  // namespace leat
