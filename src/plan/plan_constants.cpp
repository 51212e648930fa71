#include "plan/plan_constants.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "plan/replan_seed.h"

namespace leat {

// Null: the seed has no such constant.
const Tensor* PlanConstants::constant_of_seed(ValueId id) const {
    const PlanWork& before = context_.seed->work;
    const int32_t index =
        facts_.is_as_in(context_.seed->facts, id) ? before.constant_of_value[id] : -1;
    return index < 0 ? nullptr : &before.constants[size_t(index)];
}

int32_t PlanConstants::index_of(ValueId id) {
    int32_t& index = work_.constant_of_value[id];
    if (index < 0) {
        index = int32_t(work_.constants.size());
        const Tensor* before = constant_of_seed(id);
        work_.constants.push_back(before == nullptr ? facts_.known_value(context_.graph(), id)
                                                    : *before);
    }
    return index;
}

Result<std::byte*> PlanConstants::aligned(ValueId id, bool only_small) {
    Tensor& tensor = work_.constants[size_t(index_of(id))];
    if (!tensor.is_aligned()) {
        if (only_small && tensor.byte_count() > kSmallConstantBytes) {
            return nullptr;
        }
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<const std::byte> copy,
            context_.weights.get_or_pack(
                tensor, "plain", tensor.byte_count(), [](const Tensor& source, std::byte* packed) {
                    std::copy_n(source.bytes(), source.byte_count(), packed);
                }));
        const std::byte* data = copy.get();
        tensor = Tensor::view(tensor.dtype(), tensor.shape(), data, std::move(copy));
    }
    return const_cast<std::byte*>(tensor.bytes());
}

}  // namespace leat
