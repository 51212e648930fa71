#include "task_graph/task_graph_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "gears/find_circle.h"
#include "leat/scheduler/topology.h"
#include "task_graph/task_graph_control.h"

namespace leat::scheduler::detail {
namespace {

// Handing a callable over to the blocking pool, and learning that it has ended.
constexpr double kPostCostNs = 2000;
constexpr double kFinishCostNs = 100;

// What a graph and the graphs inside it have in common.
struct Shared {
    const ExecutorReport* executor = nullptr;
    bool is_traced = false;
    int max_blocking_threads = 1;
    std::shared_ptr<BlockingPool> pool;
};

class PlanBuilder {
  public:
    PlanBuilder(std::shared_ptr<const TaskGraphData> graph, Shared& shared)
        : plan_(std::make_shared<GraphPlan>()), data_(*graph), shared_(shared) {
        plan_->graph = std::move(graph);
    }

    Result<std::shared_ptr<const GraphPlan>> build() {
        LEAT_RETURN_IF_ERROR(Status(data_.error));
        add_nodes();
        for (int32_t node = 0; node < data_.node_count(); ++node) {
            Status status = compile_parts(node);
            if (status.ok()) {
                status = check_domain(node);
            }
            if (!status.ok()) {
                return std::move(status).with_node(record(node).name);
            }
        }
        LEAT_RETURN_IF_ERROR(check_consumers());
        add_tasks();
        add_order();
        LEAT_RETURN_IF_ERROR(check_circles());
        LEAT_RETURN_IF_ERROR(compile_program());
        finish();
        return std::shared_ptr<const GraphPlan>(std::move(plan_));
    }

  private:
    struct TaskPair {
        TaskId first;  // both the same but for a node in the blocking pool
        TaskId last;
    };

    const NodeRecord& record(int32_t node) const { return data_.nodes[size_t(node)]; }
    NodePlan& planned(int32_t node) { return plan_->nodes[size_t(node)]; }

    void add_nodes() {
        plan_->nodes.resize(data_.nodes.size());
        plan_->inputs.reserve(data_.inputs.size());
        for (int32_t node = 0; node < data_.node_count(); ++node) {
            const NodeRecord& from = record(node);
            NodePlan& to = planned(node);
            to.body = from.body.get();
            to.first_input = int32_t(plan_->inputs.size());
            to.input_count = from.input_count;
            to.has_value = from.has_value();
            for (int32_t i = 0; i < from.input_count; ++i) {
                const int32_t producer = data_.inputs[size_t(from.first_input) + size_t(i)].node;
                plan_->inputs.push_back(producer);
                ++planned(producer).readers;
            }
        }
        for (int32_t node = 0; node < data_.node_count(); ++node) {
            NodePlan& to = planned(node);
            to.is_kept = to.has_value && (record(node).is_sink || to.readers == 0);
            if (record(node).is_source()) {
                plan_->sources.push_back(node);
            } else if (to.is_kept) {
                plan_->results.push_back(node);
            }
        }
        plan_->takes_source.resize(data_.nodes.size(), false);
        domains_.reserve(data_.nodes.size());
        domain_indices_.resize(data_.nodes.size(), Task::kAnyDomain);
    }

    // Compiles the sub-graphs of a node.
    Status compile_parts(int32_t node) {
        domains_.push_back(record(node).domain);
        const ControlBody* control = record(node).control;
        if (control == nullptr) {
            return {};
        }
        if (record(node).domain.kind() == Domain::Kind::kBlocking) {
            return invalid_argument("a sub-graph cannot run in the blocking pool")
                .with_hint("put nodes of the sub-graph there");
        }
        planned(node).first_child = int32_t(plan_->children.size());
        for (const SubgraphPart& part : control->parts()) {
            LEAT_ASSIGN_OR_RETURN(auto child, PlanBuilder(part.graph, shared_).build());
            // Its caller is the thread that runs this node.
            if (child->has_caller_node) {
                domains_.back() = Domain::caller();
            }
            plan_->children.push_back(std::move(child));
        }
        return {};
    }

