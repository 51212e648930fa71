#include "ops/elementwise/chain_parameters_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/transformed.h"

namespace leat::vulkan {
namespace {

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

}  // namespace

BroadcastShape collapsed_shape(const ElementwiseChain& chain) {
    const auto strides = transformed(chain.inputs, [&](const ChainInput& input) {
        return broadcast_strides(input.shape, chain.shape);
    });
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

std::vector<ChainAccess> accesses_of(const ElementwiseChain& chain) {
    return transformed(
        chain.inputs, [&](const ChainInput& input) { return access_of(input.shape, chain.shape); });
}

bool broadcasts(const std::vector<ChainAccess>& accesses) {
    return std::find(accesses.begin(), accesses.end(), ChainAccess::kBroadcast) != accesses.end();
}

size_t constant_words(const ElementwiseChain& chain) {
    size_t words = 0;
    for (const ChainStep& step : chain.steps) {
        for (const ChainOperand& operand : step.operands) {
            const bool is_constant = operand.kind == ChainOperand::Kind::kConstant;
            words += is_constant ? constant_words(operand.dtype) : 0;
        }
    }
    return words;
}

Status add_constants(const ElementwiseChain& chain, KernelDispatch& dispatch) {
    size_t next = kFirstConstant;
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

}  // namespace leat::vulkan
