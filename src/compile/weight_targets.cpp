#include "compile/weight_targets.h"

#include <algorithm>

#include "memory/weight_policy/weight_policy.h"

namespace leat {
namespace {

// All groups may run the graph, and each run reads each constant once.
std::vector<WeightReader> readers_of(std::span<const ThreadGroup> groups) {
    std::vector<WeightReader> readers;
    readers.reserve(groups.size());
    for (const ThreadGroup& group : groups) {
        const bool is_known = std::any_of(
            readers.begin(), readers.end(),
            [&group](const WeightReader& reader) { return reader.domain == group.home; });
        if (!is_known) {
            readers.push_back({*group.home});
        }
    }
    return readers;
}

WeightTarget target_of(const WeightDecision& decision,
                       const ThreadGroup& group,
                       const WeightStore& store) {
    switch (decision.policy) {
        case WeightPolicy::kHome:
            return {decision.home};
        case WeightPolicy::kInterleave:
            return store.default_target();
        case WeightPolicy::kPartition:
        case WeightPolicy::kReplicate:
            break;
    }
    return {group.home};
}

}  // namespace

std::vector<WeightTargets> choose_weight_targets(const Runtime::Impl& runtime,
                                                 const GraphData& graph) {
    const bool has_choice =
        runtime.groups.size() > 1 && runtime.options.numa.weights == WeightPlacement::kAuto;
    if (!has_choice) {
        return {};
    }
    WeightMachine machine = runtime.weight_machine;
    for (const MemoryDomain& domain : runtime.domains->list()) {
        machine.domains[size_t(domain.id)].budget_bytes = runtime.domains->budget(domain.id).bytes;
    }
    const std::vector<WeightReader> readers = readers_of(runtime.groups);
    std::vector<const Tensor*> constants;
    std::vector<WeightUse> uses;
    for (const ValueData& value : graph.values) {
        if (value.constant && value.constant->byte_count() > 0) {
            constants.push_back(&*value.constant);
            uses.push_back({.bytes = value.constant->byte_count(), .readers = readers});
        }
    }
    const WeightPolicies policies = choose_weight_policies(machine, uses);
    std::vector<WeightTargets> targets(runtime.groups.size());
    for (size_t group = 0; group < targets.size(); ++group) {
        const ThreadGroup& threads = runtime.groups[group];
        for (size_t i = 0; i < constants.size(); ++i) {
            const WeightTarget target = target_of(policies.decisions[i], threads, runtime.weights);
            if (!(target == runtime.weight_target(threads))) {
                targets[group].emplace(constants[i]->bytes(), target);
            }
        }
    }
    return targets;
}

}  // namespace leat