    Status check_domain(int32_t node) {
        const Domain domain = domains_[size_t(node)];
        plan_->has_caller_node |= domain.kind() == Domain::Kind::kCaller;
        if (domain.kind() != Domain::Kind::kNumaNode) {
            return {};
        }
        const std::vector<ComputeDomain>& known = shared_.executor->domains;
        const auto found = std::find_if(
            known.begin(), known.end(),
            [&](const ComputeDomain& candidate) { return candidate.numa_node == domain.node(); });
        if (domain.node() < 0 || (found == known.end() && !known.empty())) {
            std::string nodes;
            for (const ComputeDomain& candidate : known) {
                nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", candidate.numa_node);
            }
            return invalid_argument("a NUMA node whose CPUs the executor does not have")
                .with_found(std::to_string(domain.node()))
                .with_needed(nodes.empty() ? "0 or more" : nodes);
        }
        domain_indices_[size_t(node)] =
            known.empty() ? Task::kAnyDomain : int32_t(found - known.begin());
        ++plan_->numa_hints;
        return {};
    }

    // Whether input `index` of a node takes its value away.
    bool needs_only_consumer(int32_t node, int32_t index) const {
        const NodeRecord& from = record(node);
        if (data_.inputs[size_t(from.first_input) + size_t(index)].needs_only_consumer) {
            return true;
        }
        const ControlBody* control = from.control;
        if (control == nullptr || control->owns_arguments() || index < control->leading_inputs()) {
            return false;
        }
        const int32_t first = plan_->nodes[size_t(node)].first_child;
        for (size_t part = 0; part < control->parts().size(); ++part) {
            const int32_t source =
                control->parts()[part].sources[size_t(index) - size_t(control->leading_inputs())];
            if (plan_->children[size_t(first) + part]->takes_source[size_t(source)]) {
                return true;
            }
        }
        return false;
    }

    Status check_consumers() {
        for (int32_t node = 0; node < data_.node_count(); ++node) {
            for (int32_t i = 0; i < record(node).input_count; ++i) {
                if (!needs_only_consumer(node, i)) {
                    continue;
                }
                const int32_t producer =
                    plan_->inputs[size_t(planned(node).first_input) + size_t(i)];
                if (!planned(producer).may_move()) {
                    return not_the_only_consumer(node, producer);
                }
                plan_->takes_source[size_t(producer)] = record(producer).is_source();
            }
        }
        return {};
    }

    Status not_the_only_consumer(int32_t node, int32_t producer) {
        const NodePlan& from = planned(producer);
        return invalid_argument(
                   "takes the value of '{}' away (T&&, or T by value of a type that cannot be "
                   "copied)",
                   record(producer).name)
            .with_node(record(node).name)
            .with_found(fmt::format("{} consumers{}", from.readers,
                                    from.is_kept ? ", and the value is kept as a result" : ""))
            .with_needed("one consumer")
            .with_hint("take it as const T&");
    }

    void add_tasks() {
        dag_.reserve(data_.node_count(), int64_t(data_.inputs.size() + data_.order.size()));
        tasks_.reserve(data_.nodes.size());
        plan_->tasks.reserve(data_.nodes.size());
        for (int32_t node = 0; node < data_.node_count(); ++node) {
            const NodeRecord& from = record(node);
            if (from.is_source()) {
                tasks_.push_back({TaskId(-1), TaskId(-1)});
                continue;
            }
            Task task;
            task.cost_ns = from.cost_ns;
            task.priority = from.priority;
            if (domains_[size_t(node)].kind() == Domain::Kind::kBlocking) {
                add_blocking_tasks(node, task);
                continue;
            }
            if (domains_[size_t(node)].kind() == Domain::Kind::kCaller) {
                task.affinity = Affinity::kCaller;
            }
            task.domain = domain_indices_[size_t(node)];
            const TaskId id = add_task(node, TaskPhase::kCall, task);
            tasks_.push_back({id, id});
        }
    }

