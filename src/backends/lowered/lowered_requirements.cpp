#include "backends/lowered/lowered_requirements.h"

#include <utility>

namespace leat::lowered {
namespace {

std::vector<LeatStepList> rows_of(std::span<const std::vector<int32_t>> lists) {
    std::vector<LeatStepList> rows;
    rows.reserve(lists.size());
    for (const std::vector<int32_t>& steps : lists) {
        rows.push_back({int32_t(steps.size()), steps.data()});
    }
    return rows;
}

}  // namespace

LoweredRequirements::LoweredRequirements(ProgramNeeds needs, DeviceMemory memory)
    : needs_(std::move(needs)),
      operand_steps_(plugin::made_chained<LeatOperandSteps>(LEAT_OPERAND_STEPS)),
      step_names_(plugin::made_chained<LeatStepNames>(LEAT_STEP_NAMES)) {
    transient_rows_.reserve(needs_.transients.size());
    transient_pointers_.reserve(needs_.transients.size());
    for (const LoweredTransient& source : needs_.transients) {
        LeatTransient& row = transient_rows_.emplace_back(plugin::made<LeatTransient>());
        row.bytes = source.bytes;
        row.alignment_bytes = memory.alignment_bytes;
        row.domain = memory.domain;
        row.step_count = int32_t(source.steps.size());
        row.steps = source.steps.data();
        transient_pointers_.push_back(&row);
    }
    output_sizes_.reserve(needs_.outputs.size());
    are_bounded_.reserve(needs_.outputs.size());
    for (const LoweredOutput& output : needs_.outputs) {
        output_sizes_.push_back(output.bytes);
        are_bounded_.push_back(output.is_bounded ? 1 : 0);
    }
    step_count = needs_.step_count;
    edge_count = int32_t(needs_.edges.size());
    edges = needs_.edges.data();
    transient_count = int32_t(transient_pointers_.size());
    transients = transient_pointers_.data();
    output_count = int32_t(output_sizes_.size());
    output_bytes = output_sizes_.data();
    output_is_bounded = are_bounded_.data();
    tell_operand_steps();
    tell_step_names();
}

void LoweredRequirements::tell_operand_steps() {
    if (needs_.input_steps.empty() && needs_.output_steps.empty()) {
        return;
    }
    input_rows_ = rows_of(needs_.input_steps);
    output_rows_ = rows_of(needs_.output_steps);
    operand_steps_.input_count = int32_t(input_rows_.size());
    operand_steps_.inputs = input_rows_.data();
    operand_steps_.output_count = int32_t(output_rows_.size());
    operand_steps_.outputs = output_rows_.data();
    operand_steps_.chained.header.next = header.next;
    header.next = &operand_steps_.chained;
}

void LoweredRequirements::tell_step_names() {
    if (needs_.step_names.empty()) {
        return;
    }
    step_names_row_.reserve(needs_.step_names.size());
    for (const std::string& name : needs_.step_names) {
        step_names_row_.push_back(name.c_str());
    }
    step_names_.step_count = int32_t(step_names_row_.size());
    step_names_.names = step_names_row_.data();
    step_names_.chained.header.next = header.next;
    header.next = &step_names_.chained;
}

}  // namespace leat::lowered
