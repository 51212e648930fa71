// check_plan: walks over time and keeps what is alive in a map by offset. Knows nothing of how
// plans are made.
#include <algorithm>
#include <iterator>
#include <map>

#include "base/error.h"
#include "memory/plan.h"

namespace leat {
namespace {

Status check_one(size_t index, const PlannedBuffer& buffer, int64_t offset, int64_t height_bytes) {
    if (offset < 0 || offset % buffer.alignment_bytes != 0) {
        return internal_error("memory plan: buffer {} at {} needs alignment {}", index, offset,
                              buffer.alignment_bytes);
    }
    if (offset > height_bytes - buffer.size_bytes) {
        return internal_error("memory plan: buffer {} at [{}, {}) is outside the height {}", index,
                              offset, offset + buffer.size_bytes, height_bytes);
    }
    return {};
}

}  // namespace

Status check_plan(std::span<const PlannedBuffer> buffers, const MemoryPlan& plan) {
    if (plan.offsets.size() != buffers.size()) {
        return internal_error("memory plan: {} offsets for {} buffers", plan.offsets.size(),
                              buffers.size());
    }
    if (plan.height_bytes < plan.lower_bound_bytes) {
        return internal_error("memory plan: height {} is below the lower bound {}",
                              plan.height_bytes, plan.lower_bound_bytes);
    }
    std::multimap<int32_t, size_t> begins;
    std::multimap<int32_t, size_t> ends;
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_one(i, buffers[i], plan.offsets[i], plan.height_bytes));
        if (buffers[i].size_bytes > 0) {
            begins.emplace(buffers[i].begin_step, i);
            ends.emplace(buffers[i].end_step, i);
        }
    }
    std::map<int64_t, size_t> alive;  // offset -> buffer
    auto next_end = ends.begin();
    for (const auto& [step, index] : begins) {
        for (; next_end != ends.end() && next_end->first <= step; ++next_end) {
            alive.erase(plan.offsets[next_end->second]);
        }
        const int64_t begin = plan.offsets[index];
        const int64_t end = begin + buffers[index].size_bytes;
        // Those alive do not overlap, so only the last one that starts before `end` can reach into
        // this one.
        const auto above = alive.lower_bound(end);
        if (above != alive.begin()) {
            const auto& [other_begin, other] = *std::prev(above);
            const int64_t other_end = other_begin + buffers[other].size_bytes;
            if (other_end > begin) {
                return internal_error(
                    "memory plan: buffers {} at [{}, {}) and {} at [{}, {}) are alive together in "
                    "step {}",
                    other, other_begin, other_end, index, begin, end, step);
            }
        }
        alive.emplace(begin, index);
    }
    return {};
}

}  // namespace leat
