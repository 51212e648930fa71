// Peer: Taskflow, one task a node. run() hands the graph to its threads and blocks.
#include "executor.h"

#if defined(LEAT_HAVE_TASKFLOW)
#include <array>
#include <taskflow/taskflow.hpp>
#include <vector>

namespace leat::micro {
namespace {

class TaskflowGraph final : public PreparedGraph {
  public:
    TaskflowGraph(const Workload& workload, tf::Executor& executor) : executor_(executor) {
        const Graph& graph = *workload.graph;
        std::vector<tf::Task> tasks;
        tasks.reserve(graph.predecessor_count.size());
        for (int32_t node = 0; node < graph.node_count(); ++node) {
            const NodeBody body = workload.body;
            tasks.push_back(taskflow_.emplace([body, node] { body.call(body.context, node); }));
        }
        for (int32_t node = 0; node < graph.node_count(); ++node) {
            for (int32_t successor : graph.successors_of(node)) {
                tasks[size_t(node)].precede(tasks[size_t(successor)]);
            }
        }
    }

    void run() override { executor_.run(taskflow_).wait(); }

  private:
    tf::Executor& executor_;
    tf::Taskflow taskflow_;
};

class TaskflowExecutor final : public Executor {
  public:
    explicit TaskflowExecutor(int threads) : executor_(static_cast<size_t>(threads)) {}
    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<TaskflowGraph>(workload, executor_);
    }

  private:
    tf::Executor executor_;
};

std::unique_ptr<Executor> make_taskflow(const ExecutorSettings& settings) {
    return std::make_unique<TaskflowExecutor>(settings.threads);
}

std::string taskflow_version() {
    return std::string("Taskflow ") + tf::version();
}

constexpr std::array<ExecutorEntry, 1> kEntries = {ExecutorEntry{.name = "taskflow",
                                                                 .family = Family::kLibrary,
                                                                 .make = make_taskflow,
                                                                 .version = taskflow_version}};

}  // namespace

std::span<const ExecutorEntry> taskflow_entries() {
    return kEntries;
}

}  // namespace leat::micro

#else

namespace leat::micro {

std::span<const ExecutorEntry> taskflow_entries() {
    return {};
}

}  // namespace leat::micro

#endif
