#include "backends/vulkan/record/barrier_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace leat::vulkan {
namespace {

constexpr int kNever = -1;

// For the bytes of one buffer: the last level that wrote them, and the last that read them since.
class AccessLevels {
  public:
    AccessLevels() { parts_.emplace(0, Part{}); }

    // The first level in which this use is safe.
    int earliest(const BufferUse& use) {
        int level = 0;
        const auto [begin, end] = parts_of(use.bytes);
        for (auto part = begin; part != end; ++part) {
            level = std::max(level, part->second.written + 1);
            if (use.is_write) {
                level = std::max(level, part->second.read + 1);
            }
        }
        return level;
    }

    void note(const BufferUse& use, int level) {
        const auto [begin, end] = parts_of(use.bytes);
        for (auto part = begin; part != end; ++part) {
            if (use.is_write) {
                part->second = {level, kNever};
            } else {
                part->second.read = std::max(part->second.read, level);
            }
        }
    }

  private:
    struct Part {
        int written = kNever;
        int read = kNever;
    };
    using Parts = std::map<int64_t, Part>;  // from its key to the next one

    Parts::iterator cut(int64_t offset) {
        const auto next = parts_.lower_bound(offset);
        if (next != parts_.end() && next->first == offset) {
            return next;
        }
        return parts_.emplace_hint(next, offset, std::prev(next)->second);
    }
    std::pair<Parts::iterator, Parts::iterator> parts_of(ByteRange bytes) {
        const auto begin = cut(bytes.begin);
        return {begin, cut(bytes.end)};
    }

    Parts parts_;
};

// Reads before writes: of a range that a kernel changes in place, the write is what others wait
// for.
void note_uses(std::vector<AccessLevels>& buffers, std::span<const BufferUse> uses, int level) {
    for (const bool is_write : {false, true}) {
        for (const BufferUse& use : uses) {
            if (use.is_write == is_write) {
                buffers[size_t(use.buffer)].note(use, level);
            }
        }
    }
}

std::vector<int> levels_of(const CommandList& list) {
    std::vector<AccessLevels> buffers(list.buffer_count());
    std::vector<int> levels;
    levels.reserve(list.commands().size());
    for (const Command& command : list.commands()) {
        int level = 0;
        for (const BufferUse& use : list.uses(command)) {
            level = std::max(level, buffers[size_t(use.buffer)].earliest(use));
        }
        note_uses(buffers, list.uses(command), level);
        levels.push_back(level);
    }
    return levels;
}

Stages stages_of(const CommandList& list) {
    Stages stages = 0;
    for (const Command& command : list.commands()) {
        stages = Stages(stages | stage_of(command));
    }
    return stages;
}

}  // namespace

Stages stage_of(const Command& command) {
    return std::holds_alternative<Dispatch>(command.action) ? kComputeStage : kCopyStage;
}

BarrierPlan plan_barriers(const CommandList& list, BarrierPlanOptions options) {
    const std::vector<int> levels = levels_of(list);
    std::vector<uint32_t> order(levels.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return levels[a] < levels[b]; });
    const Stages used = stages_of(list);
    BarrierPlan plan;
    plan.steps.reserve(2 * order.size() + 2);
    plan.submit_begins.push_back(0);
    plan.steps.push_back({true, {Stages(kComputeStage | kCopyStage), used}, 0});
    int64_t submit_ns = 0;
    int level = 0;
    for (const uint32_t command : order) {
        const int64_t estimated_ns = list.commands()[command].estimated_ns;
        if (submit_ns > 0 && submit_ns + estimated_ns > options.submit_budget_ns) {
            plan.submit_begins.push_back(uint32_t(plan.steps.size()));
            submit_ns = 0;
        }
        if (levels[command] != level) {
            level = levels[command];
            plan.steps.push_back({true, {used, used}, 0});
        }
        plan.steps.push_back({false, {}, command});
        submit_ns += estimated_ns;
    }
    plan.steps.push_back({true, {used, kHostStage}, 0});
    plan.level_count = order.empty() ? 0 : level + 1;
    return plan;
}

}  // namespace leat::vulkan
