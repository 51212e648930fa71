#include "backends/lowered/lowered_requirements.h"

#include <utility>

namespace leat::lowered {

LoweredRequirements::LoweredRequirements(ProgramNeeds needs, DeviceMemory memory)
    : needs_(std::move(needs)) {
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
}

}  // namespace leat::lowered
