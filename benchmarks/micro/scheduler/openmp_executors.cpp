// Peers on OpenMP tasks: hand-made counters, and `depend` clauses.
#include "executor.h"

#if defined(_OPENMP) && __has_include(<omp.h>)
#include <fmt/core.h>
#include <omp.h>

#include <array>

#include "join_counters.h"

namespace leat::micro {
namespace {

class CounterGraph final : public PreparedGraph {
  public:
    CounterGraph(const Workload& workload, int threads) : counters_(workload), threads_(threads) {}

    void run() override {
#pragma omp parallel num_threads(threads_)
#pragma omp single
        for (int32_t source : counters_.sources()) {
            spawn(source);
        }
    }

  private:
    void spawn(int32_t node) {
#pragma omp task firstprivate(node)
        counters_.execute_chain(node, [this](int32_t successor) { spawn(successor); });
    }

    JoinCounters counters_;
    int threads_;
};

// The graph is made again in each run: OpenMP 4.5 cannot keep one.
class DependGraph final : public PreparedGraph {
  public:
    DependGraph(const Workload& workload, int threads)
        : predecessors_(predecessors_of(*workload.graph)),
          nodes_(workload.graph->node_count()),
          body_(workload.body),
          places_(size_t(nodes_)),
          threads_(threads) {}

    void run() override {
#pragma omp parallel num_threads(threads_)
#pragma omp single
        for (int32_t node = 0; node < nodes_; ++node) {
            spawn(node);
        }
    }

  private:
    void spawn(int32_t node) {
        [[maybe_unused]] const int32_t* before = predecessors_.of(node).data();
        [[maybe_unused]] const auto count = int64_t(predecessors_.of(node).size());
        [[maybe_unused]] char* places = places_.data();  // in the clause only
        const NodeBody body = body_;
#pragma omp task firstprivate(node, body) depend(iterator(int64_t i = 0          \
                                                          : count),              \
                                                 in                              \
                                                 : places[before[i]]) depend(out \
                                                                             : places[node])
        body.call(body.context, node);
    }

    Predecessors predecessors_;
    int32_t nodes_;
    NodeBody body_;
    std::vector<char> places_;  // only their addresses count
    int threads_;
};

template <typename Prepared>
class OpenMpExecutor final : public Executor {
  public:
    explicit OpenMpExecutor(int threads) : threads_(threads) {}
    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<Prepared>(workload, threads_);
    }
    // Ends the pool's threads, which would spin for milliseconds.
    void deactivate() override { omp_pause_resource_all(omp_pause_soft); }

  private:
    int threads_;
};

template <typename Prepared>
std::unique_ptr<Executor> make_openmp(const ExecutorSettings& settings) {
    return std::make_unique<OpenMpExecutor<Prepared>>(settings.threads);
}

std::string openmp_version() {
    return fmt::format("OpenMP {} ({} {})", _OPENMP,
#ifdef __clang__
                       "libomp of clang", __clang_major__);
#else
                       "libgomp of GCC", __GNUC__);
#endif
}

// `depend` on a fan of many predecessors takes quadratic time.
constexpr int32_t kDependNodes = 20'000;

constexpr std::array<ExecutorEntry, 2> kEntries = {
    ExecutorEntry{.name = "omp-counters",
                  .family = Family::kHandMade,
                  .make = make_openmp<CounterGraph>,
                  .version = openmp_version},
    ExecutorEntry{.name = "omp-depend",
                  .family = Family::kRebuilding,
                  .max_nodes = kDependNodes,
                  .make = make_openmp<DependGraph>,
                  .version = openmp_version},
};

}  // namespace

std::span<const ExecutorEntry> openmp_entries() {
    return kEntries;
}

}  // namespace leat::micro

#else

namespace leat::micro {

std::span<const ExecutorEntry> openmp_entries() {
    return {};
}

}  // namespace leat::micro

#endif
