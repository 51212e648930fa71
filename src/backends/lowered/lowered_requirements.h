// What the host has to place for a program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "leat/plugin_backend.h"

namespace leat::lowered {

// Where a device keeps constants and transients: one of its domains, at multiples of the alignment.
struct DeviceMemory {
    int64_t alignment_bytes = 0;
    int32_t domain = 0;
};

// What a program tells of itself.
struct ProgramNeeds {
    std::shared_ptr<const void> program;  // owns what the spans are of
    std::span<const LoweredTransient> transients;
    std::span<const LoweredOutput> outputs;
    std::vector<LeatEdge> edges;
    int32_t step_count = 0;
    // As LoweredGraph tells; empty: operands are in use as long as the run.
    std::span<const std::vector<int32_t>> input_steps = {};
    std::span<const std::vector<int32_t>> output_steps = {};
    std::span<const std::string> step_names = {};  // empty: steps have none
};

// Immutable; independent of the executable.
class LoweredRequirements final : public plugin::Requirements {
  public:
    LoweredRequirements(ProgramNeeds needs, DeviceMemory memory);

  private:
    void tell_operand_steps();
    void tell_step_names();

    ProgramNeeds needs_;
    std::vector<LeatTransient> transient_rows_;
    std::vector<const LeatTransient*> transient_pointers_;
    std::vector<int64_t> output_sizes_;
    std::vector<int32_t> are_bounded_;
    std::vector<LeatStepList> input_rows_;
    std::vector<LeatStepList> output_rows_;
    LeatOperandSteps operand_steps_;
    std::vector<const char*> step_names_row_;
    LeatStepNames step_names_;
};

}  // namespace leat::lowered
