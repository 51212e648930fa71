#include "partition/domain_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "memory/order/order_bound.h"
#include "memory/order/order_graph.h"

namespace leat {
namespace {

constexpr int32_t kUnplaced = -1;

// Groups in an order in which they can run, by group; kUnplaced where they wait for each other.
std::vector<int32_t> ranks_of(const scheduler::PlacementProblem& groups) {
    std::vector<int32_t> missing(size_t(groups.task_count));
    std::vector<std::vector<int32_t>> readers(size_t(groups.task_count));
    for (const scheduler::PlacementUse& use : groups.uses) {
        ++missing[size_t(use.reader)];
        readers[size_t(groups.values[size_t(use.value)].producer)].push_back(use.reader);
    }
    std::vector<int32_t> ready;
    for (int32_t group = 0; group < groups.task_count; ++group) {
        if (missing[size_t(group)] == 0) {
            ready.push_back(group);
        }
    }
    std::vector<int32_t> ranks(size_t(groups.task_count), kUnplaced);
    for (size_t i = 0; i < ready.size(); ++i) {
        ranks[size_t(ready[i])] = int32_t(i);
        for (const int32_t reader : readers[size_t(ready[i])]) {
            if (--missing[size_t(reader)] == 0) {
                ready.push_back(reader);
            }
        }
    }
    return ranks;
}

// Values in the domain as buffers: those made there by their groups, others by a copy of their own
// that comes after their group and before all readers. Steps are two for each group, its copies'
// and its own, so that copies can wait until they are needed.
class DomainBuffers {
  public:
    DomainBuffers(const PartitionProblem& problem, const Partition& partition, int32_t domain)
        : grouped_(grouped_problem(problem, partition)),
          ranks_(ranks_of(grouped_.problem)),
          is_host_(domain == kHostDomain),
          is_here_(size_t(grouped_.problem.task_count)) {
        for (size_t v = 0; v < grouped_.value_of.size(); ++v) {
            const bool is_given = is_host_ && !problem.host_bytes.empty();
            sizes_.push_back(is_given ? problem.host_bytes[size_t(grouped_.value_of[v])]
                                      : grouped_.problem.values[v].bytes);
        }
        for (int32_t task = 0; task < problem.task_count; ++task) {
            is_here_[size_t(grouped_.group_of_task[size_t(task)])] =
                domain_of(problem, partition, task) == domain;
        }
    }

    bool has_circle() const {
        return std::find(ranks_.begin(), ranks_.end(), kUnplaced) != ranks_.end();
    }

    int64_t peak_bytes() const {
        const scheduler::PlacementProblem& groups = grouped_.problem;
        std::vector<std::vector<int32_t>> readers(groups.values.size());
        for (const scheduler::PlacementUse& use : groups.uses) {
            readers[size_t(use.value)].push_back(use.reader);
        }
        std::vector<int32_t> copies_before(size_t(groups.task_count) + 1);  // by rank
        std::vector<int32_t> first_reader(groups.values.size(), kUnplaced);
        for (size_t v = 0; v < groups.values.size(); ++v) {
            const int32_t rank = first_rank_here(readers[v]);
            if (rank != kUnplaced && !is_here_[size_t(groups.values[v].producer)]) {
                first_reader[v] = rank;
                ++copies_before[size_t(rank) + 1];
            }
        }
        for (size_t rank = 1; rank < copies_before.size(); ++rank) {
            copies_before[rank] += copies_before[rank - 1];
        }
        // A group's step comes behind the copies for it and for all groups before it.
        const auto step_of_rank = [&](int32_t rank) {
            return rank + copies_before[size_t(rank) + 1];
        };
        OrderProblem order;
        order.step_count = groups.task_count + copies_before.back();
        std::vector<int32_t> copies_made(size_t(groups.task_count));  // by rank
        for (size_t v = 0; v < groups.values.size(); ++v) {
            const int32_t producer = groups.values[v].producer;
            OrderedBuffer buffer;
            buffer.writer = step_of_rank(ranks_[size_t(producer)]);
            const bool is_made_here = is_here_[size_t(producer)];
            if (first_reader[v] != kUnplaced) {
                const int32_t rank = first_reader[v];
                const int32_t copy =
                    rank + copies_before[size_t(rank)] + copies_made[size_t(rank)]++;
                order.extra_edges.emplace_back(buffer.writer, copy);
                buffer.writer = copy;
            }
            for (const int32_t reader : readers[v]) {
                const int32_t step = step_of_rank(ranks_[size_t(reader)]);
                if (is_here_[size_t(reader)]) {
                    buffer.readers.push_back(step);
                } else {
                    order.extra_edges.emplace_back(step_of_rank(ranks_[size_t(producer)]), step);
                }
            }
            if (is_made_here || first_reader[v] != kUnplaced) {
                buffer.size_bytes = sizes_[v];
                order.buffers.push_back(std::move(buffer));
            }
        }
        if (is_host_) {
            add_in_place(order);
        }
        const OrderGraph graph(order);
        return PeakBounds(graph).of_segment(0, order.step_count);
    }

