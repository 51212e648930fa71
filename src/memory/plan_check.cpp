// check_plan: of intervals, walks over time and keeps what is alive in a map by offset; of a
// partial order, walks over offsets and keeps what lies there in a map by first step. Knows nothing
// of how plans are made.
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "memory/plan.h"

namespace leat {
namespace {

bool takes_place(const PlannedBuffer& buffer) {
    return buffer.size_bytes > 0;
}
bool takes_place(const UsedBuffer& buffer) {
    return buffer.size_bytes > 0 && !buffer.users.empty();
}

template <class Buffer>
Status check_one(size_t index, const Buffer& buffer, int64_t offset, int64_t height_bytes) {
    if (offset < 0 || offset % buffer.alignment_bytes != 0) {
        return internal_error("memory plan: buffer {} at {} needs alignment {}", index, offset,
                              buffer.alignment_bytes);
    }
    if (takes_place(buffer) && offset > height_bytes - buffer.size_bytes) {
        return internal_error("memory plan: buffer {} at [{}, {}) is outside the height {}", index,
                              offset, offset + buffer.size_bytes, height_bytes);
    }
    return {};
}

template <class Buffer>
Status check_alone(std::span<const Buffer> buffers, const MemoryPlan& plan) {
    if (plan.offsets.size() != buffers.size()) {
        return internal_error("memory plan: {} offsets for {} buffers", plan.offsets.size(),
                              buffers.size());
    }
    if (plan.height_bytes < plan.lower_bound_bytes) {
        return internal_error("memory plan: height {} is below the lower bound {}",
                              plan.height_bytes, plan.lower_bound_bytes);
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_one(i, buffers[i], plan.offsets[i], plan.height_bytes));
    }
    return {};
}

Status check_users(size_t index, const UsedBuffer& buffer, size_t steps) {
    int32_t last = -1;
    for (const int32_t user : buffer.users) {
        if (user <= last || size_t(user) >= steps) {
            return internal_error("memory plan: buffer {} is used by step {} after {}, of {} steps",
                                  index, user, last, steps);
        }
        last = user;
    }
    return {};
}

// That what shares bytes is ordered.
class SharingCheck {
  public:
    SharingCheck(std::span<const UsedBuffer> buffers,
                 std::span<const std::vector<int32_t>> predecessors,
                 const MemoryPlan& plan)
        : buffers_(buffers),
          predecessors_(predecessors),
          plan_(plan),
          is_line_(waits_for_the_last(predecessors)),
          reached_from_(predecessors.size(), 0) {}

    // What lies at one offset is one line in the order before: so only neighbours are compared.
    Status run() {
        // Ends first, as ranges are half-open.
        std::vector<std::tuple<int64_t, bool, size_t>> events;
        events.reserve(2 * buffers_.size());
        for (size_t i = 0; i < buffers_.size(); ++i) {
            if (takes_place(buffers_[i])) {
                events.emplace_back(plan_.offsets[i], true, i);
                events.emplace_back(plan_.offsets[i] + buffers_[i].size_bytes, false, i);
            }
        }
        std::sort(events.begin(), events.end());
        std::vector<std::pair<int32_t, size_t>> line;  // first step and buffer, ascending
        line.reserve(buffers_.size());
        for (const auto& [offset, is_begin, index] : events) {
            const std::pair<int32_t, size_t> own(buffers_[index].users.front(), index);
            const auto place = std::lower_bound(line.begin(), line.end(), own);
            if (!is_begin) {
                line.erase(place);
                continue;
            }
            const auto at = line.insert(place, own);
            if (at != line.begin()) {
                LEAT_RETURN_IF_ERROR(check_pair(std::prev(at)->second, index));
            }
            if (std::next(at) != line.end()) {
                LEAT_RETURN_IF_ERROR(check_pair(index, std::next(at)->second));
            }
        }
        return {};
    }

  private:
    static bool waits_for_the_last(std::span<const std::vector<int32_t>> predecessors) {
        for (size_t step = 1; step < predecessors.size(); ++step) {
            const std::vector<int32_t>& own = predecessors[step];
            if (std::find(own.begin(), own.end(), int32_t(step) - 1) == own.end()) {
                return false;
            }
        }
        return true;
    }

    Status check_pair(size_t before, size_t after) {
        const UsedBuffer& a = buffers_[before];
        const UsedBuffer& b = buffers_[after];
        const int64_t a_begin = plan_.offsets[before];
        const int64_t b_begin = plan_.offsets[after];
        if (a.is_kept) {
            return internal_error(
                "memory plan: buffer {} at [{}, {}) is kept, and {} at [{}, {}) shares its memory",
                before, a_begin, a_begin + a.size_bytes, after, b_begin, b_begin + b.size_bytes);
        }
        for (const int32_t late : b.users) {
            mark_before(late, a.users.front());
            for (const int32_t early : a.users) {
                if (is_line_ ? early >= late : reached_from_[size_t(early)] != mark_) {
                    return internal_error(
                        "memory plan: buffers {} at [{}, {}) and {} at [{}, {}) share memory, but "
                        "step {}, which uses the one, need not end before step {}, which uses the "
                        "other",
                        before, a_begin, a_begin + a.size_bytes, after, b_begin,
                        b_begin + b.size_bytes, early, late);
                }
            }
        }
        return {};
    }

    // Marks the steps from `first` on that `step` waits for, directly or not.
    void mark_before(int32_t step, int32_t first) {
        if (is_line_) {
            return;  // everything that is before
        }
        ++mark_;
        stack_.assign(1, step);
        while (!stack_.empty()) {
            const int32_t next = stack_.back();
            stack_.pop_back();
            for (const int32_t before : predecessors_[size_t(next)]) {
                if (before >= first && reached_from_[size_t(before)] != mark_) {
                    reached_from_[size_t(before)] = mark_;
                    stack_.push_back(before);
                }
            }
        }
    }

    std::span<const UsedBuffer> buffers_;
    std::span<const std::vector<int32_t>> predecessors_;
    const MemoryPlan& plan_;
    const bool is_line_;                 // each step waits for the one before it
    std::vector<int64_t> reached_from_;  // by step: the last mark
    int64_t mark_ = 0;
    std::vector<int32_t> stack_;  // kept for its memory
};

}  // namespace

Status check_plan(std::span<const UsedBuffer> buffers,
                  std::span<const std::vector<int32_t>> predecessors,
                  const MemoryPlan& plan) {
    LEAT_RETURN_IF_ERROR(check_alone(buffers, plan));
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_users(i, buffers[i], predecessors.size()));
    }
    return SharingCheck(buffers, predecessors, plan).run();
}

Status check_plan(std::span<const PlannedBuffer> buffers, const MemoryPlan& plan) {
    LEAT_RETURN_IF_ERROR(check_alone(buffers, plan));
    std::multimap<int32_t, size_t> begins;
    std::multimap<int32_t, size_t> ends;
    for (size_t i = 0; i < buffers.size(); ++i) {
        if (takes_place(buffers[i])) {
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
