#include "support/exhaustive_planning.h"

#include <algorithm>
#include <limits>
#include <set>

namespace leat::testing {
namespace {

bool takes_place(const UsedBuffer& buffer) {
    return buffer.size_bytes > 0 && !buffer.users.empty();
}

int64_t aligned(int64_t offset, int64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

// A lowest plan can be pushed down until every buffer lies at 0 or on one that it conflicts with;
// placed in the order of such offsets, each lies just above what it conflicts with of those before.
class LowestHeight {
  public:
    LowestHeight(const std::vector<Item>& items, const Conflicts& conflicts, int64_t bound)
        : items_(items), conflicts_(conflicts), bound_(bound) {}

    int64_t find() {
        uint32_t waiting = 0;
        for (size_t i = 0; i < items_.size(); ++i) {
            waiting |= items_[i].size_bytes > 0 ? uint32_t{1} << i : 0;
        }
        lowest_ = waiting == 0 ? 0 : lowest_;
        if (waiting != 0) {
            place(waiting, std::vector<int64_t>(items_.size(), 0), 0, 0);
        }
        return lowest_;
    }

  private:
    // `floors`: where each waiting buffer can begin.
    void place(uint32_t waiting,
               const std::vector<int64_t>& floors,
               int64_t level,
               int64_t height) {
        if (waiting == 0) {
            lowest_ = std::min(lowest_, height);
            return;
        }
        std::vector<int64_t> state = {int64_t(waiting), level, height};
        for (size_t i = 0; i < items_.size(); ++i) {
            const bool waits = ((waiting >> i) & 1U) != 0;
            if (waits && floors[i] + items_[i].size_bytes >= lowest_) {
                return;
            }
            state.push_back(waits ? floors[i] : 0);
        }
        if (!tried_.insert(state).second) {
            return;
        }
        for (size_t i = 0; i < items_.size() && lowest_ > bound_; ++i) {
            if (((waiting >> i) & 1U) == 0 || floors[i] < level) {
                continue;
            }
            const int64_t end = floors[i] + items_[i].size_bytes;
            std::vector<int64_t> raised = floors;
            for (size_t j = 0; j < items_.size(); ++j) {
                if (conflicts_[i][j]) {
                    raised[j] = std::max(raised[j], aligned(end, items_[j].alignment_bytes));
                }
            }
            place(waiting & ~(uint32_t{1} << i), raised, floors[i], std::max(height, end));
        }
    }

    const std::vector<Item>& items_;
    const Conflicts& conflicts_;
    const int64_t bound_;
    int64_t lowest_ = std::numeric_limits<int64_t>::max();
    std::set<std::vector<int64_t>> tried_;
};

}  // namespace

std::vector<std::vector<bool>> reachability(const std::vector<std::vector<int32_t>>& predecessors) {
    const size_t steps = predecessors.size();
    std::vector<std::vector<bool>> reaches(steps, std::vector<bool>(steps, false));
    for (size_t step = 0; step < steps; ++step) {
        for (const int32_t before : predecessors[step]) {
            reaches[size_t(before)][step] = true;
        }
    }
    for (size_t middle = 0; middle < steps; ++middle) {
        for (size_t from = 0; from < steps; ++from) {
            for (size_t to = 0; to < steps && reaches[from][middle]; ++to) {
                reaches[from][to] = reaches[from][to] || reaches[middle][to];
            }
        }
    }
    return reaches;
}

Conflicts conflicts_of(const PlanningProblem& problem) {
    const std::vector<std::vector<bool>> reaches = reachability(problem.predecessors);
    const auto is_before = [&](const UsedBuffer& a, const UsedBuffer& b) {
        return !a.is_kept && std::all_of(a.users.begin(), a.users.end(), [&](int32_t early) {
            return std::all_of(b.users.begin(), b.users.end(), [&](int32_t late) {
                return bool(reaches[size_t(early)][size_t(late)]);
            });
        });
    };
    const size_t count = problem.buffers.size();
    Conflicts conflicts(count, std::vector<bool>(count, false));
    for (size_t a = 0; a < count; ++a) {
        for (size_t b = 0; b < count; ++b) {
            conflicts[a][b] = a != b && takes_place(problem.buffers[a]) &&
                              takes_place(problem.buffers[b]) &&
                              !is_before(problem.buffers[a], problem.buffers[b]) &&
                              !is_before(problem.buffers[b], problem.buffers[a]);
        }
    }
    return conflicts;
}

Conflicts conflicts_of(const std::vector<PlannedBuffer>& buffers) {
    Conflicts conflicts(buffers.size(), std::vector<bool>(buffers.size(), false));
    for (size_t a = 0; a < buffers.size(); ++a) {
        for (size_t b = 0; b < buffers.size(); ++b) {
            conflicts[a][b] = a != b && buffers[a].size_bytes > 0 && buffers[b].size_bytes > 0 &&
                              buffers[a].begin_step < buffers[b].end_step &&
                              buffers[b].begin_step < buffers[a].end_step;
        }
    }
    return conflicts;
}

std::vector<Item> items_of(const std::vector<UsedBuffer>& buffers) {
    std::vector<Item> items;
    items.reserve(buffers.size());
    for (const UsedBuffer& buffer : buffers) {
        items.push_back({takes_place(buffer) ? buffer.size_bytes : 0, buffer.alignment_bytes});
    }
    return items;
}

std::vector<Item> items_of(const std::vector<PlannedBuffer>& buffers) {
    std::vector<Item> items;
    items.reserve(buffers.size());
    for (const PlannedBuffer& buffer : buffers) {
        items.push_back({buffer.size_bytes, buffer.alignment_bytes});
    }
    return items;
}

int64_t most_alive(const std::vector<Item>& items, const Conflicts& conflicts) {
    int64_t grain = std::numeric_limits<int64_t>::max();
    for (const Item& item : items) {
        grain = item.size_bytes > 0 ? std::min(grain, item.alignment_bytes) : grain;
    }
    int64_t most = 0;
    for (uint32_t set = 1; set < uint32_t{1} << items.size(); ++set) {
        int64_t bytes = 0;
        int64_t padding = 0;
        bool is_antichain = true;
        for (size_t a = 0; a < items.size() && is_antichain; ++a) {
            if (((set >> a) & 1U) == 0) {
                continue;
            }
            const int64_t rounded = aligned(items[a].size_bytes, grain);
            bytes += rounded;
            padding = std::max(padding, rounded - items[a].size_bytes);
            is_antichain = items[a].size_bytes > 0;
            for (size_t b = 0; b < a; ++b) {
                is_antichain = is_antichain && (((set >> b) & 1U) == 0 || conflicts[a][b]);
            }
        }
        most = is_antichain ? std::max(most, bytes - padding) : most;
    }
    return most;
}

int64_t lowest_height(const std::vector<Item>& items, const Conflicts& conflicts) {
    return LowestHeight(items, conflicts, most_alive(items, conflicts)).find();
}

}  // namespace leat::testing
