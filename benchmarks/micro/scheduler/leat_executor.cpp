// The gears of leat-scheduler. The gates look for the names leat-inline, leat-dynamic and
// leat-compiled.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "executor.h"
#include "leat/scheduler/executor.h"

namespace leat::micro {
namespace {

template <class T>
T value_or_exit(Result<T> result) {
    if (!result.ok()) {
        fmt::print(stderr, "leat: {}\n", result.error().message());
        std::exit(1);
    }
    return std::move(result).value();
}

// Costs that nobody stated are unknown: one pass places the tasks as if they took the same time.
scheduler::Program compile_graph(const Workload& workload, scheduler::Gear gear, int workers) {
    const Graph& graph = *workload.graph;
    scheduler::TaskDag dag;
    dag.reserve(graph.node_count(), graph.edge_count());
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        scheduler::Task task;
        if (!workload.costs_ns.empty()) {
            task.cost_ns = double(workload.costs_ns[size_t(node)]);
        }
        dag.add(task);
    }
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        for (const int32_t successor : graph.successors_of(node)) {
            dag.precede(scheduler::TaskId(node), scheduler::TaskId(successor));
        }
    }
    scheduler::CompileOptions options;
    options.workers = workers;
    options.gear = gear;
    return value_or_exit(scheduler::Program::compile(dag, options));
}

class LeatGraph final : public PreparedGraph {
  public:
    LeatGraph(scheduler::Executor& executor, const Workload& workload, scheduler::Gear gear)
        : executor_(executor),
          body_(workload.body),
          state_(compile_graph(workload, gear, executor.worker_count())) {}

    void run() override {
        const Status status = executor_.run(state_, {call, this});
        if (!status.ok()) {
            fmt::print(stderr, "leat: {}\n", status.message());
            std::exit(1);
        }
    }

  private:
    static bool call(void* self, scheduler::TaskId task, scheduler::TaskScope& /*scope*/) {
        const NodeBody& body = static_cast<const LeatGraph*>(self)->body_;
        return body.call(body.context, int32_t(task));
    }

    scheduler::Executor& executor_;
    const NodeBody body_;
    scheduler::ProgramState state_;
};

class LeatExecutor final : public Executor {
  public:
    LeatExecutor(const ExecutorSettings& settings, scheduler::Gear gear)
        : gear_(gear), executor_(options_for(settings)) {}

    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<LeatGraph>(executor_, workload, gear_);
    }

  private:
    static scheduler::ExecutorOptions options_for(const ExecutorSettings& settings) {
        scheduler::ExecutorOptions options;
        options.threads = settings.threads;
        if (settings.latency_mode) {
            options.spin = std::chrono::milliseconds(2);
        }
        return options;
    }

    const scheduler::Gear gear_;
    scheduler::Executor executor_;
};

template <scheduler::Gear gear>
std::unique_ptr<Executor> make_leat(const ExecutorSettings& settings) {
    return std::make_unique<LeatExecutor>(settings, gear);
}

constexpr ExecutorEntry entry_of(std::string_view name,
                                 std::unique_ptr<Executor> (*make)(const ExecutorSettings&),
                                 bool serial_only) {
    ExecutorEntry entry;
    entry.name = name;
    entry.family = Family::kLeat;
    entry.has_latency_mode = !serial_only;
    entry.serial_only = serial_only;
    entry.make = make;
    return entry;
}

constexpr ExecutorEntry kEntries[] = {
    entry_of("leat-inline", make_leat<scheduler::Gear::kInline>, true),
    entry_of("leat-compiled", make_leat<scheduler::Gear::kCompiled>, false),
    entry_of("leat-dynamic", make_leat<scheduler::Gear::kDynamic>, false),
};

}  // namespace

std::span<const ExecutorEntry> leat_entries() {
    return kEntries;
}

}  // namespace leat::micro
