// Plan: what one set of input shapes fixes. Immutable once made; shared by requests.
//
//   input facts --> PlanFacts --> PlanWork --> PlanMemory --> PlanProgram
//                                         \--> PlanStorage <-/
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "leat/runtime.h"
#include "plan/plan_context.h"
#include "plan/plan_storage.h"
#include "plan/replan_seed.h"
#include "plan/step_program.h"

namespace leat {

// Identity of a plan: whose threads run it, the shapes of all inputs, and the elements of the
// inputs that decide shapes.
struct PlanKey {
    int group = 0;                  // as Runtime::Impl::plan_group says
    std::vector<Shape> shapes;      // by input; empty for non-tensors
    std::vector<std::byte> values;  // shape-deciding inputs' bytes, in input order
    friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

// A run reads what the seed has of work and memory, too.
struct Plan : ReplanSeed {
    PlanKey key;
    PlanProgram program;
    PlanStorage storage;
    PlanReport report;

    int64_t arena_bytes() const { return memory.layout.plan.height_bytes; }
    // The choice that was made, as a file keeps it.
    SolvedChoice solution() const;
    int64_t own_bytes() const;  // memory of this object, for the cache's byte cap
};

// Makes the plan for these inputs: a fact for each graph input, of fixed shape, with the elements
// of the shape-deciding ones.
Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context,
                                              const PlanKey& key,
                                              std::span<const ValueFact> input_facts);

// The plans that make_plan may choose from, from the most parallel one on.
Result<std::vector<MemoryTradeOff>> trade_offs(const PlanContext& context,
                                               std::span<const ValueFact> input_facts);

}  // namespace leat
