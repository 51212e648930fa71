#include "task_graph/task_graph_control.h"

#include <utility>

#include "base/error.h"
#include "task_graph/task_graph_instance.h"

namespace leat::scheduler::detail {

InstanceData& ControlBody::child(const NodeCall& call, int32_t part) const {
    return InstanceData::child_of(call.scope, part);
}

Status ControlBody::run_child(const NodeCall& call, int32_t part) const {
    return child(call, part).run_nested(InstanceData::task_of(call.scope));
}

namespace {

// Destroys a result at the end of the scope, also where moving it throws.
class ResultGuard {
  public:
    ResultGuard(InstanceData& instance, int32_t node) : instance_(instance), node_(node) {}
    ~ResultGuard() { instance_.drop(node_); }
    ResultGuard(const ResultGuard&) = delete;
    ResultGuard& operator=(const ResultGuard&) = delete;

  private:
    InstanceData& instance_;
    const int32_t node_;
};

}  // namespace

void ControlBody::move_result(const NodeCall& call, int32_t part, void* output) const {
    InstanceData& instance = child(call, part);
    const int32_t result = parts_[size_t(part)].result;
    const ResultGuard guard(instance, result);
    type_.move(output, instance.value_of(result));
}

Status ControlBody::run_part(const NodeCall& call, int32_t part, void* output) const {
    const std::vector<int32_t>& sources = parts_[size_t(part)].sources;
    for (size_t i = 0; i < sources.size(); ++i) {
        const ValueSlot& input = call.inputs[leading_inputs() + int32_t(i)];
        child(call, part).borrow_source(sources[i], input.address, input.may_move);
    }
    LEAT_RETURN_IF_ERROR(run_child(call, part));
    if (output != nullptr) {
        move_result(call, part, output);
    }
    return {};
}

namespace {

// The state of a loop, which there is not while the next one is moved there. Destroyed when the
// loop ends early: the node has no value then.
class LoopState {
  public:
    // There is one.
    LoopState(const ValueType& type, void* place) : type_(type), place_(place) {}
    ~LoopState() { destroy(); }
    LoopState(const LoopState&) = delete;
    LoopState& operator=(const LoopState&) = delete;

    void destroy() {
        if (std::exchange(is_there_, false)) {
            type_.destroy(place_);
        }
    }
    // What the owner has moved there.
    void is_made() { is_there_ = true; }
    // It is the node's value from now on.
    void release() { is_there_ = false; }

  private:
    const ValueType& type_;
    void* const place_;
    bool is_there_ = true;
};

}  // namespace

Status LoopBody::call(const NodeCall& call) {
    ValueSlot& initial = call.inputs[0];
    if (initial.may_move) {
        type().move(call.output, initial.address);
    } else {
        copy_(call.output, initial.address);
    }
    LoopState state(type(), call.output);
    for (int64_t iteration = 0;; ++iteration) {
        LEAT_ASSIGN_OR_RETURN(const bool is_wanted, goes_on(call, iteration));
        if (!is_wanted) {
            break;
        }
        // The part takes the state and makes the next one.
        child(call, 0).borrow_source(parts()[0].sources[0], call.output, true);
        LEAT_RETURN_IF_ERROR(run_child(call, 0));
        state.destroy();
        move_result(call, 0, call.output);
        state.is_made();
    }
    state.release();
    return {};
}

Result<bool> LoopBody::goes_on(const NodeCall& call, int64_t iteration) {
    if (condition_ == nullptr) {
        return iteration < count_;
    }
    ValueSlot state;
    state.address = call.output;
    const int32_t index = 0;
    bool answer = false;
    LEAT_RETURN_IF_ERROR(condition_->call({call.scope, {&state, &index}, &answer}));
    return answer;
}

}  // namespace leat::scheduler::detail