  private:
    // Whatever has the size of a result that is written while it is read for the last time.
    static void add_in_place(OrderProblem& order) {
        std::vector<std::vector<int32_t>> read(size_t(order.step_count));  // buffers, by step
        for (size_t b = 0; b < order.buffers.size(); ++b) {
            for (const int32_t step : order.buffers[b].readers) {
                read[size_t(step)].push_back(int32_t(b));
            }
        }
        for (size_t b = 0; b < order.buffers.size(); ++b) {
            const OrderedBuffer& result = order.buffers[b];
            for (const int32_t operand : read[size_t(result.writer)]) {
                if (order.buffers[size_t(operand)].size_bytes == result.size_bytes) {
                    order.in_place.push_back({result.writer, operand, int32_t(b)});
                }
            }
        }
    }

    int32_t first_rank_here(const std::vector<int32_t>& readers) const {
        int32_t first = kUnplaced;
        for (const int32_t reader : readers) {
            const int32_t rank = ranks_[size_t(reader)];
            if (is_here_[size_t(reader)] && (first == kUnplaced || rank < first)) {
                first = rank;
            }
        }
        return first;
    }

    const GroupedProblem grouped_;
    const std::vector<int32_t> ranks_;  // by group
    const bool is_host_;
    std::vector<bool> is_here_;   // by group
    std::vector<int64_t> sizes_;  // by value of the groups
};

// That count there, each once.
std::vector<bool> constants_in(const PartitionProblem& problem,
                               const Partition& partition,
                               int32_t domain) {
    std::vector<bool> are_there(problem.constant_bytes.size());
    for (const ConstantUse& use : problem.constant_uses) {
        if (domain != kHostDomain && domain_of(problem, partition, use.task) == domain) {
            are_there[size_t(use.constant)] = true;
        }
    }
    return are_there;
}

int64_t constant_bytes_in(const PartitionProblem& problem,
                          const Partition& partition,
                          int32_t domain) {
    int64_t sum_bytes = 0;
    const std::vector<bool> constants = constants_in(problem, partition, domain);
    for (size_t i = 0; i < constants.size(); ++i) {
        sum_bytes += constants[i] ? problem.constant_bytes[i] : 0;
    }
    return sum_bytes;
}

// If everything of all requests were alive at once: cheap, and nearly always enough to know that it
// fits.
int64_t most_bytes(const PartitionProblem& problem, const Partition& partition, int32_t domain) {
    std::vector<bool> are_there(problem.values.size());
    for (const scheduler::PlacementUse& use : problem.uses) {
        const int32_t producer = problem.values[size_t(use.value)].producer;
        if (domain_of(problem, partition, use.reader) == domain ||
            domain_of(problem, partition, producer) == domain) {
            are_there[size_t(use.value)] = true;
        }
    }
    int64_t request_bytes = 0;
    for (size_t v = 0; v < are_there.size(); ++v) {
        request_bytes += are_there[v] ? problem.values[v].bytes : 0;
    }
    return constant_bytes_in(problem, partition, domain) + problem.request_count * request_bytes;
}

MemoryShortage describe(const PartitionProblem& problem,
                        const Partition& partition,
                        int32_t domain,
                        int64_t needed_bytes) {
    MemoryShortage shortage{domain, needed_bytes, problem.capacity_bytes[size_t(domain)]};
    int64_t largest_bytes = -1;
    const std::vector<bool> constants = constants_in(problem, partition, domain);
    for (size_t i = 0; i < constants.size(); ++i) {
        if (constants[i] && problem.constant_bytes[i] > largest_bytes) {
            largest_bytes = problem.constant_bytes[i];
            shortage.constant = int32_t(i);
        }
    }
    const auto consider = [&](int32_t value, int32_t task) {
        const int64_t bytes = problem.values[size_t(value)].bytes;
        if (domain_of(problem, partition, task) == domain && bytes > largest_bytes) {
            largest_bytes = bytes;
            shortage.constant = -1;
            shortage.value = value;
        }
    };
    for (const scheduler::PlacementUse& use : problem.uses) {
        consider(use.value, use.reader);
        consider(use.value, problem.values[size_t(use.value)].producer);
    }
    return shortage;
}

// Where else the task is cheapest; -1: nowhere.
int32_t unit_elsewhere(const PartitionProblem& problem, int32_t task, int32_t domain) {
    int32_t cheapest = -1;
    for (int32_t unit = 0; unit < int32_t(problem.units.size()); ++unit) {
        if (problem.units[size_t(unit)].domain != domain &&
            std::isfinite(problem.cost(task, unit)) &&
            (cheapest < 0 || problem.cost(task, unit) < problem.cost(task, cheapest))) {
            cheapest = unit;
        }
    }
    return cheapest;
}

// What is left of the task's part are the tasks before it and those behind it, two parts.
void move_task(const PartitionProblem& problem, Partition& partition, int32_t task, int32_t unit) {
    const int32_t part = partition.part_of_task[size_t(task)];
    if (part != kNoPart) {
        const int32_t rest = partition.part_count++;
        for (int32_t later = task + 1; later < problem.task_count; ++later) {
            int32_t& part_of_later = partition.part_of_task[size_t(later)];
            part_of_later = part_of_later == part ? rest : part_of_later;
        }
    }
    partition.unit_of_task[size_t(task)] = unit;
    partition.part_of_task[size_t(task)] =
        problem.units[size_t(unit)].runs_parts ? partition.part_count++ : kNoPart;
}

// The task of the domain that loses least time for each byte that it takes along, its share of
// constants and its own values in each request; -1: none can go.
int32_t cheapest_to_move(const PartitionProblem& problem,
                         const Partition& partition,
                         int32_t domain) {
    std::vector<double> bytes(size_t(problem.task_count));
    std::vector<int32_t> users(problem.constant_bytes.size());
    for (const ConstantUse& use : problem.constant_uses) {
        users[size_t(use.constant)] += domain_of(problem, partition, use.task) == domain ? 1 : 0;
    }
    for (const ConstantUse& use : problem.constant_uses) {
        bytes[size_t(use.task)] += double(problem.constant_bytes[size_t(use.constant)]) /
                                   std::max(users[size_t(use.constant)], 1);
    }
    std::vector<bool> is_counted(problem.values.size());
    for (const scheduler::PlacementUse& use : problem.uses) {
        const auto value = size_t(use.value);
        const double value_bytes = double(problem.values[value].bytes) * problem.request_count;
        bytes[size_t(use.reader)] += value_bytes;
        if (!is_counted[value]) {
            is_counted[value] = true;
            bytes[size_t(problem.values[value].producer)] += value_bytes;
        }
    }
    int32_t best = -1;
    double best_ns_per_byte = std::numeric_limits<double>::infinity();
    for (int32_t task = 0; task < problem.task_count; ++task) {
        const int32_t unit = partition.unit_of_task[size_t(task)];
        if (problem.units[size_t(unit)].domain != domain || bytes[size_t(task)] == 0) {
            continue;
        }
        const int32_t other = unit_elsewhere(problem, task, domain);
        if (other < 0) {
            continue;
        }
        const double lost_ns =
            std::max(problem.cost(task, other) - problem.cost(task, unit), 0.0) + 1;
        if (lost_ns / bytes[size_t(task)] < best_ns_per_byte) {
            best = task;
            best_ns_per_byte = lost_ns / bytes[size_t(task)];
        }
    }
    return best;
}

}  // namespace

int64_t least_bytes(const PartitionProblem& problem, const Partition& partition, int32_t domain) {
    const DomainBuffers buffers(problem, partition, domain);
    if (buffers.has_circle()) {
        return std::numeric_limits<int64_t>::max();
    }
    return problem.request_count * buffers.peak_bytes() +
           constant_bytes_in(problem, partition, domain);
}

std::optional<MemoryShortage> find_shortage(const PartitionProblem& problem,
                                            const Partition& partition) {
    for (size_t domain = 0; domain < problem.capacity_bytes.size(); ++domain) {
        if (problem.capacity_bytes[domain] <= 0 ||
            most_bytes(problem, partition, int32_t(domain)) <= problem.capacity_bytes[domain]) {
            continue;
        }
        const int64_t bytes = least_bytes(problem, partition, int32_t(domain));
        if (bytes > problem.capacity_bytes[domain]) {
            return describe(problem, partition, int32_t(domain), bytes);
        }
    }
    return std::nullopt;
}

std::optional<MemoryShortage> move_until_it_fits(const PartitionProblem& problem,
                                                 Partition& partition) {
    // Between two looks at the bound, which costs more than a move, a share of the tasks moves.
    const int32_t moves_at_a_time = 1 + problem.task_count / 64;
    for (int32_t round = 0; round <= problem.task_count; ++round) {
        const std::optional<MemoryShortage> shortage = find_shortage(problem, partition);
        if (!shortage) {
            return std::nullopt;
        }
        for (int32_t i = 0; i < moves_at_a_time; ++i) {
            const int32_t task = cheapest_to_move(problem, partition, shortage->domain);
            if (task < 0) {
                return i == 0 ? shortage : find_shortage(problem, partition);
            }
            move_task(problem, partition, task, unit_elsewhere(problem, task, shortage->domain));
        }
    }
    return find_shortage(problem, partition);
}

}  // namespace leat
