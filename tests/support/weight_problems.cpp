#include "weight_problems.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/split_mix.h"

namespace leat::testing {
namespace {

// What one decision, or several, asks of the machine.
struct Traffic {
    explicit Traffic(int domains)
        : domains(size_t(domains)),
          bytes(this->domains * this->domains),
          waits_ns(this->domains),
          taken(this->domains) {}

    size_t domains;
    std::vector<double> bytes;     // [reader][memory]
    std::vector<double> waits_ns;  // latencies, by reader
    std::vector<int64_t> taken;    // by memory
};

// The share of each memory in what one reader reads, and the bytes there.
struct Placing {
    int memory;
    double part;
    int64_t bytes;
};

std::vector<Placing> placing_for(const WeightUse& use,
                                 WeightDecision decision,
                                 const WeightReader& reader) {
    const int64_t count = int64_t(use.readers.size());
    switch (decision.policy) {
        case WeightPolicy::kHome:
            return {{int(decision.home), 1, use.bytes}};
        case WeightPolicy::kReplicate:
            return {{int(reader.domain), 1, use.bytes}};
        case WeightPolicy::kPartition:
            return {{int(reader.domain), 1,
                     std::min(use.bytes, int64_t(std::ceil(double(use.bytes) * reader.share)))}};
        case WeightPolicy::kInterleave:
            break;
    }
    std::vector<Placing> pages;
    for (const WeightReader& memory : use.readers) {
        pages.push_back(
            {int(memory.domain), 1.0 / double(count),
             std::min(use.bytes, int64_t(std::ceil(double(use.bytes) * (1.0 / double(count)))))});
    }
    return pages;
}

void add_traffic(const WeightMachine& machine,
                 const WeightUse& use,
                 WeightDecision decision,
                 Traffic& traffic) {
    std::vector<int64_t> taken(traffic.domains);
    if (use.readers.empty()) {
        taken[size_t(decision.home)] = use.bytes;
    }
    for (const WeightReader& reader : use.readers) {
        for (const Placing& placing : placing_for(use, decision, reader)) {
            const size_t pair = size_t(reader.domain) * traffic.domains + size_t(placing.memory);
            traffic.bytes[pair] +=
                use.reads_per_run * reader.share * double(use.bytes) * placing.part;
            traffic.waits_ns[size_t(reader.domain)] +=
                use.reads_per_run * placing.part * machine.paths[pair].latency_ns;
            taken[size_t(placing.memory)] = placing.bytes;
        }
    }
    for (size_t i = 0; i < taken.size(); ++i) {
        traffic.taken[i] += taken[i];
    }
}

double time_of(const WeightMachine& machine, const Traffic& traffic) {
    double time = 0;
    std::vector<double> through(machine.links_bytes_per_ns.size());
    std::vector<double> from(traffic.domains);
    for (size_t reader = 0; reader < traffic.domains; ++reader) {
        double reader_ns = traffic.waits_ns[reader];
        for (size_t memory = 0; memory < traffic.domains; ++memory) {
            const size_t pair = reader * traffic.domains + memory;
            reader_ns += traffic.bytes[pair] / machine.paths[pair].bytes_per_ns;
            from[memory] += traffic.bytes[pair];
            if (machine.paths[pair].link >= 0) {
                through[size_t(machine.paths[pair].link)] += traffic.bytes[pair];
            }
        }
        time = std::max(time, reader_ns);
    }
    for (size_t memory = 0; memory < traffic.domains; ++memory) {
        time = std::max(time, from[memory] / machine.domains[memory].bytes_per_ns);
    }
    for (size_t link = 0; link < through.size(); ++link) {
        time = std::max(time, through[link] / machine.links_bytes_per_ns[link]);
    }
    return time;
}

bool fits(const WeightMachine& machine, const Traffic& traffic) {
    for (size_t i = 0; i < traffic.domains; ++i) {
        if (traffic.taken[i] > machine.domains[i].budget_bytes) {
            return false;
        }
    }
    return true;
}

std::vector<WeightDecision> decisions_for(const WeightProblem& problem, const WeightUse& use) {
    std::vector<WeightDecision> decisions;
    if (use.readers.size() > 1) {
        decisions.push_back({WeightPolicy::kReplicate, {}});
        decisions.push_back({WeightPolicy::kInterleave, {}});
        if (use.is_dividable) {
            decisions.push_back({WeightPolicy::kPartition, {}});
        }
    }
    for (size_t home = 0; home < problem.machine.domains.size(); ++home) {
        decisions.push_back({WeightPolicy::kHome, MemoryDomainId(int32_t(home))});
    }
    return decisions;
}

// Time and bytes only grow with every constant, so what is over a limit already is left out.
void search_all(const WeightProblem& problem, size_t next, const Traffic& traffic, double& best) {
    if (next == problem.uses.size()) {
        best = time_of(problem.machine, traffic);
        return;
    }
    const WeightUse& use = problem.uses[next];
    for (const WeightDecision decision : decisions_for(problem, use)) {
        Traffic with = traffic;
        add_traffic(problem.machine, use, decision, with);
        if (fits(problem.machine, with) && time_of(problem.machine, with) < best) {
            search_all(problem, next + 1, with, best);
        }
    }
}

double between(SplitMix& random, double low, double high) {
    return low + (high - low) * random.unit();
}

std::vector<WeightReader> random_readers(const std::vector<int>& cpus, SplitMix& random) {
    std::vector<WeightReader> readers;
    const int32_t kind = random.below(4);
    for (const int domain : cpus) {
        if (kind > 1 || random.below(2) == 0) {  // half of the time by all
            readers.push_back({MemoryDomainId(domain), 1});
        }
    }
    if (readers.empty()) {
        readers.push_back({MemoryDomainId(cpus[size_t(random.below(int32_t(cpus.size())))]), 1});
    }
    return readers;
}

WeightMachine random_machine(SplitMix& random) {
    WeightMachine machine;
    const int count = 2 + random.below(3);
    machine.domains.resize(size_t(count));
    const bool has_slow = random.below(3) == 0;
    const double bytes_per_ns = between(random, 40, 250);
    const double latency_ns = between(random, 70, 130);
    const bool is_even = random.below(2) == 0;
    for (int i = 0; i < count; ++i) {
        WeightMachine::Domain& domain = machine.domains[size_t(i)];
        domain.bytes_per_ns = bytes_per_ns * (is_even ? 1 : between(random, 0.5, 1.5));
        if (has_slow && i == count - 1) {
            domain.has_cpus = false;
            domain.bytes_per_ns *= between(random, 0.1, 0.5);
        }
    }
    const bool has_links = random.below(2) == 0;
    const double distance = between(random, 11, 40);
    for (int reader = 0; reader < count; ++reader) {
        for (int memory = 0; memory < count; ++memory) {
            const WeightMachine::Domain& domain = machine.domains[size_t(memory)];
            const double ratio =
                reader == memory ? 1 : (is_even ? distance : between(random, 11, 40)) / 10;
            WeightPath path;
            path.bytes_per_ns = domain.bytes_per_ns / (domain.has_cpus ? ratio : 1);
            path.latency_ns = latency_ns * ratio * (domain.has_cpus ? 1 : 2.5);
            // Two packages of consecutive domains.
            const bool is_crossing = (reader < count / 2) != (memory < count / 2);
            path.link = has_links && is_crossing ? int(reader < count / 2) : -1;
            machine.paths.push_back(path);
        }
    }
    if (has_links) {
        machine.links_bytes_per_ns.assign(2, bytes_per_ns * between(random, 0.3, 1.5));
    }
    return machine;
}

WeightMachine measured_machine(int readers,
                               const std::vector<std::vector<double>>& bytes_per_ns,
                               const std::vector<std::vector<double>>& latency_ns) {
    WeightMachine machine;
    const size_t count = bytes_per_ns.front().size();
    for (size_t memory = 0; memory < count; ++memory) {
        double most = 0;
        for (int reader = 0; reader < readers; ++reader) {
            most = std::max(most, bytes_per_ns[size_t(reader)][memory]);
        }
        machine.domains.push_back({most, 0, int(memory) < readers});
    }
    for (size_t reader = 0; reader < count; ++reader) {
        // Nobody reads from memory-only nodes; the figures have to be there.
        const size_t row = std::min(reader, size_t(readers) - 1);
        for (size_t memory = 0; memory < count; ++memory) {
            machine.paths.push_back({bytes_per_ns[row][memory], latency_ns[row][memory], -1});
        }
    }
    return machine;
}

}  // namespace

WeightMachine cascade_lake_machine() {
    return measured_machine(2, {{122.1, 51.3}, {51.3, 122.0}}, {{81.2, 130.2}, {130.2, 81.1}});
}

WeightMachine epyc_9224_machine() {
    return measured_machine(4,
                            {{99.8, 99.8, 76.6, 76.7, 17.6},
                             {101.2, 101.3, 77.1, 77.1, 17.6},
                             {76.9, 77.6, 101.1, 99.6, 17.6},
                             {76.7, 77.4, 101.0, 100.9, 17.6}},
                            {{107.5, 117.1, 200.7, 200.7, 279.4},
                             {115.8, 106.8, 199.9, 199.9, 278.8},
                             {200.0, 200.1, 106.8, 115.8, 363.8},
                             {199.0, 199.0, 115.6, 105.9, 363.5}});
}

std::vector<WeightUse> random_weight_uses(const WeightMachine& machine, int count, uint64_t seed) {
    SplitMix random(seed);
    std::vector<int> cpus;
    for (int i = 0; i < machine.size(); ++i) {
        if (machine.domains[size_t(i)].has_cpus) {
            cpus.push_back(i);
        }
    }
    std::vector<WeightUse> uses(size_t(std::max(count, 0)));
    for (WeightUse& use : uses) {
        use.bytes = int64_t(std::exp2(between(random, 10, 26)));
        use.reads_per_run = random.below(3) == 0 ? double(random.below(16)) : 1;
        use.readers = random_readers(cpus, random);
        if (random.below(2) == 0) {
            continue;
        }
        // The operator is divided: even or uneven parts, which in some can be packed alone.
        use.is_dividable = random.below(4) != 0;
        double rest = 1;
        const bool is_even = random.below(2) == 0;
        for (size_t i = 0; i < use.readers.size(); ++i) {
            const auto left = double(use.readers.size() - i);
            const double share = left == 1 ? rest
                                 : is_even ? rest / left
                                           : rest * between(random, 0.2, 0.8);
            use.readers[i].share = share;
            rest -= share;
        }
    }
    return uses;
}

void set_budgets(WeightProblem& problem, double budget_ratio) {
    double total = 0;
    for (const WeightUse& use : problem.uses) {
        total += double(use.bytes);
    }
    for (WeightMachine::Domain& domain : problem.machine.domains) {
        domain.budget_bytes = int64_t(total * budget_ratio);
    }
}

WeightProblem random_weight_problem(uint64_t seed, int most_uses) {
    SplitMix random(seed);
    WeightProblem problem;
    problem.machine = random_machine(random);
    const int count = 1 + random.below(most_uses);
    problem.uses = random_weight_uses(problem.machine, count, random.next());
    const auto domains = double(problem.machine.size());
    const bool is_tight = random.below(2) == 0;
    set_budgets(problem,
                is_tight ? between(random, 1.0, 1.5) / domains : between(random, 0.3, 1.3));
    for (WeightMachine::Domain& domain : problem.machine.domains) {
        domain.budget_bytes = int64_t(double(domain.budget_bytes) * between(random, 0.8, 1.3));
    }
    return problem;
}

WeightTime weight_time(const WeightProblem& problem, std::span<const WeightDecision> decisions) {
    WeightTime result;
    Traffic all(problem.machine.size());
    for (size_t i = 0; i < problem.uses.size(); ++i) {
        Traffic one(problem.machine.size());
        add_traffic(problem.machine, problem.uses[i], decisions[i], one);
        result.alone_ns += time_of(problem.machine, one);
        add_traffic(problem.machine, problem.uses[i], decisions[i], all);
    }
    result.fits = fits(problem.machine, all);
    result.read_ns = time_of(problem.machine, all);
    result.taken_bytes = all.taken;
    return result;
}

std::optional<double> exhaustive_weight_time(const WeightProblem& problem) {
    // Big constants first leave out more.
    WeightProblem sorted = problem;
    std::stable_sort(sorted.uses.begin(), sorted.uses.end(),
                     [](const WeightUse& a, const WeightUse& b) { return a.bytes > b.bytes; });
    double best = std::numeric_limits<double>::infinity();
    search_all(sorted, 0, Traffic(problem.machine.size()), best);
    return std::isinf(best) ? std::nullopt : std::optional(best);
}

}  // namespace leat::testing
