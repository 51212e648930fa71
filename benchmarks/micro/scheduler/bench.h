// Bench: what the sections share - options, executors, results - and the loop that interleaves
// executors.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bodies.h"
#include "executor_list.h"
#include "options.h"
#include "results.h"

namespace leat::micro {

struct Contestant {
    ExecutorEntry entry;
    std::string name;  // as in the tables: the entry's, with its mode
    std::unique_ptr<Executor> executor;
};

struct Bench {
    Options options;
    std::vector<ExecutorEntry> entries;
    Results results;
    std::FILE* out = stdout;  // of tables and remarks
    int64_t wrong_runs = 0;

    // Executors with `threads` threads; those that know one thread only take part in series of one.
    std::vector<Contestant> contestants(int threads) const;
    // A tenth in quick runs.
    int32_t nodes(int32_t full) const { return options.quick ? full / 10 : full; }
    // For the sections that make no series for each number of threads.
    int most_threads() const;
};

// While it lives, the executor may pin the calling thread and keep workers awake. Afterwards,
// waits until helpers that spin for a while are parked, so that they do not disturb the next one.
class ActiveScope {
  public:
    explicit ActiveScope(Executor& executor) : executor_(executor) { executor_.activate(); }
    ~ActiveScope();
    ActiveScope(const ActiveScope&) = delete;
    ActiveScope& operator=(const ActiveScope&) = delete;

  private:
    Executor& executor_;
};

// One workload in every contestant.
std::vector<std::unique_ptr<PreparedGraph>> prepare_all(std::vector<Contestant>& contestants,
                                                        const Workload& workload);

void sleep_ns(int64_t duration_ns);
void sleep_until_ns(int64_t time_ns);  // of now_ns()

// Calls measure(contestant index, round) for all contestants in each round; the first one moves on
// from round to round, so that nobody always follows the same neighbour.
void interleave(size_t contestants, int rounds, const std::function<void(size_t, int)>& measure);

// Runs every graph in every executor, with every number of threads, and a body that checks
// exactly-once and order. Counts failures in wrong_runs, names them on stderr, and takes those
// executors out of the benchmark.
void check_executors(Bench& bench);

// One section each.
void measure_overhead(Bench& bench);
void measure_efficiency(Bench& bench);
void measure_metg(Bench& bench);
void measure_tiny(Bench& bench);
void measure_wake(Bench& bench);
void measure_memory(Bench& bench);
void measure_contention(Bench& bench);
void measure_idle(Bench& bench);
void measure_quota(Bench& bench);

}  // namespace leat::micro
