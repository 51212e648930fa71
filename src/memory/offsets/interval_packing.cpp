#include "memory/offsets/interval_packing.h"

#include <algorithm>

#include "base/error.h"
#include "memory/offsets/interval_problem.h"
#include "memory/offsets/skyline_search.h"

namespace leat {
namespace {

// Of one run. Where runs find nothing, later ones are longer.
constexpr int64_t kNodesOfRun = 5'000;
constexpr int kRunsOfLength = 256;
constexpr int64_t kNoisePermille = 800;
// A recursion is as deep as there are buffers, and uses the stack.
constexpr size_t kMostBuffers = 4'096;
// Nodes of one search for a lower plan, where each asks for another height.
constexpr int64_t kNodesOfHeight = 200'000;

SkylineSearch::Strategy strategy_of_run(int run) {
    using Key = SkylineSearch::BufferKey;
    using Rule = SkylineSearch::SectionRule;
    constexpr Key kKeys[] = {Key::kSize, Key::kDuration, Key::kArea};
    constexpr Rule kRules[] = {Rule::kFewestChoices, Rule::kLeastSlack, Rule::kBoth};
    SkylineSearch::Strategy strategy;
    strategy.key = kKeys[run % 3];
    strategy.rule = kRules[run / 3 % 3];
    // The first run of each kind is exact: what it cannot find in its steps is impossible.
    strategy.jumps = run >= 9;
    strategy.noise_permille = run >= 9 ? kNoisePermille : 0;
    strategy.seed = uint64_t(run);
    return strategy;
}

PackingResult pack(const IntervalProblem& problem,
                   std::span<const PlannedBuffer> buffers,
                   int64_t capacity_bytes,
                   int64_t max_nodes) {
    PackingResult result;
    SkylineSearch search(problem, capacity_bytes);
    for (int run = 0; result.nodes < max_nodes; ++run) {
        const int64_t nodes = kNodesOfRun * (1 + run / kRunsOfLength);
        const SkylineSearch::Answer answer =
            search.run(strategy_of_run(run), std::min(nodes, max_nodes - result.nodes));
        result.nodes += search.nodes();
        if (answer == SkylineSearch::Answer::kFound) {
            result.offsets.resize(buffers.size());
            search.write_offsets(result.offsets);
            return result;
        }
        if (answer == SkylineSearch::Answer::kImpossible) {
            result.is_impossible = problem.is_exact();
            return result;
        }
    }
    return result;
}

int64_t height_of(std::span<const PlannedBuffer> buffers, const std::vector<int64_t>& offsets) {
    int64_t height = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i].size_bytes > 0) {
            height = std::max(height, offsets[i] + buffers[i].size_bytes);
        }
    }
    return height;
}

}  // namespace

PackingResult pack_within(std::span<const PlannedBuffer> buffers,
                          int64_t capacity_bytes,
                          int64_t max_nodes) {
    const IntervalProblem problem(buffers);
    if (problem.buffers().size() > kMostBuffers) {
        return {};
    }
    return pack(problem, buffers, capacity_bytes, max_nodes);
}

void lower_by_packing(std::span<const PlannedBuffer> buffers,
                      int64_t limit_bytes,
                      int64_t max_nodes,
                      PackedPlan& packed) {
    MemoryPlan& plan = packed.plan;
    const IntervalProblem problem(buffers);
    const int64_t end_of_nodes = packed.nodes + max_nodes;
    const int64_t step = std::max<int64_t>(problem.unit(), 1);
    // The bound first, as it is often reached; with sizes padded nothing is below the peak of
    // those.
    int64_t wanted = std::max({plan.proved_bytes, limit_bytes, problem.peak_bytes()});
    int64_t lowest_tried = wanted;
    while (problem.buffers().size() <= kMostBuffers && wanted < plan.height_bytes &&
           plan.height_bytes > limit_bytes && packed.nodes < end_of_nodes) {
        const PackingResult result =
            pack(problem, buffers, wanted, std::min(kNodesOfHeight, end_of_nodes - packed.nodes));
        packed.nodes += result.nodes;
        if (!result.offsets.empty()) {
            plan.offsets = result.offsets;
            plan.height_bytes = height_of(buffers, plan.offsets);
            plan.algorithm = "exact search";
        } else {
            lowest_tried = wanted;
            // Heights of packings are multiples of the unit.
            plan.proved_bytes = result.is_impossible
                                    ? std::max(plan.proved_bytes, (wanted / step + 1) * step)
                                    : plan.proved_bytes;
        }
        // Halfway between what was not found and what is known.
        wanted = lowest_tried + std::max(step, (plan.height_bytes - lowest_tried) / 2);
    }
}

Result<PackedPlan> plan_lowest(std::span<const PlannedBuffer> buffers, int64_t max_nodes) {
    PackedPlan packed;
    LEAT_ASSIGN_OR_RETURN(packed.plan, plan_offsets(buffers));
    lower_by_packing(buffers, 0, max_nodes, packed);
    packed.is_optimal = packed.plan.is_optimal();
    return packed;
}

}  // namespace leat
