#include "partition/domain_parts.h"

#include <algorithm>

#include "base/round_up.h"

namespace leat {
namespace {

// Places begin at multiples of at most this, so far as devices are known.
constexpr int64_t kPlaceBytes = 256;

}  // namespace

int64_t place_bytes(int64_t bytes) {
    return round_up(std::max<int64_t>(bytes, 1), kPlaceBytes);
}

DomainParts::DomainParts(const PartitionProblem& problem,
                         const Partition& partition,
                         const std::vector<int32_t>& rank_of_task,
                         int32_t domain,
                         OperandLife life)
    : problem_(problem),
      domain_(domain),
      life_(life),
      time_of_task_(size_t(problem.task_count), -1) {
    for (int32_t task = 0; task < problem.task_count; ++task) {
        if (domain_of(problem, partition, task) == domain) {
            tasks_.push_back(task);
        }
    }
    const auto rank = [&](int32_t task) { return rank_of_task[size_t(task)]; };
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
    for (size_t time = 0; time < tasks_.size(); ++time) {
        if (time == 0 || rank(tasks_[time]) != rank(tasks_[time - 1])) {
            begins_.push_back(int32_t(time));
        }
        time_of_task_[size_t(tasks_[time])] = int32_t(time);
        part_of_time_.push_back(int32_t(begins_.size()) - 1);
    }
    find_constants();
}

std::vector<int64_t> DomainParts::value_bytes(bool has_free_copies) const {
    std::vector<int64_t> changes(tasks_.size() + 1);
    std::vector<std::vector<int32_t>> readers(problem_.values.size());
    for (const scheduler::PlacementUse& use : problem_.uses) {
        readers[size_t(use.value)].push_back(use.reader);
    }
    for (size_t v = 0; v < readers.size(); ++v) {
        add_value(problem_.values[v], readers[v], has_free_copies, changes);
    }
    std::vector<int64_t> most_bytes(begins_.size());
    int64_t bytes = 0;
    for (size_t time = 0; time < tasks_.size(); ++time) {
        bytes += changes[time];
        int64_t& most = most_bytes[size_t(part_of_time_[time])];
        most = std::max(most, bytes);
    }
    return most_bytes;
}

void DomainParts::add_value(const scheduler::PlacementValue& value,
                            const std::vector<int32_t>& readers,
                            bool has_free_copies,
                            std::vector<int64_t>& changes) const {
    const bool is_made_here = is_here(value.producer);
    const int32_t own_part = is_made_here ? part_of(value.producer) : -1;
    int32_t last = -1;
    int32_t first = int32_t(tasks_.size());
    bool stays_inside = is_made_here;
    bool leaves = false;
    for (const int32_t reader : readers) {
        if (!is_here(reader)) {
            leaves = true;
            continue;
        }
        const bool is_inside = part_of(reader) == own_part || life_ == OperandLife::kTasks;
        first = std::min(first, begins_[size_t(part_of(reader))]);
        stays_inside = stays_inside && is_inside;
        last = std::max(last, is_inside ? time_of_task_[size_t(reader)] : end_of(part_of(reader)));
    }
    if (last < 0 && !is_made_here) {
        return;
    }
    first = has_free_copies ? 0 : first;
    if (is_made_here) {
        const bool is_inside = life_ == OperandLife::kTasks || (stays_inside && !leaves);
        first = is_inside ? time_of_task_[size_t(value.producer)] : begins_[size_t(own_part)];
        last = std::max({last, first, leaves ? end_of(own_part) : 0});
        last = leaves && has_free_copies ? int32_t(tasks_.size()) - 1 : last;
    }
    changes[size_t(first)] += place_bytes(value.bytes);
    changes[size_t(last) + 1] -= place_bytes(value.bytes);
}

void DomainParts::find_constants() {
    std::vector<int32_t> index(problem_.constant_bytes.size(), -1);
    const auto domains = size_t(problem_.domain_count);
    for (const ConstantUse& use : problem_.constant_uses) {
        if (!is_here(use.task)) {
            continue;
        }
        int32_t& at = index[size_t(use.constant)];
        const int32_t part = part_of(use.task);
        if (at < 0) {
            at = int32_t(constants_.size());
            const bool may_stream =
                !problem_.may_stream.empty() &&
                problem_.may_stream[size_t(use.constant) * domains + size_t(domain_)];
            constants_.push_back({use.constant,
                                  place_bytes(problem_.constant_bytes[size_t(use.constant)]),
                                  may_stream, use.task, part, part});
        }
        ReadConstant& own = constants_[size_t(at)];
        if (time_of_task_[size_t(use.task)] < time_of_task_[size_t(own.first_task)]) {
            own.first_task = use.task;
        }
        own.first_part = std::min(own.first_part, part);
        own.last_part = std::max(own.last_part, part);
    }
    std::stable_sort(
        constants_.begin(), constants_.end(), [this](const ReadConstant& a, const ReadConstant& b) {
            return time_of_task_[size_t(a.first_task)] < time_of_task_[size_t(b.first_task)];
        });
}

}  // namespace leat
