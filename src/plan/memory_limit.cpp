#include "plan/memory_limit.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace leat {
namespace {

constexpr size_t kMostNames = 3;

std::string name_of_buffer(const GraphData& graph,
                           const PlanWork& work,
                           const MemoryLayout& layout,
                           int32_t buffer) {
    for (size_t value = 0; value < layout.places.size(); ++value) {
        const ValuePlace& place = layout.places[value];
        if (place.buffer == buffer && place.root == int32_t(value)) {
            return work.name_of(graph, int32_t(value));
        }
    }
    return {};
}

// The largest of the values that make the layout's bound.
std::string largest_values(const GraphData& graph,
                           const PlanWork& work,
                           const MemoryLayout& layout) {
    std::vector<std::pair<int64_t, int32_t>> alive;  // bytes, buffer
    alive.reserve(layout.plan.bound_buffers.size());
    for (const int32_t buffer : layout.plan.bound_buffers) {
        alive.emplace_back(layout.buffers[size_t(buffer)].size_bytes, buffer);
    }
    std::sort(alive.rbegin(), alive.rend());
    std::string names;
    for (size_t i = 0; i < std::min(alive.size(), kMostNames); ++i) {
        names += fmt::format("{}'{}' ({} bytes)", i == 0 ? "" : ", ",
                             name_of_buffer(graph, work, layout, alive[i].second), alive[i].first);
    }
    return names;
}

// What all requests need with activations of so many bytes in each; the most that 64 bits hold
// where that is more.
int64_t bytes_needed(const MemoryLimit& limit,
                     const LimitedMemory& besides,
                     int64_t activation_bytes) {
    const int64_t shared = limit.weight_bytes + besides.packed_bytes;
    int64_t bytes = 0;
    const bool overflows =
        __builtin_mul_overflow(activation_bytes + besides.scratch_bytes, limit.requests, &bytes) ||
        __builtin_add_overflow(bytes, shared, &bytes);
    return overflows ? std::numeric_limits<int64_t>::max() : bytes;
}

}  // namespace

int requests_at_a_time(const CompileOptions& options) {
    return std::max(options.max_requests, options.requests_in_flight);
}

int64_t arena_limit(const MemoryLimit& limit, const LimitedMemory& besides) {
    if (limit.total_bytes <= 0) {
        return std::numeric_limits<int64_t>::max();
    }
    const int64_t slabs = limit.total_bytes - limit.weight_bytes - besides.packed_bytes;
    return (slabs >= 0 ? slabs / limit.requests : slabs) - besides.scratch_bytes;
}

Status limit_error(const MemoryLimit& limit,
                   const LimitedMemory& besides,
                   const GraphData& graph,
                   const PlanWork& work,
                   const MemoryPlanner& planner,
                   const MemoryLayout& layout) {
    const int64_t arena = arena_limit(limit, besides);
    const int64_t least = layout.plan.height_bytes;  // that of one worker
    const int64_t bound = planner.least_bytes();
    const bool is_impossible = arena < bound;
    const std::string answer =
        is_impossible
            ? fmt::format("impossible: {} bytes short of what any order of the steps needs",
                          bytes_needed(limit, besides, bound) - limit.total_bytes)
            : fmt::format(
                  "no plan found: the best is {} bytes above the limit, the bound {} "
                  "bytes below it",
                  bytes_needed(limit, besides, least) - limit.total_bytes,
                  limit.total_bytes - bytes_needed(limit, besides, bound));
    return out_of_memory("the graph does not fit the memory limit; {}", answer)
        .with_found(fmt::format(
            "weights {} bytes, packed weights {}, scratch {}; activations at least {} (best "
            "plan {}) of the host's memory in each of {} requests, with {}",
            limit.weight_bytes, besides.packed_bytes, besides.scratch_bytes, bound, least,
            limit.requests, largest_values(graph, work, layout)))
        .with_needed(fmt::format("at most {} bytes", limit.total_bytes))
        .with_hint("raise memory_limit_bytes, lower max_requests, or use smaller shapes");
}

}  // namespace leat
