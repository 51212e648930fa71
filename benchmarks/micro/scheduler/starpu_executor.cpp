// Peer: StarPU, codelets that only call the body. Its workers poll, so they are paused while
// others are measured. The graph is submitted again in each run: StarPU cannot keep one.
#include "executor.h"

#if defined(LEAT_HAVE_STARPU)
#include <fmt/core.h>
#include <starpu.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "base/check.h"

namespace leat::micro {
namespace {

struct Call {
    NodeBody body;
    int32_t node = 0;
};

void run_call(void* /*buffers*/[], void* argument) {
    const Call& call = *static_cast<const Call*>(argument);
    call.body.call(call.body.context, call.node);
}

class StarpuGraph final : public PreparedGraph {
  public:
    StarpuGraph(const Workload& workload, starpu_codelet& codelet)
        : codelet_(codelet),
          predecessors_(predecessors_of(*workload.graph)),
          tasks_(workload.graph->predecessor_count.size()) {
        for (int32_t node = 0; node < workload.graph->node_count(); ++node) {
            calls_.push_back({workload.body, node});
        }
    }

    void run() override {
        // All tasks exist before the first may run and be freed.
        for (size_t node = 0; node < tasks_.size(); ++node) {
            starpu_task* task = starpu_task_create();
            task->cl = &codelet_;
            task->cl_arg = &calls_[node];
            task->cl_arg_size = sizeof(Call);
            tasks_[node] = task;
        }
        for (size_t node = 0; node < tasks_.size(); ++node) {
            std::vector<starpu_task*>& before = before_;
            before.clear();
            for (int32_t predecessor : predecessors_.of(int32_t(node))) {
                before.push_back(tasks_[size_t(predecessor)]);
            }
            if (!before.empty()) {
                starpu_task_declare_deps_array(tasks_[node], unsigned(before.size()),
                                               before.data());
            }
        }
        for (size_t i = tasks_.size(); i > 0; --i) {
            const int error = starpu_task_submit(tasks_[i - 1]);
            LEAT_CHECK(error == 0, "starpu_task_submit: error {}", error);
        }
        starpu_task_wait_for_all();
    }

  private:
    starpu_codelet& codelet_;
    Predecessors predecessors_;
    std::vector<Call> calls_;
    std::vector<starpu_task*> tasks_;
    std::vector<starpu_task*> before_;
};

// One at a time in a process: StarPU's state is global.
class StarpuExecutor final : public Executor {
  public:
    explicit StarpuExecutor(int threads) {
        setenv("STARPU_SILENT", "1", 0);
        starpu_conf configuration{};
        starpu_conf_init(&configuration);
        configuration.precedence_over_environment_variables = 1;
        configuration.ncpus = threads;
        configuration.ncuda = 0;
        configuration.nopencl = 0;
        configuration.sched_policy_name = "lws";
        const int error = starpu_init(&configuration);
        LEAT_CHECK(error == 0, "starpu_init: error {}", error);
        starpu_codelet_init(&codelet_);
        codelet_.cpu_funcs[0] = run_call;
        codelet_.name = "node";
        starpu_pause();
    }
    ~StarpuExecutor() override {
        starpu_resume();
        starpu_shutdown();
    }
    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<StarpuGraph>(workload, codelet_);
    }
    void activate() override { starpu_resume(); }
    void deactivate() override { starpu_pause(); }

  private:
    starpu_codelet codelet_{};
};

std::unique_ptr<Executor> make_starpu(const ExecutorSettings& settings) {
    return std::make_unique<StarpuExecutor>(settings.threads);
}

std::string starpu_version() {
    int major = 0;
    int minor = 0;
    int release = 0;
    starpu_get_version(&major, &minor, &release);
    return fmt::format("StarPU {}.{}.{}", major, minor, release);
}

constexpr int32_t kStarpuNodes = 5'000;  // at 1 to 4 us a task

constexpr std::array<ExecutorEntry, 1> kEntries = {ExecutorEntry{.name = "starpu",
                                                                 .family = Family::kRebuilding,
                                                                 .max_nodes = kStarpuNodes,
                                                                 .make = make_starpu,
                                                                 .version = starpu_version}};

}  // namespace

std::span<const ExecutorEntry> starpu_entries() {
    return kEntries;
}

}  // namespace leat::micro

#else

namespace leat::micro {

std::span<const ExecutorEntry> starpu_entries() {
    return {};
}

}  // namespace leat::micro

#endif
