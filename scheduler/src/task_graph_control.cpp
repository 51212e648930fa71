#include "task_graph_control.h"

#include "base/error.h"
#include "task_graph_instance.h"

namespace leat::scheduler::detail {

InstanceData& ControlBody::child(const NodeCall& call, int32_t part) const {
    return InstanceData::child_of(call.scope, part);
}

Status ControlBody::run_child(const NodeCall& call, int32_t part) const {
    return child(call, part).run_nested(InstanceData::task_of(call.scope));
}

void ControlBody::move_result(const NodeCall& call, int32_t part, void* output) const {
    InstanceData& instance = child(call, part);
    const int32_t result = parts_[size_t(part)].result;
    type_.move(output, instance.find_result(result));
    instance.drop(result);
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

// Destroys the state of a loop that ends early: the node has no value then.
class StateGuard {
  public:
    StateGuard(const ValueType& type, void* state) : type_(type), state_(state) {}
    ~StateGuard() {
        if (state_ != nullptr) {
            type_.destroy(state_);
        }
    }
    StateGuard(const StateGuard&) = delete;
    StateGuard& operator=(const StateGuard&) = delete;
    void release() { state_ = nullptr; }

  private:
    const ValueType& type_;
    void* state_;
};

}  // namespace

Status LoopBody::call(const NodeCall& call) {
    ValueSlot& initial = call.inputs[0];
    if (initial.may_move) {
        type().move(call.output, initial.address);
    } else {
        copy_(call.output, initial.address);
    }
    StateGuard guard(type(), call.output);
    for (int64_t iteration = 0;; ++iteration) {
        LEAT_ASSIGN_OR_RETURN(const bool is_wanted, goes_on(call, iteration));
        if (!is_wanted) {
            break;
        }
        LEAT_RETURN_IF_ERROR(step(call));
    }
    guard.release();
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

// The part takes the state and makes the next one.
Status LoopBody::step(const NodeCall& call) {
    child(call, 0).borrow_source(parts()[0].sources[0], call.output, true);
    LEAT_RETURN_IF_ERROR(run_child(call, 0));
    type().destroy(call.output);
    move_result(call, 0, call.output);
    return {};
}

}  // namespace leat::scheduler::detail
