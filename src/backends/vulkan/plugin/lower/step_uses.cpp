#include "backends/vulkan/plugin/lower/step_uses.h"

namespace leat::vulkan {

using lowered::Place;

StepUses::StepUses(const GraphData& graph, const lowered::LoweredGraph& lowered)
    : graph_(graph),
      lowered_(lowered),
      readers_(lowered.transients.size()),
      is_copied_(lowered.transients.size()) {
    for (size_t s = 0; s < lowered.steps.size(); ++s) {
        for (const ValueId value : node_of(int32_t(s)).inputs) {
            const std::optional<size_t> transient = transient_of(value);
            if (transient) {
                readers_[*transient].push_back(int32_t(s));
            }
        }
    }
    for (const lowered::LoweredOutput& output : lowered.outputs) {
        const std::optional<size_t> transient = transient_of(ValueId{output.value});
        if (output.is_copied && transient) {
            is_copied_[*transient] = true;
        }
    }
}

std::optional<size_t> StepUses::transient_of(ValueId value) const {
    const bool has_memory =
        value.valid() && lowered_.form->places[size_t(value.index)].place == Place::kTransient;
    return has_memory ? std::optional(size_t(lowered_.form->places[size_t(value.index)].index))
                      : std::nullopt;
}

const std::vector<int32_t>& StepUses::readers(ValueId value) const {
    const std::optional<size_t> transient = transient_of(value);
    return transient ? readers_[*transient] : none_;
}

bool StepUses::is_copied(ValueId value) const {
    const std::optional<size_t> transient = transient_of(value);
    return transient && is_copied_[*transient];
}

}  // namespace leat::vulkan
