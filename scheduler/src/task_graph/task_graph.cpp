// TaskGraph: building. Mistakes are kept in the graph; the plan finds the rest.
#include "leat/scheduler/task_graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "task_graph/task_graph_control.h"
#include "task_graph/task_graph_data.h"
#include "task_graph/task_graph_instance.h"

namespace leat::scheduler {

using detail::NodeRecord;
using detail::TaskGraphData;

namespace detail {
NodeBody::~NodeBody() = default;
}  // namespace detail

// --- NodeRef ---

std::string_view NodeRef::name() const {
    return graph_ == nullptr ? std::string_view() : graph_->nodes[size_t(index_)].name;
}

std::string NodeRef::foreign_name() const {
    return graph_ == nullptr ? std::string("an empty handle")
                             : fmt::format("node '{}' of another graph", name());
}

void NodeRef::add_after(const NodeRef& other) const {
    if (graph_ == nullptr) {
        return;  // nobody to tell; the empty handle itself is an error where it is used
    }
    ++graph_->version;
    if (other.graph_ != graph_) {
        graph_->fail(invalid_argument("after() names {}", other.foreign_name()).with_node(name()));
        return;
    }
    graph_->order.push_back({other.index_, index_});
}

void NodeRef::set_domain(Domain domain) const {
    if (graph_ != nullptr) {
        graph_->nodes[size_t(index_)].domain = domain;
        ++graph_->version;
    }
}

void NodeRef::set_priority(Priority priority) const {
    if (graph_ != nullptr) {
        graph_->nodes[size_t(index_)].priority = priority;
        ++graph_->version;
    }
}

void NodeRef::set_cost_ns(double cost_ns) const {
    if (graph_ == nullptr) {
        return;
    }
    ++graph_->version;
    if (!std::isfinite(cost_ns) || cost_ns < 0) {
        graph_->fail(invalid_argument("a cost that makes no sense")
                         .with_node(name())
                         .with_found(fmt::format("{} ns", cost_ns))
                         .with_needed("a finite time, at least 0"));
        return;
    }
    graph_->nodes[size_t(index_)].cost_ns = cost_ns;
}

void NodeRef::add_use(Resource resource, Access access) const {
    if (graph_ == nullptr) {
        return;
    }
    ++graph_->version;
    if (resource.graph_ != graph_) {
        graph_->fail(invalid_argument("a resource that is not of this graph").with_node(name()));
        return;
    }
    graph_->uses.push_back({index_, resource.index_, access});
}

// --- TaskGraph ---

TaskGraph::TaskGraph(const GraphOptions& options)
    : data_(std::make_shared<TaskGraphData>()),
      own_(std::make_shared<detail::InstanceData>(data_)) {
    data_->options = options;
}
TaskGraph::~TaskGraph() = default;
TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;

namespace {

Status moved_from() {
    return invalid_argument("a graph that was moved from");
}

}  // namespace

// Where it throws the graph is as before.
NodeRef TaskGraph::add_node(std::string_view name,
                            std::unique_ptr<detail::NodeBody> body,
                            const detail::ValueType& type,
                            const InputList& inputs) {
    if (data_ == nullptr) {
        return {};  // an error where it is used
    }
    TaskGraphData& data = *data_;
    NodeRecord record;
    record.name = name;
    record.body = std::move(body);
    record.type = type;
    record.first_input = int32_t(data.inputs.size());
    for (const InputRef& input : inputs) {
        if (input.node.graph_ != &data) {
            data.fail(
                invalid_argument("input {} is {}", record.input_count, input.node.foreign_name())
                    .with_node(name));
            break;
        }
        data.inputs.push_back({input.node.index_, input.needs_only_consumer});
        ++record.input_count;
    }
    data.nodes.push_back(std::move(record));
    ++data.version;
    return {&data, data.node_count() - 1};
}

void TaskGraph::keep(const NodeRef& node) {
    if (data_ == nullptr) {
        return;
    }
    ++data_->version;
    if (node.graph_ != data_.get()) {
        data_->fail(invalid_argument("sink() names {}", node.foreign_name()));
        return;
    }
    data_->nodes[size_t(node.index_)].is_sink = true;
}

Resource TaskGraph::resource(std::string_view name) {
    if (data_ == nullptr) {
        return {};
    }
    data_->resources.emplace_back(name);
    return {data_.get(), int32_t(data_->resources.size()) - 1};
}

// --- sub-graphs ---

namespace {

// What is wrong with the sources of a part.
Status check_sources(const detail::SubgraphPart& part) {
    std::vector<bool> is_given(part.graph->nodes.size(), false);
    for (const int32_t source : part.sources) {
        const NodeRecord& record = part.graph->nodes[size_t(source)];
        if (!record.is_source()) {
            return invalid_argument("'{}' takes an input of the sub-graph, but is no source",
                                    record.name);
        }
        if (is_given[size_t(source)]) {
            return invalid_argument("source '{}' of the sub-graph is listed twice", record.name);
        }
        is_given[size_t(source)] = true;
    }
    for (size_t i = 0; i < is_given.size(); ++i) {
        const NodeRecord& record = part.graph->nodes[i];
        if (record.is_source() && !is_given[i]) {
            return invalid_argument("source '{}' of the sub-graph gets no value", record.name)
                .with_needed("every source in Sources(...)");
        }
    }
    if (part.result >= 0 && part.graph->nodes[size_t(part.result)].is_source()) {
        return invalid_argument("the result of a sub-graph is its source '{}'",
                                part.graph->nodes[size_t(part.result)].name)
            .with_hint("add a node that returns it");
    }
    return part.graph->error;
}

}  // namespace

// Fills `part` in, and marks its result to be kept.
Status TaskGraph::ControlSpec::Part::check_into(detail::SubgraphPart& part, bool has_value) const {
    if (graph.data_ == nullptr) {
        return invalid_argument("a sub-graph that was moved from")
            .with_found("one that another node has, or whose graph was moved away")
            .with_hint("each node needs a Subgraph, and a graph, of its own");
    }
    TaskGraphData& data = *graph.data_;
    for (size_t i = 0; i < sources.size(); ++i) {
        if (sources[i].graph_ != &data) {
            return invalid_argument("source {} of the sub-graph is {}", i,
                                    sources[i].foreign_name());
        }
        part.sources.push_back(sources[i].index_);
    }
    if (has_value && result.graph_ != &data) {
        return invalid_argument("the result of the sub-graph is {}", result.foreign_name());
    }
    if (data.nested_graphs >= detail::kMostNestedGraphs) {
        return invalid_argument("sub-graphs inside of one another")
            .with_found(fmt::format("more than {} graphs", detail::kMostNestedGraphs))
            .with_needed(fmt::format("at most {}", detail::kMostNestedGraphs));
    }
    if (has_value) {
        part.result = result.index_;
        data.nodes[size_t(part.result)].is_sink = true;
    }
    part.graph = graph.data_;
    return check_sources(part);
}

// A node with sub-graphs that are wrong has none: the graph has an error and never runs.
NodeRef TaskGraph::add_control(std::string_view name, ControlSpec spec, InputList inputs) {
    if (data_ == nullptr) {
        return {};
    }
    std::vector<detail::SubgraphPart> parts;
    parts.reserve(spec.parts.size());
    Status status;
    for (const ControlSpec::Part& from : spec.parts) {
        Status checked = from.check_into(parts.emplace_back(), spec.type.bytes != 0);
        if (!checked.ok()) {
            status = std::move(checked);
        }
    }
    if (spec.control == Control::kRepeat && spec.count < 0) {
        status = invalid_argument("a sub-graph cannot run {} times", spec.count);
    }
    if (!status.ok()) {
        data_->fail(std::move(status).with_node(name));
        parts.clear();
    }
    for (const detail::SubgraphPart& part : parts) {
        data_->nested_graphs = std::max(data_->nested_graphs, part.graph->nested_graphs + 1);
    }
    std::unique_ptr<detail::ControlBody> body;
    switch (spec.control) {
        case Control::kSubgraph:
            body = std::make_unique<detail::SubgraphBody>(std::move(parts), spec.type);
            break;
        case Control::kIf:
            body = std::make_unique<detail::IfBody>(std::move(parts), spec.type);
            break;
        case Control::kWhile:
        case Control::kRepeat:
            inputs[0].needs_only_consumer = spec.copy == nullptr;
            body = std::make_unique<detail::LoopBody>(
                std::move(parts), spec.type, std::move(spec.condition), spec.count, spec.copy);
            break;
    }
    const detail::ControlBody* const control = body.get();
    const NodeRef node = add_node(name, std::move(body), spec.type, inputs);
    data_->nodes[size_t(node.index_)].control = control;
    return node;
}

// --- running ---

namespace {

Status busy_to_compile() {
    return make_error(StatusCode::kBusy, "a graph cannot be compiled while it runs");
}

Status compile_in_turn(detail::InstanceData& own,
                       const std::shared_ptr<TaskGraphData>& data,
                       const Executor& executor) {
    LEAT_ASSIGN_OR_RETURN(auto plan, detail::compile_graph(data, executor.report()));
    own.attach(std::move(plan));
    return {};
}

bool is_current(const detail::GraphPlan* plan,
                const TaskGraphData& data,
                const Executor& executor) {
    return plan != nullptr && plan->version == data.version &&
           plan->worker_domains == executor.report().worker_domains;
}

}  // namespace

Status TaskGraph::compile(const Executor& executor) {
    return catch_bad_alloc("compile a task graph", [&]() -> Status {
        if (data_ == nullptr) {
            return moved_from();
        }
        const detail::UseScope turn = detail::UseScope::run(own_.data_->use());
        return turn ? compile_in_turn(*own_.data_, data_, executor) : busy_to_compile();
    });
}

Status TaskGraph::recompile() {
    return catch_bad_alloc("compile a task graph", [&]() -> Status {
        if (data_ == nullptr) {
            return moved_from();
        }
        const detail::UseScope turn = detail::UseScope::run(own_.data_->use());
        if (!turn) {
            return busy_to_compile();
        }
        const detail::GraphPlan* plan = own_.data_->plan();
        if (plan == nullptr || !plan->is_traced) {
            return invalid_argument("nothing was measured")
                .with_needed("runs of a traced graph")
                .with_hint("set GraphOptions::is_traced");
        }
        auto next = std::make_shared<detail::GraphPlan>(*plan);
        LEAT_ASSIGN_OR_RETURN(next->program, plan->program.recompile(own_.data_->task_times_ns()));
        detail::write_program_report(*next);
        own_.data_->attach(std::move(next));
        return {};
    });
}

const GraphReport& TaskGraph::report() const {
    static const GraphReport kNone;
    const detail::GraphPlan* plan = own_.data_ != nullptr ? own_.data_->plan() : nullptr;
    return plan != nullptr ? plan->report : kNone;
}

Result<GraphInstance> TaskGraph::make_instance(const Executor& executor) {
    return catch_bad_alloc("make an instance", [&]() -> Result<GraphInstance> {
        if (data_ == nullptr) {
            return moved_from();
        }
        // The graph may be running.
        std::shared_ptr<const detail::GraphPlan> plan = own_.data_->shared_plan();
        if (!is_current(plan.get(), *data_, executor)) {
            LEAT_ASSIGN_OR_RETURN(plan, detail::compile_graph(data_, executor.report()));
        }
        auto instance = std::make_shared<detail::InstanceData>(data_);
        instance->attach(std::move(plan));
        return GraphInstance(std::move(instance));
    });
}

// The caller has the turn.
Status TaskGraph::ensure_compiled(const Executor& executor) {
    return is_current(own_.data_->plan(), *data_, executor)
               ? Status()
               : compile_in_turn(*own_.data_, data_, executor);
}

Status TaskGraph::run(Executor& executor, const RunControl& control) {
    return catch_bad_alloc("run a task graph", [&]() -> Status {
        if (data_ == nullptr) {
            return moved_from();
        }
        const detail::UseScope turn = detail::UseScope::run(own_.data_->use());
        if (!turn) {
            return detail::busy();
        }
        LEAT_RETURN_IF_ERROR(ensure_compiled(executor));
        return own_.data_->run(executor, control);
    });
}

GraphRun TaskGraph::start(Executor& executor, const RunControl& control) {
    std::shared_ptr<detail::InstanceData> own = own_.data_;
    Result<int64_t> number = catch_bad_alloc("start a task graph", [&]() -> Result<int64_t> {
        if (own == nullptr) {
            return moved_from();
        }
        detail::UseScope turn = detail::UseScope::run(own->use());
        if (!turn) {
            return detail::busy();
        }
        LEAT_RETURN_IF_ERROR(ensure_compiled(executor));
        return own->start(turn, executor, control);
    });
    return GraphInstance::handle_of(std::move(own), std::move(number));
}

}  // namespace leat::scheduler
