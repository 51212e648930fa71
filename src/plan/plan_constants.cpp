#include "plan/plan_constants.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "plan/replan_seed.h"

namespace leat {
namespace {

// Null: the seed has no such constant.
const Tensor* constant_of_seed(const ReplanSeed& seed, const PlanFacts& facts, ValueId id) {
    const int32_t index = facts.is_as_in(seed.facts, id) ? seed.work.constant_of_value[id] : -1;
    return index < 0 ? nullptr : &seed.work.constants[size_t(index)];
}

}  // namespace

int32_t constant_index(const PlanContext& context,
                       const PlanFacts& facts,
                       ValueId id,
                       PlanWork& work) {
    int32_t& index = work.constant_of_value[id];
    if (index < 0) {
        index = int32_t(work.constants.size());
        const Tensor* before = constant_of_seed(*context.seed, facts, id);
        work.constants.push_back(before == nullptr ? facts.known_value(context.graph, id)
                                                   : *before);
    }
    return index;
}

Result<std::byte*> aligned_constant(const PlanContext& context,
                                    const PlanFacts& facts,
                                    ValueId id,
                                    CopiedConstants copied,
                                    PlanWork& work) {
    Tensor& tensor = work.constants[size_t(constant_index(context, facts, id, work))];
    if (!tensor.is_aligned()) {
        if (copied == CopiedConstants::kSmall && tensor.byte_count() > kSmallConstantBytes) {
            return nullptr;
        }
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<const std::byte> copy,
            context.weights.get_or_pack(
                tensor, "plain", tensor.byte_count(), [](const Tensor& source, std::byte* packed) {
                    std::copy_n(source.bytes(), source.byte_count(), packed);
                }));
        const std::byte* data = copy.get();
        tensor = Tensor::view(tensor.dtype(), tensor.shape(), data, std::move(copy));
    }
    return const_cast<std::byte*>(tensor.bytes());
}

}  // namespace leat
