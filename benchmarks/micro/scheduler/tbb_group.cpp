// Peer: hand-made join counters on oneTBB's task_group.
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>

#include "join_counters.h"
#include "tbb_executors.h"

namespace leat::micro {
namespace {

template <bool kInline>
class GroupGraph final : public PreparedGraph {
  public:
    GroupGraph(const Workload& workload, tbb::task_arena& arena)
        : counters_(workload), arena_(arena) {}
    ~GroupGraph() noexcept override = default;

    void run() override {
        arena_.execute([this] {
            for (int32_t source : counters_.sources()) {
                spawn(source);
            }
            group_.wait();
        });
    }

  private:
    void spawn(int32_t node) {
        group_.run([this, node] {
            if constexpr (kInline) {
                counters_.execute_chain(node, [this](int32_t successor) { spawn(successor); });
            } else {
                counters_.execute(node, [this](int32_t successor) { spawn(successor); });
            }
        });
    }

    JoinCounters counters_;
    tbb::task_arena& arena_;
    tbb::task_group group_;
};

template <bool kInline>
class GroupExecutor final : public Executor {
  public:
    explicit GroupExecutor(int threads) : arena_(threads) {}
    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<GroupGraph<kInline>>(workload, arena_);
    }

  private:
    tbb::task_arena arena_;
};

constexpr std::array<ExecutorEntry, 3> kEntries = {
    ExecutorEntry{.name = "tbb-flow",
                  .family = Family::kLibrary,
                  .make = make_tbb_flow,
                  .version = tbb_version},
    ExecutorEntry{.name = "tbb-group",
                  .family = Family::kHandMade,
                  .make = make_tbb_group,
                  .version = tbb_version},
    ExecutorEntry{.name = "tbb-group-inline",
                  .family = Family::kHandMade,
                  .make = make_tbb_group_inline,
                  .version = tbb_version},
};

}  // namespace

std::unique_ptr<Executor> make_tbb_group(const ExecutorSettings& settings) {
    return std::make_unique<GroupExecutor<false>>(settings.threads);
}

std::unique_ptr<Executor> make_tbb_group_inline(const ExecutorSettings& settings) {
    return std::make_unique<GroupExecutor<true>>(settings.threads);
}

std::span<const ExecutorEntry> tbb_entries() {
    return kEntries;
}

}  // namespace leat::micro
