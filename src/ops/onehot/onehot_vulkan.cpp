#include <array>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ops/elementwise/chain_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/onehot/onehot.h"

namespace leat {
namespace vulkan {
namespace {

// Elements move as integers of their width.
DType onehot_moved_type(DType dtype) {
    return dtype == DType::kComplex64 ? DType::kUint64 : unsigned_of_width(dtype);
}

std::string refuse_onehot(const NodeData& /*node*/, const KernelTypes& types) {
    if (types.inputs[0] == DType::kUint64) {
        return "indices of type u64";  // the largest would become negative ones
    }
    std::string refusal = movement_refusal(types.inputs[2]);
    return refusal.empty() && onehot_moved_type(types.inputs[2]) == DType::kUndefined
               ? fmt::format("no values of {}", name_of(types.inputs[2]))
               : refusal;
}

ChainOperand integer_operand(DType dtype, int64_t value) {
    const uint64_t bits = dtype == DType::kInt32 ? uint32_t(int32_t(value)) : uint64_t(value);
    return {ChainOperand::Kind::kConstant, dtype, 0, bits};
}

ChainOperand minus_infinity(DType dtype) {
    alignas(uint64_t) std::array<std::byte, sizeof(uint64_t)> element{};
    store_real(dtype, element.data(), 0, -std::numeric_limits<double>::infinity());
    uint64_t bits = 0;
    std::memcpy(&bits, element.data(), sizeof(bits));
    return {ChainOperand::Kind::kConstant, dtype, 0, bits};
}

class OnehotChain {
  public:
    OnehotChain(const KernelNode& node, const AxisSplit& loop) {
        const TensorArg& indices = node.inputs[0];
        const DType values = onehot_moved_type(node.inputs[2].dtype);
        const int64_t value_bytes = bits_of(values) / 8;
        chain_.shape = Shape({loop.outer, loop.extent, loop.inner});
        chain_.output = output_ref(0);
        chain_.inputs = {{indices.dtype, Shape({loop.outer, 1, loop.inner}), input_ref(0)},
                         {values, Shape(), input_ref(2, 0)},
                         {values, Shape(), input_ref(2, value_bytes)}};
        const ChainOperand place = place_of_element(loop);
        const ChainOperand index = whole_index(indices.dtype);
        const ChainOperand from_end = append("Add", DType::kInt64, DType::kInt64,
                                             {index, integer_operand(DType::kInt64, loop.extent)});
        const ChainOperand is_first = append("Equal", DType::kInt64, DType::kBool, {index, place});
        const ChainOperand is_second =
            append("Equal", DType::kInt64, DType::kBool, {from_end, place});
        const ChainOperand otherwise =
            append("Where", values, values, {is_second, chain_input(2), chain_input(1)});
        append("Where", values, values, {is_first, chain_input(2), otherwise});
    }

    const ElementwiseChain& chain() const { return chain_; }

  private:
    ChainOperand append(std::string_view function,
                        DType work,
                        DType result,
                        std::vector<ChainOperand> operands) {
        chain_.steps.push_back({function, work, result, std::move(operands)});
        return chain_result(chain_.steps.size() - 1);
    }

    // Along the new axis.
    ChainOperand place_of_element(const AxisSplit& loop) {
        const DType i32 = DType::kInt32;
        const ChainOperand column = append(
            "Div", i32, i32, {{ChainOperand::Kind::kIndex}, integer_operand(i32, loop.inner)});
        return append("Mod", i32, i32, {column, integer_operand(i32, loop.extent)});
    }

    // Cut off to a whole one. NaN is none: casts would make it 0.
    ChainOperand whole_index(DType dtype) {
        ChainOperand index = chain_input(0);
        if (contains(kFloatTypes, dtype)) {
            const ChainOperand is_number =
                append("Equal", dtype, DType::kBool, {chain_input(0), chain_input(0)});
            index =
                append("Where", dtype, dtype, {is_number, chain_input(0), minus_infinity(dtype)});
        }
        return append("", dtype, DType::kInt64, {index});
    }

    ElementwiseChain chain_;
};

Status write_onehot(const KernelNode& node, KernelWriter& writer) {
    const Shape& y = node.outputs[0].shape;
    if (y.element_count() == 0) {
        return {};
    }
    if (y.element_count() >= kMovementCountLimit) {
        return unsupported("{} elements", y.element_count()).with_needed("less than 2^31");
    }
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, onehot_loop(node.node, y));
    return write_elementwise_chain(OnehotChain(node, loop).chain(), writer);
}

constexpr KernelEntry kOnehotVulkanKernels[] = {{"OneHot", refuse_onehot, write_onehot}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> onehot_vulkan_kernels() {
    return vulkan::kOnehotVulkanKernels;
}

}  // namespace leat