    void add_blocking_tasks(int32_t node, Task task) {
        if (shared_.pool == nullptr) {
            shared_.pool = std::make_shared<BlockingPool>(shared_.max_blocking_threads);
        }
        plan_->pool = shared_.pool;
        const PointId point = dag_.add_point();
        planned(node).job = int32_t(plan_->jobs.size());
        plan_->jobs.push_back({node, point});
        task.cost_ns = kPostCostNs;
        const TaskId post = add_task(node, TaskPhase::kPost, task);
        task.cost_ns = kFinishCostNs;
        const TaskId finish = add_task(node, TaskPhase::kFinish, task);
        dag_.precede(post, finish);
        dag_.wait_for(finish, point, 1);
        tasks_.push_back({post, finish});
    }

    TaskId add_task(int32_t node, TaskPhase phase, const Task& task) {
        plan_->tasks.push_back({node, phase});
        return dag_.add(task);
    }

    void precede(int32_t before, int32_t after) {
        // What a source gives is there before the run.
        if (!record(before).is_source() && !record(after).is_source()) {
            dag_.precede(tasks_[size_t(before)].last, tasks_[size_t(after)].first);
        }
    }

    void add_order() {
        for (int32_t node = 0; node < data_.node_count(); ++node) {
            const NodePlan& to = planned(node);
            for (int32_t i = 0; i < to.input_count; ++i) {
                precede(plan_->inputs[size_t(to.first_input) + size_t(i)], node);
            }
        }
        for (const TaskGraphData::Edge& edge : data_.order) {
            precede(edge.before, edge.after);
        }
        for (size_t i = 0; i < data_.resources.size(); ++i) {
            (void)dag_.add_buffer();
        }
        for (const TaskGraphData::Use& use : data_.uses) {
            if (record(use.node).is_source()) {
                continue;
            }
            const TaskPair tasks = tasks_[size_t(use.node)];
            dag_.use(tasks.first, BufferId(use.resource), use.access);
            if (tasks.last != tasks.first) {
                dag_.use(tasks.last, BufferId(use.resource), use.access);
            }
        }
    }

    // Edges of data go from older to newer nodes; only after() and uses can make a circle.
    Status check_circles() {
        const bool can_be =
            std::any_of(dag_.edges().begin(), dag_.edges().end(),
                        [](const TaskDag::Edge& edge) { return edge.before >= edge.after; });
        if (!can_be) {
            return {};
        }
        const std::vector<TaskId> circle = find_circle(dag_.edges(), dag_.task_count());
        return circle.empty() ? Status() : circle_error(circle);
    }

    Status circle_error(const std::vector<TaskId>& circle) const {
        std::string names;
        int32_t last = -1;
        for (const TaskId task : circle) {
            const int32_t node = plan_->tasks[size_t(task)].node;
            // The two tasks of a blocking node are one to the user.
            if (node != last) {
                names += fmt::format("{}'{}'", last < 0 ? "" : " -> ", record(node).name);
            }
            last = node;
        }
        return invalid_argument("nodes wait for each other in a circle: {}", names);
    }

    Status compile_program() {
        CompileOptions options;
        options.workers = shared_.executor->threads;
        options.worker_domains = shared_.executor->worker_domains;
        options.gear = data_.options.gear;
        if (!options.gear && !plan_->jobs.empty()) {
            options.gear = Gear::kDynamic;  // static lists would wait in their order
        }
        options.is_traced = shared_.is_traced;
        options.trace_events_per_worker = data_.options.trace_events_per_worker;
        LEAT_ASSIGN_OR_RETURN(plan_->program, Program::compile(dag_, options));
        return {};
    }

