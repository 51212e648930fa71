// TaskGraph: building. Mistakes are kept in the graph; the plan finds the rest.
#include "leat/scheduler/task_graph.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "task_graph_control.h"
#include "task_graph_data.h"
#include "task_graph_instance.h"

namespace leat::scheduler {

using detail::GraphData;
using detail::NodeRecord;

namespace detail {
NodeBody::~NodeBody() = default;
}  // namespace detail

// --- NodeRef ---

std::string_view NodeRef::name() const {
    return graph_ == nullptr ? std::string_view() : graph_->nodes[size_t(index_)].name;
}

void NodeRef::add_after(const NodeRef& other) const {
    if (graph_ == nullptr) {
        return;  // nobody to tell; the empty handle itself is an error where it is used
    }
    ++graph_->version;
    if (other.graph_ != graph_) {
        graph_->fail(invalid_argument("after() names {}",
                                      other.graph_ == nullptr
                                          ? std::string("an empty handle")
                                          : fmt::format("node '{}' of another graph", other.name()))
                         .with_node(name()));
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
    : data_(std::make_shared<GraphData>()), own_(std::make_shared<detail::InstanceData>(data_)) {
    data_->options = options;
}
TaskGraph::~TaskGraph() = default;
TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;

NodeRef TaskGraph::add_node(std::string_view name,
                            std::unique_ptr<detail::NodeBody> body,
                            const detail::ValueType& type,
                            InputList inputs) {
    GraphData& data = *data_;
    ++data.version;
    const NodeRef node(&data, data.node_count());
    NodeRecord& record = data.nodes.emplace_back();
    record.name = name;
    record.body = std::move(body);
    record.type = type;
    record.first_input = int32_t(data.inputs.size());
    record.input_count = int32_t(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        const NodeRef& input = inputs[i].node;
        if (input.graph_ != &data) {
            data.fail(
                invalid_argument("input {} is {}", i,
                                 input.graph_ == nullptr
                                     ? std::string("an empty handle")
                                     : fmt::format("node '{}' of another graph", input.name()))
                    .with_node(name));
            record.input_count = int32_t(i);
            break;
        }
        data.inputs.push_back({input.index_, inputs[i].needs_only_consumer});
    }
    return node;
}

void TaskGraph::keep(const NodeRef& node) {
    ++data_->version;
    if (node.graph_ != data_.get()) {
        data_->fail(invalid_argument("sink() names {}",
                                     node.graph_ == nullptr
                                         ? std::string("an empty handle")
                                         : fmt::format("node '{}' of another graph", node.name())));
        return;
    }
    data_->nodes[size_t(node.index_)].is_sink = true;
}

Resource TaskGraph::resource(std::string_view name) {
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

NodeRef TaskGraph::add_control(std::string_view name, ControlSpec spec, InputList inputs) {
    std::vector<detail::SubgraphPart> parts;
    Status status;
    for (ControlSpec::Part& from : spec.parts) {
        detail::SubgraphPart& part = parts.emplace_back();
        part.graph = std::move(from.graph.data_);
        bool is_known = spec.type.bytes == 0 || from.result.graph_ == part.graph.get();
        for (const NodeRef& source : from.sources) {
            is_known = is_known && source.graph_ == part.graph.get();
            part.sources.push_back(source.index_);
        }
        if (!is_known) {
            status =
                invalid_argument("a source or the result of the sub-graph is not one of its nodes");
            continue;
        }
        if (spec.type.bytes != 0) {
            part.result = from.result.index_;
            part.graph->nodes[size_t(part.result)].is_sink = true;
        }
        Status checked = check_sources(part);
        if (!checked.ok()) {
            status = std::move(checked);
        }
    }
    if (spec.control == Control::kRepeat && spec.count < 0) {
        status = invalid_argument("a sub-graph cannot run {} times", spec.count);
    }
    if (!status.ok()) {
        data_->fail(std::move(status).with_node(name));
    }
    std::unique_ptr<detail::NodeBody> body;
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
    return add_node(name, std::move(body), spec.type, std::move(inputs));
}

// --- running ---

Status TaskGraph::compile(const Executor& executor) {
    if (own_.data_->is_running()) {
        return make_error(StatusCode::kBusy, "a graph cannot be compiled while it runs");
    }
    return catch_bad_alloc("compile a task graph", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(auto plan, detail::compile_graph(data_, executor.report()));
        own_.data_->attach(std::move(plan));
        return {};
    });
}

Status TaskGraph::recompile() {
    if (own_.data_->is_running()) {
        return make_error(StatusCode::kBusy, "a graph cannot be compiled while it runs");
    }
    const detail::GraphPlan* plan = own_.data_->plan();
    if (plan == nullptr || !plan->is_traced) {
        return invalid_argument("nothing was measured")
            .with_needed("runs of a traced graph")
            .with_hint("set GraphOptions::is_traced");
    }
    return catch_bad_alloc("compile a task graph", [&]() -> Status {
        auto next = std::make_shared<detail::GraphPlan>(*plan);
        LEAT_ASSIGN_OR_RETURN(next->program, plan->program.recompile(own_.data_->task_times_ns()));
        next->report.program = next->program.stats();
        own_.data_->attach(std::move(next));
        return {};
    });
}

Status TaskGraph::ensure_compiled(const Executor& executor) {
    const detail::GraphPlan* plan = own_.data_->plan();
    const bool is_current = plan != nullptr && plan->version == data_->version &&
                            plan->worker_domains == executor.report().worker_domains;
    return is_current ? Status() : compile(executor);
}

const GraphReport& TaskGraph::report() const {
    const detail::GraphPlan* plan = own_.data_->plan();
    return plan != nullptr ? plan->report : data_->empty_report;
}

Result<GraphInstance> TaskGraph::make_instance(const Executor& executor) {
    return catch_bad_alloc("make an instance", [&] { return make_own_instance(executor); });
}

Result<GraphInstance> TaskGraph::make_own_instance(const Executor& executor) {
    const detail::GraphPlan* own = own_.data_->plan();
    std::shared_ptr<const detail::GraphPlan> plan;
    if (own != nullptr && own->version == data_->version &&
        own->worker_domains == executor.report().worker_domains) {
        plan = own_.data_->shared_plan();
    } else {
        LEAT_ASSIGN_OR_RETURN(plan, detail::compile_graph(data_, executor.report()));
    }
    auto instance = std::make_shared<detail::InstanceData>(data_);
    instance->attach(std::move(plan));
    return GraphInstance(std::move(instance));
}

Status TaskGraph::run(Executor& executor, const RunControl& control) {
    LEAT_RETURN_IF_ERROR(ensure_compiled(executor));
    return own_.run(executor, control);
}

GraphRun TaskGraph::start(Executor& executor, const RunControl& control) {
    Status status = ensure_compiled(executor);
    return status.ok() ? own_.start(executor, control) : GraphRun(nullptr, 0, std::move(status));
}

}  // namespace leat::scheduler
