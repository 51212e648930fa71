#include "memory/ordered_problem.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "base/round_up.h"
#include "base/sort_unique.h"

namespace leat {
namespace {

// The most bytes that the step uses at once, of its operands and inside, where what it does inside
// is one thing after the other.
int64_t peak_inside(const MemoryProblem& problem,
                    const ValueGroups& groups,
                    const InnerSteps& inside) {
    std::vector<int64_t> growth_bytes(inside.waits.size() + 1, 0);
    for (const InnerSteps::Use& use : inside.uses) {
        if (!groups.is_placed(use.value)) {
            continue;
        }
        const int64_t bytes = round_up(groups.size_bytes(use.value), problem.alignment_bytes);
        const bool is_whole = use.steps.empty();
        const bool begins_first = is_whole || use.side == InnerSteps::Side::kRead;
        const bool ends_last = is_whole || use.side == InnerSteps::Side::kWritten;
        growth_bytes[begins_first ? 0 : size_t(use.steps.front())] += bytes;
        if (!ends_last) {
            growth_bytes[size_t(use.steps.back()) + 1] -= bytes;
        }
    }
    int64_t peak = 0;
    int64_t alive = 0;
    for (const int64_t growth : growth_bytes) {
        alive += growth;
        peak = std::max(peak, alive);
    }
    return peak;
}

// True for values that one step uses inside, and nobody else.
std::vector<bool> values_inside(const MemoryProblem& problem, std::span<const int32_t> order) {
    std::vector<bool> are_inside(problem.values.size(), false);
    for (const int32_t index : order) {
        if (const auto& inside = problem.steps[size_t(index)].inside; inside != nullptr) {
            for (const InnerSteps::Use& use : inside->uses) {
                are_inside[size_t(use.value)] = use.side == InnerSteps::Side::kInside;
            }
        }
    }
    return are_inside;
}

// A buffer of a step alone, for what it needs inside beside its operands.
void add_buffers_inside(const MemoryProblem& problem,
                        const ValueGroups& groups,
                        std::span<const int32_t> order,
                        OrderProblem& result) {
    for (size_t position = 0; position < order.size(); ++position) {
        const MemoryStep& step = problem.steps[size_t(order[position])];
        if (step.inside == nullptr) {
            continue;
        }
        int64_t bytes = peak_inside(problem, groups, *step.inside);
        for (const InnerSteps::Use& use : step.inside->uses) {
            if (use.side != InnerSteps::Side::kInside && groups.is_placed(use.value)) {
                bytes -= round_up(groups.size_bytes(use.value), problem.alignment_bytes);
            }
        }
        if (bytes > 0) {
            result.buffers.push_back({bytes, int32_t(position), {}, false});
        }
    }
}

// Which steps write which bytes of groups. Steps that read views of a large value look at what is
// written there alone, however many views it has.
class WrittenBytes {
  public:
    WrittenBytes(const MemoryProblem& problem,
                 std::span<const int32_t> order,
                 const ValueGroups& groups)
        : groups_(groups), first_(problem.values.size() + 1, 0) {
        for (size_t position = 0; position < order.size(); ++position) {
            for (const int32_t value : problem.steps[size_t(order[position])].writes) {
                const int64_t begin = groups.offset_bytes(value);
                ranges_.push_back({groups.root(value), int32_t(position), begin,
                                   begin + groups.size_bytes(value), 0});
                ++first_[size_t(groups.root(value)) + 1];
            }
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
            return a.root != b.root ? a.root < b.root : a.begin < b.begin;
        });
        for (size_t i = 0; i < ranges_.size(); ++i) {
            const bool is_first = i == 0 || ranges_[i - 1].root != ranges_[i].root;
            ranges_[i].last_end =
                is_first ? ranges_[i].end : std::max(ranges_[i].end, ranges_[i - 1].last_end);
        }
    }

    // A value without bytes counts where it lies: the same waits serve plans in which it has some.
    // `reader`: its position; what only touches the value is of those before it.
    void add_writers(int32_t value, int32_t reader, std::vector<int32_t>& positions) const {
        const int64_t begin = groups_.offset_bytes(value);
        const int64_t end = begin + groups_.size_bytes(value);
        const auto root = size_t(groups_.root(value));
        const std::span<const Range> own = std::span(ranges_).subspan(
            size_t(first_[root]), size_t(first_[root + 1] - first_[root]));
        auto range = std::partition_point(own.begin(), own.end(), [end](const Range& candidate) {
            return candidate.begin <= end;
        });
        while (range != own.begin() && std::prev(range)->last_end >= begin) {
            --range;
            const bool shares_bytes = range->begin < end && range->end > begin;
            const bool touches = range->end >= begin &&
                                 (begin == end || range->begin == range->end) &&
                                 range->position < reader;
            if (shares_bytes || touches) {
                positions.push_back(range->position);
            }
        }
    }