    void finish() {
        plan_->version = data_.version;
        plan_->workers = shared_.executor->threads;
        plan_->worker_domains = shared_.executor->worker_domains;
        plan_->is_traced = shared_.is_traced;
        GraphReport& report = plan_->report;
        report.nodes = data_.node_count();
        report.tasks = int64_t(plan_->tasks.size());
        for (const NodeRecord& node : data_.nodes) {
            report.value_bytes += int64_t(node.type.bytes);
        }
        for (const auto& child : plan_->children) {
            report.value_bytes += child->report.value_bytes;
        }
        plan_->domains = shared_.executor->domains.size();
        write_program_report(*plan_);
    }

    std::shared_ptr<GraphPlan> plan_;
    const TaskGraphData& data_;
    Shared& shared_;
    TaskDag dag_;
    std::vector<TaskPair> tasks_;          // by node
    std::vector<Domain> domains_;          // by node: of its own, or what its sub-graphs need
    std::vector<int32_t> domain_indices_;  // by node: of the executor's domains
};

// Nodes with another priority than kNormal; 0 where all have the same.
int64_t count_priorities(const TaskGraphData& graph) {
    int64_t others = 0;
    bool differ = false;
    const NodeRecord* first = nullptr;
    for (const NodeRecord& node : graph.nodes) {
        if (node.is_source()) {
            continue;
        }
        first = first == nullptr ? &node : first;
        differ = differ || node.priority != first->priority;
        others += node.priority != Priority::kNormal ? 1 : 0;
    }
    return differ ? others : 0;
}

const char* effect_of_numa_hints(size_t domains, Gear gear) {
    if (domains < 2) {
        return "no effect, the executor has one";
    }
    switch (gear) {
        case Gear::kCompiled:
            return "placed there, unless its workers are late";
        case Gear::kDynamic:
            return "run there, unless its workers are busy";
        default:
            return "no effect, one thread runs everything";
    }
}

}  // namespace

void write_program_report(GraphPlan& plan) {
    GraphReport& report = plan.report;
    report.program = plan.program.stats();
    report.notes.clear();
    const Gear gear = report.program.gear;
    if (plan.numa_hints > 0) {
        report.notes.push_back(fmt::format("{} nodes ask for a NUMA node: {}", plan.numa_hints,
                                           effect_of_numa_hints(plan.domains, gear)));
    }
    const int64_t priorities = count_priorities(*plan.graph);
    if (priorities > 0 && gear != Gear::kDynamic) {
        report.notes.push_back(fmt::format(
            "{} nodes have a priority: {}; GraphOptions::gear = Gear::kDynamic goes by it",
            priorities,
            gear == Gear::kInline
                ? "no effect, one thread runs everything in an order that is fixed"
                : "little effect, it orders only what is equally far from the graph's begin"));
    }
    const auto in_pool = std::count_if(plan.jobs.begin(), plan.jobs.end(), [&](const JobPlan& job) {
        return plan.graph->nodes[size_t(job.node)].priority != Priority::kNormal;
    });
    if (priorities > 0 && in_pool > 0) {
        report.notes.push_back(
            fmt::format("{} nodes in the blocking pool have a priority: it decides when they get "
                        "there, and the pool runs them in that order",
                        in_pool));
    }
    for (size_t node = 0; node < plan.nodes.size(); ++node) {
        const int32_t first = plan.nodes[node].first_child;
        const NodeRecord& record = plan.graph->nodes[node];
        for (size_t part = 0; first >= 0 && part < record.control->parts().size(); ++part) {
            for (const std::string& note : plan.children[size_t(first) + part]->report.notes) {
                report.notes.push_back(fmt::format("{}: {}", record.name, note));
            }
        }
    }
}

Result<std::shared_ptr<const GraphPlan>> compile_graph(std::shared_ptr<const TaskGraphData> graph,
                                                       const ExecutorReport& executor) {
    Shared shared;
    shared.executor = &executor;
    shared.is_traced = graph->options.is_traced;
    shared.max_blocking_threads = graph->options.max_blocking_threads;
    return PlanBuilder(std::move(graph), shared).build();
}

}  // namespace leat::scheduler::detail
