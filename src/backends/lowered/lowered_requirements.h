// What the host has to place for a program.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "leat/plugin_backend.h"

namespace leat::lowered {

// Where a device keeps constants and transients: one of its domains, at multiples of the alignment.
struct LoweredMemory {
    int64_t alignment_bytes = 0;
    int32_t domain = 0;
};

// What a program tells of itself.
struct ProgramNeeds {
    std::shared_ptr<const void> program;  // owns lists of steps, edges and the texts of names
    std::span<const LoweredTransient> transients;
    std::span<const LoweredOutput> outputs;
    std::span<const LeatEdge> edges;
    int32_t step_count = 0;
    // As LoweredForm tells; empty: operands are in use as long as the run.
    std::span<const LeatStepList> input_steps = {};
    std::span<const LeatStepList> output_steps = {};
    std::span<const char* const> step_names = {};  // empty: steps have none
};

// Immutable; independent of the executable.
class LoweredRequirements final : public plugin::Requirements {
  public:
    LoweredRequirements(const ProgramNeeds& needs, LoweredMemory memory);

  private:
    void tell_operand_steps(const ProgramNeeds& needs);
    void tell_step_names(const ProgramNeeds& needs);

    std::shared_ptr<const void> program_;
    std::vector<LeatTransient> transient_rows_;
    std::vector<const LeatTransient*> transient_pointers_;
    std::vector<int64_t> output_sizes_;
    std::vector<int32_t> are_bounded_;
    LeatOperandSteps operand_steps_;
    std::vector<const char*> step_name_rows_;
    LeatStepNames step_names_;
};

}  // namespace leat::lowered
