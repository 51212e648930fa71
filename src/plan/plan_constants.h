// The constants of a plan: the tensors of known values, which are aligned where somebody reads them
// as they are.
#pragma once

#include <cstdint>

#include "plan/plan_facts.h"
#include "plan/plan_work.h"

namespace leat {

enum class CopiedConstants : uint8_t {
    kSmall,  // large ones stay where the model's file has them, aligned or not
    kAll,
};

// In PlanWork::constants; made once. That of the seed may be an aligned copy already.
int32_t constant_index(const PlanContext& context,
                       const PlanFacts& facts,
                       ValueId id,
                       PlanWork& work);

// The constant's address, with an aligned copy made if need be. Null: it would be a copy of another
// kind than `copied`.
Result<std::byte*> aligned_constant(const PlanContext& context,
                                    const PlanFacts& facts,
                                    ValueId id,
                                    CopiedConstants copied,
                                    PlanWork& work);

// Constants up to this size belong to a plan where they are copied; others to the weight store.
constexpr int64_t kSmallConstantBytes = 64 << 10;

}  // namespace leat
