// Values of an instance, between runs; and the classes of the API that stand for it.
#include "task_graph/task_graph_instance.h"

#include <algorithm>
#include <utility>

#include "base/caught_exception.h"
#include "base/error.h"
#include "base/out_of_memory.h"

namespace leat::scheduler {
namespace detail {

InstanceData::InstanceData(std::shared_ptr<const TaskGraphData> graph) : graph_(std::move(graph)) {}

InstanceData::~InstanceData() {
    for (int32_t node = 0; node < slot_count_; ++node) {
        destroy(slots_[node], node);
    }
}

// Makes room for the values of nodes that came since the last time. Values stay where they are.
void InstanceData::grow(int32_t node_count) {
    if (node_count <= slot_count_) {
        return;
    }
    auto slots = std::make_unique<ValueSlot[]>(size_t(node_count));
    for (int32_t node = 0; node < slot_count_; ++node) {
        slots[node].address = slots_[node].address;
        slots[node].is_alive = slots_[node].is_alive;
    }
    size_t bytes = 0;
    size_t alignment = alignof(std::max_align_t);
    const auto place_of = [&](const ValueType& type) {
        return (bytes + type.alignment - 1) / type.alignment * type.alignment;
    };
    for (int32_t node = slot_count_; node < node_count; ++node) {
        const ValueType& type = graph_->nodes[size_t(node)].type;
        alignment = std::max(alignment, type.alignment);
        bytes = place_of(type) + type.bytes;
    }
    const auto align = std::align_val_t(alignment);
    blocks_.push_back(Block(::operator new(bytes, align), FreeBlock{align}));
    auto* const base = static_cast<std::byte*>(blocks_.back().get());
    bytes = 0;
    for (int32_t node = slot_count_; node < node_count; ++node) {
        const ValueType& type = graph_->nodes[size_t(node)].type;
        slots[node].address = base + place_of(type);
        bytes = place_of(type) + type.bytes;
    }
    slots_ = std::move(slots);
    slot_count_ = node_count;
}

void InstanceData::destroy(ValueSlot& slot, int32_t node) {
    if (!slot.is_alive) {
        return;
    }
    slot.is_alive = false;
    if (!slot.is_borrowed) {
        graph_->nodes[size_t(node)].type.destroy(slot.address);
    }
}

void InstanceData::attach(std::shared_ptr<const GraphPlan> plan) {
    grow(int32_t(plan->nodes.size()));
    std::optional<ProgramState> state(std::in_place, plan->program);
    auto jobs = make_jobs(*plan);
    auto children = make_children(*plan);
    auto job_trace = plan->is_traced && !jobs.empty()
                         ? std::make_unique<TraceBuffer>(graph_->options.trace_events_per_worker)
                         : nullptr;
    // Nothing below throws.
    for (int32_t node = 0; node < slot_count_; ++node) {
        if (!graph_->nodes[size_t(node)].is_source()) {
            destroy(slots_[node], node);
        }
    }
    for (size_t node = 0; node < plan->nodes.size(); ++node) {
        slots_[node].may_move = plan->nodes[node].may_move();
    }
    {
        const std::lock_guard lock(mutex_);
        plan_.swap(plan);  // the former one is destroyed after what refers to it
    }
    state_ = std::move(state);
    jobs_ = std::move(jobs);
    children_ = std::move(children);
    job_trace_ = std::move(job_trace);
}

std::vector<std::unique_ptr<InstanceData::NodeJob>> InstanceData::make_jobs(const GraphPlan& plan) {
    std::vector<std::unique_ptr<NodeJob>> jobs;
    for (const JobPlan& job : plan.jobs) {
        jobs.push_back(std::make_unique<NodeJob>(*this, job));
    }
    return jobs;
}

// The children of a node follow each other, and nodes come in order.
std::vector<std::unique_ptr<InstanceData>> InstanceData::make_children(const GraphPlan& plan) {
    std::vector<std::unique_ptr<InstanceData>> children;
    for (size_t node = 0; node < plan.nodes.size(); ++node) {
        const int32_t first = plan.nodes[node].first_child;
        const size_t parts = first < 0 ? 0 : graph_->nodes[node].control->parts().size();
        for (size_t part = 0; part < parts; ++part) {
            const auto& child_plan = plan.children[size_t(first) + part];
            auto child = std::make_unique<InstanceData>(child_plan->graph);
            child->parent_ = this;
            child->root_ = root_;
            child->parent_node_ = int32_t(node);
            child->attach(child_plan);
            children.push_back(std::move(child));
        }
    }
    return children;
}

std::shared_ptr<const GraphPlan> InstanceData::shared_plan() const {
    const std::lock_guard lock(mutex_);
    return plan_;
}

Result<void*> InstanceData::claim_source(int32_t node) {
    if (!graph_->nodes[size_t(node)].is_source()) {
        return invalid_argument("set() is for sources; this node makes its value itself")
            .with_node(name_of(node));
    }
    UseScope moment = UseScope::moment(use_);
    if (!moment) {
        return make_error(StatusCode::kBusy, "the value of a source cannot change during a run")
            .with_node(name_of(node));
    }
    grow(graph_->node_count());
    destroy(slots_[node], node);
    moment.keep();
    return slots_[node].address;
}

Status InstanceData::finish_source(int32_t node, Status status) {
    slots_[node].is_alive = status.ok();
    use_.end();
    return at(node, std::move(status));
}

Result<void*> InstanceData::claim_result(int32_t node) {
    UseScope moment = UseScope::moment(use_);
    if (!moment) {
        return make_error(StatusCode::kBusy, "no result during a run").with_node(name_of(node));
    }
    void* const place = value_of(node);
    if (place == nullptr) {
        return no_result(node);
    }
    moment.keep();
    return place;
}

void InstanceData::finish_result(int32_t node, bool is_taken) {
    if (is_taken) {
        drop(node);
    }
    use_.end();
}

const void* InstanceData::find_result(int32_t node) {
    const UseScope moment = UseScope::moment(use_);
    return moment ? value_of(node) : nullptr;
}

void* InstanceData::value_of(int32_t node) const {
    return node < slot_count_ && slots_[node].is_alive ? slots_[node].address : nullptr;
}

// By whoever uses the instance.
Status InstanceData::no_result(int32_t node) const {
    const bool is_consumed = plan_ != nullptr && size_t(node) < plan_->nodes.size() &&
                             !plan_->nodes[size_t(node)].is_kept;
    if (is_consumed) {
        return not_found("no result: other nodes consume the value")
            .with_node(name_of(node))
            .with_hint("sink(node) keeps it as a result too");
    }
    return not_found("no result: the last run made none, or it was taken").with_node(name_of(node));
}

void InstanceData::borrow_source(int32_t node, void* value, bool may_move) {
    ValueSlot& slot = slots_[node];
    slot.address = value;
    slot.is_borrowed = true;
    slot.is_alive = true;
    slot.may_move = may_move && plan_->nodes[size_t(node)].may_move();
}

Status InstanceData::at(int32_t node, Status status) const noexcept {
    try {
        return status.ok() ? Status() : std::move(status).with_node(path_of(node));
    } catch (const std::bad_alloc&) {
        return status;
    }
}

std::string InstanceData::path_of(int32_t node) const {
    return parent_ == nullptr ? name_of(node)
                              : fmt::format("{}/{}", parent_->path_of(parent_node_), name_of(node));
}

InstanceData& InstanceData::child_of(const NodeScope& scope, int32_t part) {
    const NodePlan& plan = scope.instance_.plan_->nodes[size_t(scope.node_)];
    return *scope.instance_.children_[size_t(plan.first_child) + size_t(part)];
}

}  // namespace detail

// --- NodeScope ---

std::string_view NodeScope::name() const {
    return instance_.name_of(node_);
}
bool NodeScope::is_cancelled() const {
    was_told_ =
        was_told_ || (task_ != nullptr && task_->is_cancelled()) || !instance_.stop_reason().ok();
    return was_told_;
}
Executor& NodeScope::executor() const {
    return instance_.executor();
}
Status NodeScope::parallel_for_erased(int64_t count,
                                      int64_t grain,
                                      RangeFunction body,
                                      void* context) {
    return instance_.parallel_for(*this, count, grain, body, context);
}

// --- GraphRun ---

GraphRun::GraphRun(std::shared_ptr<detail::InstanceData> instance, int64_t number, Status early)
    : instance_(std::move(instance)), number_(number), early_(std::move(early)) {}
GraphRun::GraphRun(GraphRun&&) noexcept = default;
GraphRun& GraphRun::operator=(GraphRun&& other) noexcept {
    if (this != &other) {
        end();
        instance_ = std::move(other.instance_);
        number_ = other.number_;
        early_ = std::move(other.early_);
    }
    return *this;
}
GraphRun::~GraphRun() {
    end();
}
void GraphRun::end() {
    if (instance_ != nullptr) {
        instance_->cancel_and_wait(number_);
    }
}
void GraphRun::cancel() {
    if (instance_ != nullptr) {
        instance_->cancel(number_);
    }
}
Status GraphRun::wait() {
    return instance_ != nullptr ? instance_->wait(number_) : copy_or_bare(early_);
}

// --- GraphInstance ---

GraphInstance::GraphInstance(std::shared_ptr<detail::InstanceData> data) : data_(std::move(data)) {}
GraphInstance::GraphInstance(GraphInstance&&) noexcept = default;
GraphInstance& GraphInstance::operator=(GraphInstance&& other) noexcept {
    if (this != &other) {
        end();
        data_ = std::move(other.data_);
    }
    return *this;
}
GraphInstance::~GraphInstance() {
    end();
}
void GraphInstance::end() {
    if (data_ != nullptr) {
        data_->close();
    }
}

namespace {

Status instance_moved_from() {
    return invalid_argument("an instance that was moved from");
}

}  // namespace

Status GraphInstance::check_node(const NodeRef& node) const {
    if (data_ == nullptr) {
        return instance_moved_from();
    }
    if (node.graph_ == &data_->graph()) {
        return {};
    }
    return invalid_argument("{} is not of this graph", node.graph_ == nullptr
                                                           ? std::string("an empty handle")
                                                           : fmt::format("node '{}'", node.name()));
}
Result<void*> GraphInstance::claim_source(const NodeRef& source) {
    return catch_bad_alloc("set the value of a source", [&]() -> Result<void*> {
        LEAT_RETURN_IF_ERROR(check_node(source));
        return data_->claim_source(source.index_);
    });
}
Status GraphInstance::finish_source(const NodeRef& source, Status status) {
    return data_->finish_source(source.index_, std::move(status));
}
Result<void*> GraphInstance::claim_result(const NodeRef& node) {
    return catch_bad_alloc("take a result", [&]() -> Result<void*> {
        LEAT_RETURN_IF_ERROR(check_node(node));
        return data_->claim_result(node.index_);
    });
}
void GraphInstance::finish_result(const NodeRef& node, bool is_taken) {
    data_->finish_result(node.index_, is_taken);
}
const void* GraphInstance::find_result(const NodeRef& node) const {
    const bool is_of_this_graph = data_ != nullptr && node.graph_ == &data_->graph();
    return is_of_this_graph ? data_->find_result(node.index_) : nullptr;
}
Status GraphInstance::run(Executor& executor, const RunControl& control) {
    return catch_bad_alloc("run a task graph", [&]() -> Status {
        if (data_ == nullptr) {
            return instance_moved_from();
        }
        const detail::UseScope turn = detail::UseScope::run(data_->use());
        return turn ? data_->run(executor, control) : detail::busy();
    });
}
GraphRun GraphInstance::start(Executor& executor, const RunControl& control) {
    std::shared_ptr<detail::InstanceData> data = data_;
    Result<int64_t> number = catch_bad_alloc("start a task graph", [&]() -> Result<int64_t> {
        if (data == nullptr) {
            return instance_moved_from();
        }
        detail::UseScope turn = detail::UseScope::run(data->use());
        if (!turn) {
            return detail::busy();
        }
        return data->start(turn, executor, control);
    });
    return handle_of(std::move(data), std::move(number));
}
GraphRun GraphInstance::handle_of(std::shared_ptr<detail::InstanceData> data,
                                  Result<int64_t> number) {
    return number.ok() ? GraphRun(std::move(data), *number, {})
                       : GraphRun(nullptr, 0, std::move(number).error());
}
std::string GraphInstance::trace_json() const {
    return data_ != nullptr ? data_->trace_json() : std::string();
}

namespace detail {
Status caught_by_caller() noexcept {
    return caught_exception("moving the value");
}
}  // namespace detail

}  // namespace leat::scheduler
