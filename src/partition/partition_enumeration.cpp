#include "partition/partition_enumeration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace leat {
namespace {

constexpr int32_t kMostBits = 64;  // of a mask

// What is decided for the first tasks. Times are lower bounds of what any order gives.
struct Decided {
    std::vector<double> end_ns;         // by task: of its part, as far as it is known
    std::vector<double> unit_ns;        // by unit: what it has to do
    std::vector<double> copies_ns;      // by domain: what its queue for copies has to do
    std::vector<uint64_t> memories;     // by value: where it is by then
    std::vector<double> part_begin_ns;  // by part
    std::vector<double> part_cost_ns;   // by part, with its submission
    std::vector<int32_t> unit_of_part;
    std::vector<uint64_t> sources;       // by task: the parts that it has its operands from, a mask
    std::vector<uint64_t> part_sources;  // by part: of its tasks, without itself
};

class Enumeration {
  public:
    Enumeration(const PartitionProblem& problem,
                double known_ns,
                const EnumerationLimits& limits,
                const std::function<double(const Partition&)>& judge)
        : problem_(problem),
          judge_(judge),
          nearness_(limits.nearness),
          steps_left_(limits.most_steps),
          judgements_left_(limits.most_judgements),
          known_ns_(known_ns),
          inputs_(size_t(problem.task_count)),
          tails_ns_(size_t(problem.task_count)),
          rest_ns_(size_t(problem.task_count) + 1),
          only_ns_((size_t(problem.task_count) + 1) * problem.units.size()),
          decided_(size_t(problem.task_count) + 1) {
        partition_.unit_of_task.assign(size_t(problem.task_count), 0);
        partition_.part_of_task.assign(size_t(problem.task_count), kNoPart);
        for (const scheduler::PlacementUse& use : problem.uses) {
            inputs_[size_t(use.reader)].push_back(use.value);
        }
        find_rests();
        find_links();
        decided_[0].end_ns.resize(size_t(problem.task_count));
        decided_[0].unit_ns.resize(problem.units.size());
        decided_[0].copies_ns.resize(size_t(problem.domain_count));
        decided_[0].memories.resize(problem.values.size());
        decided_[0].sources.resize(size_t(problem.task_count));
    }

    // False: the steps were not enough.
    bool run() {
        choose(0);
        return steps_left_ >= 0 && judgements_left_ > 0;
    }

  private:
    // The unit that alone can run the task; -1: there are several.
    int32_t only_unit(int32_t task) const {
        int32_t only = -1;
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            if (std::isfinite(problem_.cost(task, unit))) {
                if (only >= 0) {
                    return -1;
                }
                only = unit;
            }
        }
        return only;
    }

