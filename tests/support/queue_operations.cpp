#include "queue_operations.h"

#include <algorithm>
#include <map>

namespace leat::queues {
namespace {

double link_ns(const PartitionProblem& problem, int32_t from, int32_t to, int64_t bytes) {
    const int32_t link =
        problem.link_between[size_t(from) * size_t(problem.domain_count) + size_t(to)];
    if (link < 0 || bytes == 0) {
        return 0;
    }
    const scheduler::PlacementLink& rates = problem.links[size_t(link)];
    return rates.latency_ns + double(bytes) * 1e9 / rates.bytes_per_s;
}

class OperationWriter {
  public:
    OperationWriter(const PartitionProblem& problem, const Partition& partition)
        : problem_(problem), partition_(partition) {
        std::map<int32_t, int> operation_of_part;
        for (int32_t task = 0; task < problem.task_count; ++task) {
            const int32_t part = partition.part_of_task[size_t(task)];
            const auto known = operation_of_part.find(part);
            if (part < 0 || known == operation_of_part.end()) {
                operation_of_task_.push_back(int(operations_.size()));
                operation_of_part.try_emplace(part, operation_of_task_.back());
                operations_.emplace_back();
                operations_.back().lane = unit_of(task);
                operations_.back().group = task;
                operations_.back().cost_ns = part < 0 ? 0 : unit(task).submit_ns;
            } else {
                operation_of_task_.push_back(known->second);
            }
            operations_[size_t(operation_of_task_.back())].cost_ns +=
                problem.cost(task, unit_of(task));
        }
        for (int32_t value = 0; value < int32_t(problem.values.size()); ++value) {
            add_value(value);
        }
    }

    std::vector<Operation> take() { return std::move(operations_); }

  private:
    int32_t unit_of(int32_t task) const { return partition_.unit_of_task[size_t(task)]; }
    const PartitionUnit& unit(int32_t task) const { return problem_.units[size_t(unit_of(task))]; }
    int copies_of(int32_t domain) const { return int(problem_.units.size()) + domain; }

    bool lies_outside(int32_t value) const {
        const auto& callers = problem_.callers_values;
        if (std::find(callers.begin(), callers.end(), value) != callers.end()) {
            return true;
        }
        const int32_t maker = problem_.values[size_t(value)].producer;
        return !unit(maker).runs_parts &&
               std::any_of(problem_.overlays.begin(), problem_.overlays.end(),
                           [&](const ValueOverlay& overlay) {
                               return overlay.value == value &&
                                      (overlay.below < 0 || lies_outside(overlay.below));
                           });
    }

    int add_move(int lane, double cost_ns, int32_t value, int32_t domain, bool up, int after) {
        operations_.push_back({lane, cost_ns, {{after, 0}}, -1, value, domain, up});
        return int(operations_.size()) - 1;
    }

    void add_value(int32_t value) {
        const auto& [producer, bytes] = problem_.values[size_t(value)];
        const int made = operation_of_task_[size_t(producer)];
        const int32_t home = unit(producer).domain;
        std::map<int32_t, int> there = {{home, made}};
        int arena_copy = -1;
        for (const scheduler::PlacementUse& use : problem_.uses) {
            const int reader = operation_of_task_[size_t(use.reader)];
            if (use.value != value || reader == made) {
                continue;
            }
            const int32_t domain = unit(use.reader).domain;
            if (there.count(domain) == 0 && there.count(kHostDomain) == 0) {
                there[kHostDomain] = add_move(copies_of(home), download_ns(problem_, home, bytes),
                                              value, home, false, made);
            }
            if (there.count(domain) == 0) {
                there[domain] = add_move(copies_of(domain), upload_ns(problem_, domain, bytes),
                                         value, domain, true, there[kHostDomain]);
            }
            int from = there[domain];
            if (domain == kHostDomain && unit(use.reader).runs_parts && lies_outside(value)) {
                arena_copy = arena_copy >= 0 ? arena_copy
                                             : add_move(0, arena_copy_ns(problem_, bytes), value,
                                                        kHostDomain, true, from);
                from = arena_copy;
            }
            const bool waits_for_submission =
                partition_.part_of_task[size_t(use.reader)] == kAnyPart &&
                operations_[size_t(from)].lane != operations_[size_t(reader)].lane;
            operations_[size_t(reader)].before.push_back(
                {from, waits_for_submission ? unit(use.reader).submit_ns : 0});
        }
    }

    const PartitionProblem& problem_;
    const Partition& partition_;
    std::vector<int> operation_of_task_;
    std::vector<Operation> operations_;
};

}  // namespace

double download_ns(const PartitionProblem& problem, int32_t domain, int64_t bytes) {
    return domain == kHostDomain ? 0 : link_ns(problem, domain, kHostDomain, bytes);
}
double upload_ns(const PartitionProblem& problem, int32_t domain, int64_t bytes) {
    return domain == kHostDomain ? 0 : link_ns(problem, kHostDomain, domain, bytes);
}
double arena_copy_ns(const PartitionProblem& problem, int64_t bytes) {
    return double(bytes) / problem.arena_copy_bytes_per_s * 1e9;
}

std::vector<Operation> operations_of(const PartitionProblem& problem, const Partition& partition) {
    return OperationWriter(problem, partition).take();
}

}  // namespace leat::queues
