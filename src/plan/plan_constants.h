// PlanConstants: the tensors of known values, which are aligned where somebody reads them as they
// are.
#pragma once

#include <cstdint>

#include "plan/plan_facts.h"
#include "plan/plan_work.h"

namespace leat {

// Constants up to this size are copied when they are not aligned in the file, whoever reads them.
constexpr int64_t kSmallConstantBytes = 64 << 10;

// Writes PlanWork::constants. All arguments outlive this.
class PlanConstants {
  public:
    PlanConstants(const PlanContext& context, const PlanFacts& facts, PlanWork& work)
        : context_(context), facts_(facts), work_(work) {}

    // Made once. That of the seed may be an aligned copy already.
    int32_t index_of(ValueId id);
    const Tensor& of(ValueId id) { return work_.constants[size_t(index_of(id))]; }
    // Its address, with an aligned copy made if need be. Null: it would be a copy of a large one,
    // and only small ones are wanted.
    Result<std::byte*> aligned(ValueId id, bool only_small);

  private:
    const Tensor* constant_of_seed(ValueId id) const;

    const PlanContext& context_;
    const PlanFacts& facts_;
    PlanWork& work_;
};

}  // namespace leat
