#include "ops/elementwise/chain_vulkan.h"

#include <fmt/core.h>

#include <bit>

#include "base/error.h"
#include "base/round_up.h"
#include "ops/elementwise/chain_parameters_vulkan.h"
#include "ops/elementwise/chain_source_vulkan.h"
#include "ops/elementwise/chain_types_vulkan.h"

namespace leat::vulkan {
namespace {

Status check_sizes(const ElementwiseChain& chain, int64_t count) {
    if (count >= kChainCountLimit) {
        return unsupported("an element-wise kernel on {} elements", count)
            .with_needed("less than 2^31");
    }
    if (chain.inputs.size() > kMaxChainInputs) {
        return unsupported("an element-wise kernel with {} inputs", chain.inputs.size())
            .with_needed(fmt::format("at most {}", kMaxChainInputs));
    }
    return {};
}

// Dense f32 inputs of an unrolled chain become windows on devices that are CPUs, where they can be
// (docs/measurements/vulkan.md). The output may lie over them: an invocation writes only what it
// has read.
void choose_windows(const ElementwiseChain& chain,
                    const KernelWriter& writer,
                    std::vector<ChainAccess>& accesses) {
    const int64_t texels = (chain.shape.element_count() + 3) / 4;
    if (!writer.limits().is_cpu || texels > writer.limits().max_window_texels) {
        return;
    }
    for (size_t i = 0; i < accesses.size(); ++i) {
        const ChainInput& input = chain.inputs[i];
        if (accesses[i] == ChainAccess::kDense && input.dtype == DType::kFloat32 &&
            writer.can_be_window(input.operand)) {
            accesses[i] = ChainAccess::kWindow;
        }
    }
}

uint32_t windows_of(const std::vector<ChainAccess>& accesses) {
    uint32_t windows = 0;
    for (size_t i = 0; i < accesses.size(); ++i) {
        windows |= (accesses[i] == ChainAccess::kWindow ? 1U : 0U) << i;
    }
    return windows;
}

}  // namespace

ChainOperand chain_constant(float value) {
    return {ChainOperand::Kind::kConstant, DType::kFloat32, 0, std::bit_cast<uint32_t>(value)};
}

std::string chain_refusal(DType dtype) {
    return contains(kNumericTypes | dtype_set(DType::kBool), dtype)
               ? std::string()
               : fmt::format("no arithmetic of {}", name_of(dtype));
}

std::string cast_refusal(DType dtype) {
    return contains(kByteFloatTypes, dtype) || chain_refusal(dtype).empty()
               ? std::string()
               : fmt::format("no casts of {}", name_of(dtype));
}

int64_t chain_iterations(const ElementwiseChain& chain) {
    const bool finds_places = !chain.steps.empty() && broadcasts(accesses_of(chain));
    return function_iterations(chain) +
           (finds_places ? loop_iterations(int64_t(collapsed_shape(chain).rank)) : 0);
}

Status write_elementwise_chain(const ElementwiseChain& chain, KernelWriter& writer) {
    const int64_t count = chain.shape.element_count();
    if (count == 0) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_sizes(chain, count));
    KernelDispatch dispatch;
    std::vector<ChainAccess> accesses = accesses_of(chain);
    if (is_unrolled(chain, accesses)) {
        choose_windows(chain, writer, accesses);
    }
    const bool has_broadcast = broadcasts(accesses);
    dispatch.reads.reserve(chain.inputs.size());
    int64_t bytes = count * bits_of(chain.steps.back().result) / 8;
    for (size_t i = 0; i < chain.inputs.size(); ++i) {
        const ChainInput& input = chain.inputs[i];
        dispatch.reads.push_back(input.operand);
        if (accesses[i] == ChainAccess::kWindow) {
            dispatch.reads[i].size_bytes = count * int64_t(sizeof(float));
        }
        bytes += input.shape.element_count() * bits_of(input.dtype) / 8;
    }
    const ChainText text = write_chain_text(chain, accesses);
    dispatch.shader = {text.name, {kWorkgroup}, text.source};
    dispatch.shader.windows = dispatch.shader.vector_windows = windows_of(accesses);
    dispatch.writes = {chain.output};
    BroadcastShape shape;
    if (has_broadcast) {
        shape = collapsed_shape(chain);
        dispatch.parameters = std::as_bytes(std::span(&shape, 1));
    }
    const int64_t elements_each = text.is_unrolled ? 4 : 1;
    const int64_t iterations =
        elements_each * function_iterations(chain) + loop_iterations(shape.rank);
    LEAT_ASSIGN_OR_RETURN(dispatch.groups,
                          groups_with_loops(divide_up(count, elements_each), kWorkgroup, iterations,
                                            writer.limits()));
    dispatch.scalars[0] = uint32_t(count);
    dispatch.scalars[1] = shape.rank;
    LEAT_RETURN_IF_ERROR(add_constants(chain, dispatch));
    // 4 bytes a nanosecond, as CPUs have it.
    dispatch.estimated_ns = bytes / 4;
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
