#include "base/error.h"
#include "ops/elementwise/chain_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/trilu/trilu.h"

namespace leat {
namespace vulkan {
namespace {

// Elements move as integers of their width.
DType trilu_moved_type(DType dtype) {
    return dtype == DType::kComplex64 ? DType::kUint64 : unsigned_of_width(dtype);
}

std::string refuse_trilu(const NodeData& /*node*/, const KernelTypes& types) {
    std::string refusal = movement_refusal(types.inputs[0]);
    return refusal.empty() && trilu_moved_type(types.inputs[0]) == DType::kUndefined
               ? fmt::format("no triangles of {}", name_of(types.inputs[0]))
               : refusal;
}

ChainOperand integer_constant(int64_t value) {
    return {ChainOperand::Kind::kConstant, DType::kInt32, 0, uint64_t(uint32_t(int32_t(value)))};
}

// A chain over the element's own index: where it lies in its matrix decides whether it stays.
Status write_trilu(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    if (x.shape.element_count() == 0) {
        return {};
    }
    const Triangle triangle = Triangle::make(node.node, x.shape).moved_by(find_arg(node.inputs, 1));
    const DType dtype = trilu_moved_type(x.dtype);
    ElementwiseChain chain;
    chain.inputs = {{dtype, x.shape, input_ref(0)}};
    chain.shape = x.shape;
    chain.output = output_ref(0);
    const auto append = [&chain](std::string_view function, DType work, DType result,
                                 std::vector<ChainOperand> operands) {
        chain.steps.push_back({function, work, result, std::move(operands)});
        return chain_result(chain.steps.size() - 1);
    };
    const ChainOperand index{ChainOperand::Kind::kIndex};
    const DType i32 = DType::kInt32;
    const ChainOperand column =
        append("Mod", i32, i32, {index, integer_constant(triangle.columns)});
    const ChainOperand rows_before =
        append("Div", i32, i32, {index, integer_constant(triangle.columns)});
    const ChainOperand row =
        append("Mod", i32, i32, {rows_before, integer_constant(triangle.rows)});
    const ChainOperand edge = append("Add", i32, i32, {row, integer_constant(triangle.k)});
    const ChainOperand stays = append(triangle.is_upper ? "GreaterOrEqual" : "LessOrEqual", i32,
                                      DType::kBool, {column, edge});
    append("Where", dtype, dtype,
           {stays, chain_input(0), {ChainOperand::Kind::kConstant, dtype, 0, 0}});
    return write_elementwise_chain(chain, writer);
}

constexpr uint32_t kDiagonalOnHost = 0b10;
constexpr KernelEntry kTriluVulkanKernels[] = {
    {"Trilu", refuse_trilu, write_trilu, kDiagonalOnHost}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> trilu_vulkan_kernels() {
    return vulkan::kTriluVulkanKernels;
}

}  // namespace leat