  private:
    struct Range {
        int32_t root;
        int32_t position;
        int64_t begin;
        int64_t end;
        int64_t last_end;  // of this and those of the root before it
    };

    const ValueGroups& groups_;
    std::vector<Range> ranges_;   // by root, then by begin
    std::vector<int32_t> first_;  // by root, and one more
};

}  // namespace

std::vector<std::vector<int32_t>> users_in(const MemoryProblem& problem,
                                           std::span<const int32_t> order) {
    std::vector<std::vector<int32_t>> users(problem.values.size());
    const auto add = [&users](std::span<const int32_t> values, size_t position) {
        for (const int32_t value : values) {
            std::vector<int32_t>& list = users[size_t(value)];
            if (list.empty() || list.back() != int32_t(position)) {
                list.push_back(int32_t(position));
            }
        }
    };
    for (size_t position = 0; position < order.size(); ++position) {
        const MemoryStep& step = problem.steps[size_t(order[position])];
        add(step.reads, position);
        add(step.writes, position);
    }
    return users;
}

StepMoments moments_of(const MemoryProblem& problem, std::span<const int32_t> order) {
    std::vector<std::shared_ptr<const InnerSteps>> insides;
    insides.reserve(order.size());
    for (const int32_t index : order) {
        insides.push_back(problem.steps[size_t(index)].inside);
    }
    return StepMoments(std::move(insides));
}

std::vector<std::vector<int32_t>> users_by_moment_in(const MemoryProblem& problem,
                                                     std::span<const int32_t> order,
                                                     const StepMoments& moments) {
    if (moments.is_plain()) {
        return users_in(problem, order);
    }
    std::vector<std::vector<int32_t>> users(problem.values.size());
    for (int32_t position = 0; position < int32_t(order.size()); ++position) {
        const MemoryStep& step = problem.steps[size_t(order[size_t(position)])];
        if (step.inside != nullptr) {
            for (const InnerSteps::Use& use : step.inside->uses) {
                const std::vector<int32_t> own = moments.users(position, use);
                std::vector<int32_t>& all = users[size_t(use.value)];
                all.insert(all.end(), own.begin(), own.end());
            }
            continue;
        }
        for (const int32_t value : step.reads) {
            users[size_t(value)].push_back(moments.begin(position));
        }
        for (const int32_t value : step.writes) {
            users[size_t(value)].push_back(moments.begin(position));
        }
    }
    for (std::vector<int32_t>& own : users) {
        sort_unique(own);
    }
    return users;
}

StepWaits waits_of(const MemoryProblem& problem,
                   std::span<const int32_t> order,
                   std::span<const int64_t> ends) {
    const auto range_of = [&](int32_t value) {
        return ByteRange{ends[2 * size_t(value)], ends[2 * size_t(value) + 1]};
    };
    StepHazards hazards;
    StepWaits waits;
    waits.reserve(order.size());
    for (const int32_t index : order) {
        const MemoryStep& step = problem.steps[size_t(index)];
        for (const int32_t value : step.reads) {
            hazards.read(range_of(value));
        }
        for (const int32_t value : step.writes) {
            hazards.write(range_of(value));
        }
        waits.push_back(hazards.end_step());
    }
    return waits;
}

StepWaits data_waits_of(const MemoryProblem& problem,
                        std::span<const int32_t> order,
                        const ValueGroups& groups) {
    const WrittenBytes written(problem, order, groups);
    StepWaits waits(order.size());
    for (size_t position = 0; position < order.size(); ++position) {
        for (const int32_t value : problem.steps[size_t(order[position])].reads) {
            written.add_writers(value, int32_t(position), waits[position]);
        }
        sort_unique(waits[position]);
    }
    return waits;
}

std::vector<UsedGroup> used_groups(const MemoryProblem& problem,
                                   const ValueGroups& groups,
                                   const std::vector<std::vector<int32_t>>& users) {
    std::vector<UsedGroup> used;
    used.reserve(size_t(
        std::count_if(users.begin(), users.end(), [](const auto& list) { return !list.empty(); })));
    for (int32_t root = 0; root < int32_t(problem.values.size()); ++root) {
        if (groups.root(root) != root || !groups.is_placed(root)) {
            continue;
        }
        UsedGroup group{root, {}, false};
        for (const int32_t value : groups.members(root)) {
            for (const int32_t user : users[size_t(value)]) {
                group.users.push_back(user);
            }
            group.is_kept |= problem.values[size_t(value)].is_kept;
        }
        if (!group.users.empty()) {
            if (groups.members(root).size() > 1) {
                sort_unique(group.users);
            }
            used.push_back(std::move(group));
        }
    }
    return used;
}