    // What is left behind each task at least.
    void find_rests() {
        const size_t units = problem_.units.size();
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            const double* costs = &problem_.cost_ns[size_t(task) * units];
            least_ns_.push_back(*std::min_element(costs, costs + units));
        }
        for (int32_t task = problem_.task_count - 1; task >= 0; --task) {
            const auto at = size_t(task);
            for (const int32_t value : inputs_[at]) {
                double& tail = tails_ns_[size_t(problem_.values[size_t(value)].producer)];
                tail = std::max(tail, tails_ns_[at] + least_ns_[at]);
            }
            rest_ns_[at] = rest_ns_[at + 1] + least_ns_[at];
            for (size_t unit = 0; unit < units; ++unit) {
                only_ns_[at * units + unit] = only_ns_[(at + 1) * units + unit];
            }
            if (const int32_t only = only_unit(task); only >= 0) {
                only_ns_[at * units + size_t(only)] += problem_.cost(task, only);
            }
        }
    }

    double link_ns(int32_t from, int32_t to, int64_t bytes) const {
        const int32_t link =
            problem_.link_between[size_t(from) * size_t(problem_.domain_count) + size_t(to)];
        if (link == scheduler::PlacementProblem::kNoLink || bytes == 0) {
            return 0;
        }
        const scheduler::PlacementLink& rates = problem_.links[size_t(link)];
        return rates.latency_ns + double(bytes) * 1e9 / rates.bytes_per_s;
    }

    int32_t domain_of(int32_t task) const {
        return problem_.units[size_t(partition_.unit_of_task[size_t(task)])].domain;
    }

    // From one memory to the other, by the host's.
    double moving_ns(int32_t value, int32_t from, int32_t to) const {
        const double* links = &links_ns_[size_t(value) * size_t(problem_.domain_count) * 2];
        return from == to ? 0 : links[2 * size_t(from)] + links[2 * size_t(to) + 1];
    }

    void find_links() {
        for (const scheduler::PlacementValue& value : problem_.values) {
            for (int32_t domain = 0; domain < problem_.domain_count; ++domain) {
                links_ns_.push_back(link_ns(domain, kHostDomain, value.bytes));
                links_ns_.push_back(link_ns(kHostDomain, domain, value.bytes));
            }
        }
    }

    // The copies that bring the value to the task, where they are new.
    void book_copies(int32_t value, int32_t task, Decided& now) const {
        const int32_t home = domain_of(problem_.values[size_t(value)].producer);
        const int32_t to = domain_of(task);
        uint64_t& memories = now.memories[size_t(value)];
        const auto is_new = [&memories](int32_t domain) {
            const uint64_t bit = uint64_t{1} << domain;
            return (std::exchange(memories, memories | bit) & bit) == 0;
        };
        is_new(home);
        if (to != home && is_new(kHostDomain)) {
            now.copies_ns[size_t(home)] += moving_ns(value, home, kHostDomain);
        }
        if (to != home && is_new(to)) {
            now.copies_ns[size_t(to)] += moving_ns(value, kHostDomain, to);
        }
    }

    void book(int32_t task, int32_t unit, int32_t part, Decided& now) const {
        for (const int32_t value : inputs_[size_t(task)]) {
            book_copies(value, task, now);
        }
        double cost_ns = problem_.cost(task, unit);
        if (part == int32_t(now.unit_of_part.size())) {
            cost_ns += problem_.units[size_t(unit)].submit_ns;
            now.unit_of_part.push_back(unit);
            now.part_sources.push_back(0);
            now.part_begin_ns.push_back(0);
            now.part_cost_ns.push_back(0);
        }
        now.unit_ns[size_t(unit)] += cost_ns;
        if (part != kNoPart) {
            now.part_cost_ns[size_t(part)] += cost_ns;
        }
    }

    // When the task has all operands that its part does not make itself.
    double operands_ns(int32_t task, const Decided& now) const {
        const int32_t part = partition_.part_of_task[size_t(task)];
        double ready_ns = 0;
        for (const int32_t value : inputs_[size_t(task)]) {
            const int32_t producer = problem_.values[size_t(value)].producer;
            if (part == kNoPart || partition_.part_of_task[size_t(producer)] != part) {
                ready_ns =
                    std::max(ready_ns, now.end_ns[size_t(producer)] +
                                           moving_ns(value, domain_of(producer), domain_of(task)));
            }
        }
        return ready_ns;
    }

    // Ends of the tasks up to this one: a part that waits for more, or has more to do, ends later.
    void find_ends(int32_t last, Decided& now) const {
        for (bool is_changed = true; is_changed;) {
            is_changed = false;
            for (int32_t task = 0; task <= last; ++task) {
                const int32_t part = partition_.part_of_task[size_t(task)];
                double end_ns = operands_ns(task, now);
                if (part == kNoPart) {
                    end_ns += problem_.cost(task, partition_.unit_of_task[size_t(task)]);
                } else {
                    double& begin_ns = now.part_begin_ns[size_t(part)];
                    begin_ns = std::max(begin_ns, end_ns);
                    end_ns = begin_ns + now.part_cost_ns[size_t(part)];
                }
                is_changed = is_changed || end_ns > now.end_ns[size_t(task)];
                now.end_ns[size_t(task)] = end_ns;
            }
        }
    }

    double bound_ns(int32_t task, const Decided& now) const {
        const size_t units = problem_.units.size();
        double bound = *std::max_element(now.copies_ns.begin(), now.copies_ns.end());
        for (int32_t before = 0; before <= task; ++before) {
            bound = std::max(bound, now.end_ns[size_t(before)]);
        }
        for (int32_t later = task + 1; later < problem_.task_count; ++later) {
            for (const int32_t value : inputs_[size_t(later)]) {
                const int32_t producer = problem_.values[size_t(value)].producer;
                if (producer <= task) {
                    bound =
                        std::max(bound, now.end_ns[size_t(producer)] + least_ns_[size_t(later)] +
                                            tails_ns_[size_t(later)]);
                }
            }
        }
        double all_ns = rest_ns_[size_t(task) + 1];
        for (size_t unit = 0; unit < units; ++unit) {
            bound =
                std::max(bound, now.unit_ns[unit] + only_ns_[(size_t(task) + 1) * units + unit]);
            all_ns += now.unit_ns[unit];
        }
        return std::max(bound, all_ns / double(units));
    }

    // False: the task's part would wait for a part that waits for it.
    bool add_sources(int32_t task, int32_t part, Decided& now) const {
        uint64_t before = 0;
        for (const int32_t value : inputs_[size_t(task)]) {
            const int32_t producer = problem_.values[size_t(value)].producer;
            const int32_t from = partition_.part_of_task[size_t(producer)];
            before |= from == kNoPart ? now.sources[size_t(producer)] : uint64_t{1} << from;
        }
        now.sources[size_t(task)] = before;
        if (part == kNoPart) {
            return true;
        }
        const uint64_t own = uint64_t{1} << part;
        // Of what its operands went through on the host, the part may be.
        uint64_t& sources = now.part_sources[size_t(part)];
        sources |= before & ~own;
        uint64_t all = sources;
        for (uint64_t former = 0; all != former;) {
            former = all;
            for (size_t other = 0; other < now.part_sources.size(); ++other) {
                all |= (all >> other & 1U) != 0 ? now.part_sources[other] : 0;
            }
        }
        return (all & own) == 0 && !comes_back(task, part, now);
    }

    // By the host alone.
    bool comes_back(int32_t task, int32_t part, const Decided& now) const {
        const auto& inputs = inputs_[size_t(task)];
        return std::any_of(inputs.begin(), inputs.end(), [&](int32_t value) {
            const auto producer = size_t(problem_.values[size_t(value)].producer);
            return partition_.part_of_task[producer] == kNoPart &&
                   (now.sources[producer] >> part & 1U) != 0;
        });
    }

    // Where a task may go, and the bound that this gives.
    struct Choice {
        double bound_ns = 0;
        int32_t unit = 0;
        int32_t part = kNoPart;
    };

    // Infinite: it cannot go there. Leaves what is decided behind the task.
    double place(int32_t task, int32_t unit, int32_t part) {
        Decided& now = decided_[size_t(task) + 1];
        now = decided_[size_t(task)];
        partition_.unit_of_task[size_t(task)] = unit;
        partition_.part_of_task[size_t(task)] = part;
        book(task, unit, part, now);
        if (!add_sources(task, part, now)) {
            return std::numeric_limits<double>::infinity();
        }
        find_ends(task, now);
        return bound_ns(task, now);
    }

    void add_choice(int32_t task, int32_t unit, int32_t part, std::vector<Choice>& choices) {
        --steps_left_;
        const double bound = place(task, unit, part);
        if (bound < known_ns_ / nearness_) {
            choices.push_back({bound, unit, part});
        }
    }

    // The most promising first.
    void choose(int32_t task) {
        if (steps_left_ < 0 || judgements_left_ <= 0) {
            return;
        }
        if (task == problem_.task_count) {
            --judgements_left_;
            partition_.part_count = int32_t(decided_[size_t(task)].unit_of_part.size());
            known_ns_ = judge_(partition_);
            return;
        }
        std::vector<Choice> choices;
        find_choices(task, choices);
        std::stable_sort(choices.begin(), choices.end(),
                         [](const Choice& a, const Choice& b) { return a.bound_ns < b.bound_ns; });
        for (const Choice& choice : choices) {
            if (choice.bound_ns < known_ns_ / nearness_) {
                place(task, choice.unit, choice.part);
                choose(task + 1);
            }
        }
    }

    void find_choices(int32_t task, std::vector<Choice>& choices) {
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            const PartitionUnit& own = problem_.units[size_t(unit)];
            if (!std::isfinite(problem_.cost(task, unit))) {
                continue;
            }
            if (!own.runs_parts) {
                add_choice(task, unit, kNoPart, choices);
                continue;
            }
            const auto parts = int32_t(decided_[size_t(task)].unit_of_part.size());
            // Without a submission two parts, one behind the other, take no longer than both as
            // one.
            for (int32_t part = own.submit_ns > 0 ? 0 : parts; part <= parts; ++part) {
                if (part == parts || decided_[size_t(task)].unit_of_part[size_t(part)] == unit) {
                    add_choice(task, unit, part, choices);
                }
            }
        }
    }

    const PartitionProblem& problem_;
    const std::function<double(const Partition&)>& judge_;
    const double nearness_;
    int64_t steps_left_;
    int64_t judgements_left_;
    double known_ns_;
    std::vector<std::vector<int32_t>> inputs_;  // values, by task
    std::vector<double> links_ns_;              // [value][domain]: to the host's, and from there
    std::vector<double> least_ns_;              // by task: on any unit
    std::vector<double> tails_ns_;              // by task: what waits for it
    std::vector<double> rest_ns_;               // by task: it and all later ones
    std::vector<double> only_ns_;               // [task][unit]: of those, what runs nowhere else
    std::vector<Decided> decided_;              // by how many tasks
    Partition partition_;
};

}  // namespace

bool enumerate_partitions(const PartitionProblem& problem,
                          double known_ns,
                          const EnumerationLimits& limits,
                          const std::function<double(const Partition&)>& judge) {
    return problem.domain_count <= kMostBits && problem.task_count <= kMostBits &&
           Enumeration(problem, known_ns, limits, judge).run();
}

}  // namespace leat
