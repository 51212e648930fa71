// Values of an instance, between runs; and the classes of the API that stand for it.
#include "task_graph_instance.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace leat::scheduler {
namespace detail {

InstanceData::InstanceData(std::shared_ptr<const GraphData> graph) : graph_(std::move(graph)) {}

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
    for (int32_t node = 0; node < slot_count_; ++node) {
        if (!graph_->nodes[size_t(node)].is_source()) {
            destroy(slots_[node], node);
        }
    }
    plan_ = std::move(plan);
    try {
        make_parts();
    } catch (...) {
        plan_ = nullptr;  // not compiled
        throw;
    }
}

// What the plan needs besides slots.
void InstanceData::make_parts() {
    state_.emplace(plan_->program);
    for (size_t node = 0; node < plan_->nodes.size(); ++node) {
        slots_[node].may_move = plan_->nodes[node].may_move();
    }
    jobs_.clear();
    for (const JobPlan& job : plan_->jobs) {
        jobs_.push_back(std::make_unique<NodeJob>(*this, job));
    }
    make_children();
    const bool traces_jobs = plan_->is_traced && !jobs_.empty();
    job_trace_ = traces_jobs
                     ? std::make_unique<TraceBuffer>(graph_->options.trace_events_per_worker)
                     : nullptr;
}

void InstanceData::make_children() {
    children_.clear();
    for (size_t node = 0; node < plan_->nodes.size(); ++node) {
        const int32_t first = plan_->nodes[node].first_child;
        if (first < 0) {
            continue;
        }
        // The children of a node follow each other, and nodes come in order.
        const auto* control = dynamic_cast<const ControlBody*>(plan_->nodes[node].body);
        for (size_t part = 0; part < control->parts().size(); ++part) {
            const auto& plan = plan_->children[size_t(first) + part];
            auto child = std::make_unique<InstanceData>(plan->graph);
            child->parent_ = this;
            child->root_ = root_;
            child->parent_node_ = int32_t(node);
            child->attach(plan);
            children_.push_back(std::move(child));
        }
    }
}

Result<void*> InstanceData::claim_source(int32_t node) {
    if (is_running()) {
        return make_error(StatusCode::kBusy, "the value of a source cannot change during a run")
            .with_node(name_of(node));
    }
    if (!graph_->nodes[size_t(node)].is_source()) {
        return invalid_argument("set() is for sources; this node makes its value itself")
            .with_node(name_of(node));
    }
    grow(graph_->node_count());
    destroy(slots_[node], node);
    return slots_[node].address;
}

void* InstanceData::find_result(int32_t node) const {
    const bool is_there = node < slot_count_ && slots_[node].is_alive && !is_running();
    return is_there ? slots_[node].address : nullptr;
}

Status InstanceData::no_result(int32_t node) const {
    if (is_running()) {
        return make_error(StatusCode::kBusy, "no result during a run").with_node(name_of(node));
    }
    const bool is_consumed = plan_ != nullptr && size_t(node) < plan_->nodes.size() &&
                             !plan_->nodes[size_t(node)].is_kept;
    if (is_consumed) {
        return not_found("no result: other nodes consume the value")
            .with_node(name_of(node))
            .with_hint("sink(node) keeps it as a result too");
    }
    return not_found("no result: the last run made none, or it was taken").with_node(name_of(node));
}

void InstanceData::drop(int32_t node) {
    destroy(slots_[node], node);
}

void InstanceData::borrow_source(int32_t node, void* value, bool may_move) {
    ValueSlot& slot = slots_[node];
    slot.address = value;
    slot.is_borrowed = true;
    slot.is_alive = true;
    slot.may_move = may_move && plan_->nodes[size_t(node)].may_move();
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
    return task_ != nullptr
               ? task_->parallel_for(count, grain, body, context)
               : executor().parallel_for(count, grain, body, context, instance_.control());
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
        instance_->cancel(number_);
        (void)instance_->wait(number_);
    }
}
void GraphRun::cancel() {
    if (instance_ != nullptr) {
        instance_->cancel(number_);
    }
}
Status GraphRun::wait() {
    return instance_ != nullptr ? instance_->wait(number_) : early_;
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
        data_->cancel_and_wait();
    }
}

Status GraphInstance::check_node(const NodeRef& node) const {
    if (node.graph_ == &data_->graph()) {
        return {};
    }
    return invalid_argument("{} is not of this graph", node.graph_ == nullptr
                                                           ? std::string("an empty handle")
                                                           : fmt::format("node '{}'", node.name()));
}
Result<void*> GraphInstance::claim_source(const NodeRef& source) {
    LEAT_RETURN_IF_ERROR(check_node(source));
    return data_->claim_source(source.index_);
}
Result<void*> GraphInstance::claim_result(const NodeRef& node) {
    LEAT_RETURN_IF_ERROR(check_node(node));
    void* const place = data_->find_result(node.index_);
    if (place == nullptr) {
        return data_->no_result(node.index_);
    }
    return place;
}
void GraphInstance::mark_alive(const NodeRef& source) {
    data_->mark_alive(source.index_);
}
void GraphInstance::drop(const NodeRef& node) {
    data_->drop(node.index_);
}
const void* GraphInstance::find_result(const NodeRef& node) const {
    return check_node(node).ok() ? data_->find_result(node.index_) : nullptr;
}
Status GraphInstance::run(Executor& executor, const RunControl& control) {
    return data_->run(executor, control);
}
GraphRun GraphInstance::start(Executor& executor, const RunControl& control) {
    Status status = data_->start(executor, control);
    return status.ok() ? GraphRun(data_, data_->number(), {})
                       : GraphRun(nullptr, 0, std::move(status));
}
std::string GraphInstance::trace_json() const {
    return data_->trace_json();
}

}  // namespace leat::scheduler