OrderProblem order_problem(const MemoryProblem& problem,
                           const ValueGroups& groups,
                           std::span<const int32_t> order) {
    OrderProblem result;
    result.step_count = int32_t(order.size());
    std::vector<int32_t> buffer_of(problem.values.size(), -1);  // by root
    const std::vector<bool> are_inside = values_inside(problem, order);
    for (const UsedGroup& group : used_groups(problem, groups, users_in(problem, order))) {
        if (are_inside[size_t(group.root)]) {
            continue;
        }
        buffer_of[size_t(group.root)] = int32_t(result.buffers.size());
        result.buffers.push_back({round_up(groups.size_bytes(group.root), problem.alignment_bytes),
                                  group.users.front(),
                                  {group.users.begin() + 1, group.users.end()},
                                  group.is_kept});
    }
    add_buffers_inside(problem, groups, order, result);
    const StepWaits waits = data_waits_of(problem, order, groups);
    for (size_t position = 0; position < order.size(); ++position) {
        for (const int32_t before : waits[position]) {
            result.extra_edges.emplace_back(before, int32_t(position));
        }
        const MemoryStep& step = problem.steps[size_t(order[position])];
        for (const int32_t input : step.in_place) {
            const int32_t output = step.writes[0];
            const int32_t from = buffer_of[size_t(groups.root(input))];
            const int32_t to = buffer_of[size_t(groups.root(output))];
            if (from >= 0 && to >= 0 && from != to && groups.spans_group(input) &&
                groups.spans_group(output)) {
                result.in_place.push_back({int32_t(position), from, to});
            }
        }
    }
    return result;
}

int64_t peak_in_order(const MemoryProblem& problem,
                      const ValueGroups& groups,
                      std::span<const int32_t> order,
                      const StepMoments& moments,
                      const std::vector<std::vector<int32_t>>& users) {
    struct Life {
        int64_t size_bytes = 0;
        int32_t first = -1;
        int32_t last = -1;
        bool is_kept = false;
    };
    std::vector<Life> lives(problem.values.size());  // by root
    for (int32_t value = 0; value < int32_t(users.size()); ++value) {
        Life& life = lives[size_t(groups.root(value))];
        const std::vector<int32_t>& own = users[size_t(value)];
        life.is_kept |= problem.values[size_t(value)].is_kept;
        if (!own.empty() && groups.is_placed(value)) {
            life.first = life.first < 0 ? own.front() : std::min(life.first, own.front());
            life.last = std::max(life.last, own.back());
        }
    }
    const auto count = size_t(moments.count());
    std::vector<int64_t> growth_bytes(count + 1, 0);  // before the moment
    std::vector<int64_t> output_bytes(count, 0);
    for (size_t root = 0; root < lives.size(); ++root) {
        Life& life = lives[root];
        if (life.first < 0) {
            continue;
        }
        life.size_bytes = round_up(groups.size_bytes(int32_t(root)), problem.alignment_bytes);
        output_bytes[size_t(life.first)] += life.size_bytes;
        if (life.is_kept || life.last > life.first) {
            growth_bytes[size_t(life.first) + 1] += life.size_bytes;
        }
        if (!life.is_kept && life.last > life.first) {
            growth_bytes[size_t(life.last) + 1] -= life.size_bytes;
        }
    }
    // Of the input that the step's result is written over.
    const auto saved_bytes = [&](const MemoryStep& step, int32_t moment) -> int64_t {
        for (const int32_t input : step.in_place) {
            const Life& from = lives[size_t(groups.root(input))];
            const bool dies = !from.is_kept && from.last == moment && from.first < from.last;
            if (dies && groups.root(input) != groups.root(step.writes[0]) &&
                groups.is_placed(step.writes[0]) && groups.spans_group(input) &&
                groups.spans_group(step.writes[0])) {
                return from.size_bytes;
            }
        }
        return 0;
    };
    int64_t alive = 0;
    int64_t peak = 0;
    for (int32_t position = 0; position < int32_t(order.size()); ++position) {
        const MemoryStep& step = problem.steps[size_t(order[size_t(position)])];
        for (int32_t at = moments.begin(position); at <= moments.end(position); ++at) {
            alive += growth_bytes[size_t(at)];
            const int64_t saved = step.inside == nullptr ? saved_bytes(step, at) : 0;
            peak = std::max(peak, alive + output_bytes[size_t(at)] - saved);
        }
    }
    return peak;
}

}  // namespace leat
