#include "ops/elementwise/chain_vulkan.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "ops/elementwise/chain_source_vulkan.h"
#include "ops/elementwise/element_access.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr int64_t kCountLimit = int64_t{1} << 31;

// As in the text of broadcast kernels: axes of the output, outermost first. n / extent is
// (n * inverse >> 32) >> shift for n < 2^31.
struct BroadcastShape {
    std::array<uint32_t, kMaxRank> extents{};
    std::array<uint32_t, kMaxRank> inverses{};
    std::array<uint32_t, kMaxRank> shifts{};
    std::array<std::array<uint32_t, kMaxRank>, kMaxChainInputs> strides{};
    uint32_t rank = 0;  // not a parameter
};

ChainAccess access_of(const Shape& input, const Shape& output) {
    const int64_t count = input.element_count();
    return count == output.element_count() ? ChainAccess::kDense
           : count == 1                    ? ChainAccess::kScalar
                                           : ChainAccess::kBroadcast;
}

// Strides of an input by the output's axes, 0 where it repeats.
Strides broadcast_strides(const Shape& input, const Shape& output) {
    Strides strides{};
    const Strides own = row_major_strides(input);
    const auto lead = size_t(output.rank() - input.rank());
    for (int axis = 0; axis < input.rank(); ++axis) {
        strides[lead + size_t(axis)] = input[axis] == 1 ? 0 : own[size_t(axis)];
    }
    return strides;
}

// Extents of 1 are left out, and neighbours along which every input goes on in equal steps are one
// axis: each axis costs a division an element.
BroadcastShape collapsed(const ElementwiseChain& chain) {
    std::vector<Strides> strides;
    strides.reserve(chain.inputs.size());
    for (const ChainInput& input : chain.inputs) {
        strides.push_back(broadcast_strides(input.shape, chain.shape));
    }
    BroadcastShape result;
    for (int axis = 0; axis < chain.shape.rank(); ++axis) {
        const int64_t extent = chain.shape[axis];
        if (extent == 1) {
            continue;
        }
        const size_t last = result.rank == 0 ? 0 : result.rank - 1;
        bool continues = result.rank > 0;
        for (size_t i = 0; i < strides.size(); ++i) {
            continues =
                continues && int64_t(result.strides[i][last]) == strides[i][size_t(axis)] * extent;
        }
        const size_t place = continues ? last : result.rank++;
        result.extents[place] = uint32_t(continues ? result.extents[place] * extent : extent);
        for (size_t i = 0; i < strides.size(); ++i) {
            result.strides[i][place] = uint32_t(strides[i][size_t(axis)]);
        }
    }
    for (size_t axis = 0; axis < result.rank; ++axis) {
        // 2^shift < extent <= 2^(shift + 1); the error of the inverse is below 2^(shift + 1) /
        // 2^32.
        const uint32_t shift = uint32_t(std::bit_width(result.extents[axis] - 1)) - 1;
        const uint64_t power = uint64_t{1} << (32 + shift);
        result.shifts[axis] = shift;
        result.inverses[axis] = uint32_t((power + result.extents[axis] - 1) / result.extents[axis]);
    }
    return result;
}

Status add_constants(const ElementwiseChain& chain, KernelDispatch& dispatch) {
    size_t next = kScalars - kMaxChainConstantWords;
    for (const ChainStep& step : chain.steps) {
        for (const ChainOperand& operand : step.operands) {
            if (operand.kind != ChainOperand::Kind::kConstant) {
                continue;
            }
            const size_t words = constant_words(operand.dtype);
            if (next + words > kScalars) {
                return unsupported("an element-wise kernel with many constants")
                    .with_needed(fmt::format("at most {} words", kMaxChainConstantWords));
            }
            for (size_t i = 0; i < words; ++i) {
                dispatch.scalars[next++] = uint32_t(operand.bits >> (32 * i));
            }
        }
    }
    return {};
}

Status check_sizes(const ElementwiseChain& chain, int64_t count) {
    if (count >= kCountLimit) {
        return unsupported("an element-wise kernel on {} elements", count)
            .with_needed("less than 2^31");
    }
    if (chain.inputs.size() > kMaxChainInputs) {
        return unsupported("an element-wise kernel with {} inputs", chain.inputs.size())
            .with_needed(fmt::format("at most {}", kMaxChainInputs));
    }
    return {};
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

Status write_elementwise_chain(const ElementwiseChain& chain, KernelWriter& writer) {
    const int64_t count = chain.shape.element_count();
    if (count == 0) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_sizes(chain, count));
    KernelDispatch dispatch;
    std::vector<ChainAccess> accesses;
    accesses.reserve(chain.inputs.size());
    dispatch.reads.reserve(chain.inputs.size());
    bool has_broadcast = false;
    int64_t bytes = count * bits_of(chain.steps.back().result) / 8;
    for (const ChainInput& input : chain.inputs) {
        accesses.push_back(access_of(input.shape, chain.shape));
        has_broadcast = has_broadcast || accesses.back() == ChainAccess::kBroadcast;
        dispatch.reads.push_back(input.operand);
        bytes += input.shape.element_count() * bits_of(input.dtype) / 8;
    }
    const ChainText text = write_chain_text(chain, accesses);
    dispatch.shader = {text.name, {kWorkgroup}, text.source};
    dispatch.writes = {chain.output};
    dispatch.groups =
        groups_for(text.is_unrolled ? (count + 3) / 4 : count, kWorkgroup, writer.limits());
    BroadcastShape shape;
    if (has_broadcast) {
        shape = collapsed(chain);
        dispatch.parameters = std::as_bytes(std::span(&shape, 1));
    }
    dispatch.scalars[0] = uint32_t(count);
    dispatch.scalars[1] = shape.rank;
    LEAT_RETURN_IF_ERROR(add_constants(chain, dispatch));
    // 4 bytes a nanosecond, as CPUs have it.
    dispatch.estimated_ns = bytes / 4;
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
