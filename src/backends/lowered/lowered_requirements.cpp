#include "backends/lowered/lowered_requirements.h"

namespace leat::lowered {

LoweredRequirements::LoweredRequirements(const ProgramNeeds& needs, LoweredMemory memory)
    : program_(needs.program),
      operand_steps_(plugin::made_chained<LeatOperandSteps>(LEAT_OPERAND_STEPS)),
      step_names_(plugin::made_chained<LeatStepNames>(LEAT_STEP_NAMES)) {
    transient_rows_.reserve(needs.transients.size());
    transient_pointers_.reserve(needs.transients.size());
    for (const LoweredTransient& source : needs.transients) {
        LeatTransient& row = transient_rows_.emplace_back(plugin::made<LeatTransient>());
        row.bytes = source.bytes;
        row.alignment_bytes = memory.alignment_bytes;
        row.domain = memory.domain;
        row.step_count = int32_t(source.steps.size());
        row.steps = source.steps.data();
        transient_pointers_.push_back(&row);
    }
    output_sizes_.reserve(needs.outputs.size());
    are_bounded_.reserve(needs.outputs.size());
    for (const LoweredOutput& output : needs.outputs) {
        output_sizes_.push_back(output.bytes);
        are_bounded_.push_back(output.is_bounded ? 1 : 0);
    }
    step_count = needs.step_count;
    edge_count = int32_t(needs.edges.size());
    edges = needs.edges.data();
    transient_count = int32_t(transient_pointers_.size());
    transients = transient_pointers_.data();
    output_count = int32_t(output_sizes_.size());
    output_bytes = output_sizes_.data();
    output_is_bounded = are_bounded_.data();
    tell_operand_steps(needs);
    tell_step_names(needs);
}

void LoweredRequirements::tell_operand_steps(const ProgramNeeds& needs) {
    if (needs.input_steps.empty() && needs.output_steps.empty()) {
        return;
    }
    operand_steps_.input_count = int32_t(needs.input_steps.size());
    operand_steps_.inputs = needs.input_steps.data();
    operand_steps_.output_count = int32_t(needs.output_steps.size());
    operand_steps_.outputs = needs.output_steps.data();
    operand_steps_.chained.header.next = header.next;
    header.next = &operand_steps_.chained;
}

void LoweredRequirements::tell_step_names(const ProgramNeeds& needs) {
    if (needs.step_names.empty()) {
        return;
    }
    step_name_rows_.assign(needs.step_names.begin(), needs.step_names.end());
    step_names_.step_count = int32_t(step_name_rows_.size());
    step_names_.names = step_name_rows_.data();
    step_names_.chained.header.next = header.next;
    header.next = &step_names_.chained;
}

}  // namespace leat::lowered
