// The compiled reference: every node is placed on a worker when the graph is prepared. A worker
// runs its list in order and publishes how far it is; a node waits until another worker's counter
// has reached a value. Waits that follow from earlier ones are removed by vector clocks, and a
// worker publishes only where somebody waits. It does not adapt: a late worker delays all.
#include <algorithm>
#include <utility>

#include "reference_executors.h"
#include "team.h"

namespace leat::micro {
namespace {

struct Step {
    NodeBody body;
    int32_t node = 0;
    uint16_t wait_count = 0;
    bool publishes = false;
};
static_assert(sizeof(Step) == 24);

// Until `worker` has finished its steps [0, position).
struct Wait {
    int32_t worker = 0;
    int32_t position = 0;
};

struct WorkerList {
    std::vector<Step> steps;
    std::vector<Wait> waits;  // of all steps, in order

    // What the counter gains in a run: the steps, and one more when the worker leaves the plan.
    int64_t points() const { return int64_t(steps.size()) + 1; }
};

// Never reset: a run adds points() to it.
struct alignas(128) Progress {
    std::atomic<int64_t> value{0};
};

struct CompiledPlan {
    explicit CompiledPlan(int workers)
        : lists(static_cast<size_t>(workers)), progress(static_cast<size_t>(workers)) {}

    std::vector<WorkerList> lists;
    std::vector<Progress> progress;
    int64_t runs = 0;
    bool is_parallel = false;  // more than one list has steps
};

std::vector<std::vector<int32_t>> nodes_by_level(const Graph& graph) {
    std::vector<size_t> level(graph.predecessor_count.size());
    std::vector<std::vector<int32_t>> levels;
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        const size_t own = level[size_t(node)];
        levels.resize(std::max(levels.size(), own + 1));
        levels[own].push_back(node);
        for (int32_t successor : graph.successors_of(node)) {
            level[size_t(successor)] = std::max(level[size_t(successor)], own + 1);
        }
    }
    return levels;
}

// Appends nodes to the workers' lists and keeps what each worker knows of the others: clock[v] is
// how many steps of worker v are finished for sure.
class ListBuilder {
  public:
    ListBuilder(const Workload& workload, CompiledPlan& plan)
        : body_(workload.body),
          predecessors_(predecessors_of(*workload.graph)),
          plan_(plan),
          workers_(plan.lists.size()),
          clocks_(workers_ * workers_),
          places_(workload.graph->predecessor_count.size()),
          clock_after_(places_.size() * workers_) {}

    // Preconditions: all predecessors were appended before.
    void append(int32_t node, size_t worker) {
        int32_t* clock = &clocks_[worker * workers_];
        WorkerList& list = plan_.lists[worker];
        list.steps.push_back({.body = body_, .node = node});
        for (int32_t predecessor : predecessors_.of(node)) {
            const Place& place = places_[size_t(predecessor)];
            if (clock[place.worker] < place.position + 1) {
                list.waits.push_back({int32_t(place.worker), place.position + 1});
                ++list.steps.back().wait_count;
                plan_.lists[place.worker].steps[size_t(place.position)].publishes = true;
                const int32_t* learned = &clock_after_[size_t(predecessor) * workers_];
                std::transform(clock, clock + workers_, learned, clock,
                               [](int32_t a, int32_t b) { return std::max(a, b); });
            }
        }
        places_[size_t(node)] = {worker, clock[worker]++};
        std::copy_n(clock, workers_, &clock_after_[size_t(node) * workers_]);
    }

  private:
    struct Place {
        size_t worker = 0;
        int32_t position = 0;
    };
    NodeBody body_;
    Predecessors predecessors_;
    CompiledPlan& plan_;
    size_t workers_;
    std::vector<int32_t> clocks_;  // [worker][worker]
    std::vector<Place> places_;
    std::vector<int32_t> clock_after_;  // [node][worker]
};

class CompiledReference final : public Executor {
  public:
    explicit CompiledReference(int threads)
        : threads_(threads), team_(threads, [this](int worker) { walk(size_t(worker)); }) {}

    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override;
    void activate() override { team_.bind_cpus(); }
    void deactivate() override { team_.release_cpus(); }

    void run(CompiledPlan& plan) {
        plan_ = &plan;
        if (!plan.is_parallel) {
            walk(0);
            return;
        }
        team_.start();
        walk(0);
        // Also helpers without steps: none may still be inside walk() when the next run starts.
        for (size_t worker = 1; worker < plan.lists.size(); ++worker) {
            wait_for(plan.progress[worker], (plan.runs + 1) * plan.lists[worker].points());
        }
        ++plan.runs;
    }

  private:
    static void wait_for(const Progress& progress, int64_t value) {
        constexpr int kPausesBeforeYield = 10'000;
        for (int i = 0; progress.value.load(std::memory_order_acquire) < value; ++i) {
            if (i < kPausesBeforeYield) {
                spin_pause();
            } else {
                std::this_thread::yield();  // the other worker may need this CPU
            }
        }
    }

    void walk(size_t worker) {
        CompiledPlan& plan = *plan_;
        const WorkerList& list = plan.lists[worker];
        const int64_t runs = plan.runs;
        int64_t done = runs * list.points();
        std::atomic<int64_t>& progress = plan.progress[worker].value;
        const Wait* wait = list.waits.data();
        for (const Step& step : list.steps) {
            for (uint16_t i = 0; i < step.wait_count; ++i, ++wait) {
                const auto other = size_t(wait->worker);
                wait_for(plan.progress[other], runs * plan.lists[other].points() + wait->position);
            }
            step.body.call(step.body.context, step.node);
            ++done;
            if (step.publishes) {
                progress.store(done, std::memory_order_release);
            }
        }
        progress.store(done + 1, std::memory_order_release);
    }

    const int threads_;
    CompiledPlan* plan_ = nullptr;  // ordered for helpers by start()
    Team team_;                     // last: its threads use everything above
};

class PreparedCompiled final : public PreparedGraph {
  public:
    PreparedCompiled(CompiledReference& executor, CompiledPlan plan)
        : executor_(executor), plan_(std::move(plan)) {}
    void run() override { executor_.run(plan_); }

  private:
    CompiledReference& executor_;
    CompiledPlan plan_;
};

std::unique_ptr<PreparedGraph> CompiledReference::prepare(const Workload& workload) {
    CompiledPlan plan(threads_);
    ListBuilder builder(workload, plan);
    for (const std::vector<int32_t>& nodes : nodes_by_level(*workload.graph)) {
        for (size_t i = 0; i < nodes.size(); ++i) {
            builder.append(nodes[i], i * size_t(threads_) / nodes.size());
        }
    }
    const auto busy = std::count_if(plan.lists.begin(), plan.lists.end(),
                                    [](const WorkerList& list) { return !list.steps.empty(); });
    plan.is_parallel = busy > 1;
    return std::make_unique<PreparedCompiled>(*this, std::move(plan));
}

}  // namespace

std::unique_ptr<Executor> make_compiled_reference(const ExecutorSettings& settings) {
    return std::make_unique<CompiledReference>(settings.threads);
}

}  // namespace leat::micro
