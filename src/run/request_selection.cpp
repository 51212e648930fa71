// What a request runs with: the instances of its plans, or the division of a batch, for the shapes
// that are bound.
#include <algorithm>
#include <cstring>

#include "run/request_impl.h"

namespace leat {
namespace {

// As many as a part has instances.
constexpr size_t kMaxDivisions = 16;

WaitLimit wait_limit(const scheduler::RunControl& control) {
    return {control.deadline, control.stop};
}

}  // namespace

bool RequestState::matches(const Plan& plan) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].is_tensor() && !(inputs[i].tensor().shape() == plan.key.shapes[i])) {
            return false;
        }
    }
    const std::byte* expected = plan.key.values.data();
    int64_t left = int64_t(plan.key.values.size());
    for (int input : compiled->deciding_inputs()) {
        const Tensor& tensor = inputs[size_t(input)].tensor();
        const int64_t bytes = tensor.byte_count();
        if (bytes > left ||
            (bytes > 0 && std::memcmp(expected, tensor.bytes(), size_t(bytes)) != 0)) {
            return false;
        }
        expected += bytes;
        left -= bytes;
    }
    return left == 0;
}

// Of the bound inputs, or those given instead.
std::vector<Shape> RequestState::wanted_shapes(std::span<const Shape> override_shapes) const {
    std::vector<Shape> shapes(override_shapes.begin(), override_shapes.end());
    if (!shapes.empty()) {
        return shapes;
    }
    shapes.reserve(inputs.size());
    for (const Value& input : inputs) {
        shapes.push_back(input.is_tensor() ? input.tensor().shape() : Shape{});
    }
    return shapes;
}

Status RequestState::select_instances(std::span<const Shape> override_shapes,
                                      const scheduler::RunControl& control) {
    copy_unaligned();
    if (divides_batches_) {
        is_bound_anew_ = true;
        LEAT_RETURN_IF_ERROR(select_division(override_shapes, control));
        if (division_->is_divided()) {
            return {};
        }
    }
    active_.assign(1, home_);
    RequestPart& home = parts_[size_t(home_)];
    if (override_shapes.empty()) {
        if (home.current() != nullptr && matches(home.current()->plan())) {
            return {};
        }
        if (home.use_instance([this](const Plan& plan) { return matches(plan); })) {
            return {};
        }
    }
    is_bound_anew_ = true;
    const std::vector<Shape> shapes = wanted_shapes(override_shapes);
    std::vector<const Tensor*> values(inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
        values[i] = &inputs[i].tensor();
    }
    LEAT_RETURN_IF_ERROR(compiled->signature.check_shapes(shapes));
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                          compiled->plan_for(shapes, values, home_, wait_limit(control)));
    Status status = home.use(plan);
    if (status.code() == StatusCode::kOutOfMemory) {
        // Data may have asked for any size: later requests would look for room for that plan.
        compiled->plans.drop(plan);
        return std::move(status).with_found(fmt::format(
            "{} bytes of activations and scratch; the largest value is {}",
            plan->arena_bytes() + plan->work.scratch_bytes, compiled->largest_value(*plan)));
    }
    return status;
}

// Makes the division for these shapes current, also one that says that there is none.
Status RequestState::select_division(std::span<const Shape> override_shapes,
                                     const scheduler::RunControl& control) {
    const auto is_meant = [&](const std::unique_ptr<BatchDivision>& held) {
        for (size_t i = 0; i < inputs.size(); ++i) {
            const Shape& wanted =
                override_shapes.empty() ? inputs[i].tensor().shape() : override_shapes[i];
            if (!(held->shapes[i] == wanted)) {
                return false;
            }
        }
        return true;
    };
    const auto held = std::find_if(divisions_.begin(), divisions_.end(), is_meant);
    if (held != divisions_.end()) {
        std::rotate(divisions_.begin(), held, held + 1);
    } else {
        std::vector<Shape> shapes = wanted_shapes(override_shapes);
        LEAT_RETURN_IF_ERROR(compiled->signature.check_shapes(shapes));
        LEAT_ASSIGN_OR_RETURN(BatchDivision division,
                              divide_batch(*compiled, std::move(shapes), wait_limit(control)));
        if (divisions_.size() == kMaxDivisions) {
            divisions_.pop_back();
        }
        divisions_.insert(divisions_.begin(), std::make_unique<BatchDivision>(std::move(division)));
    }
    division_ = divisions_.front().get();
    return division_->is_divided() ? use_division() : Status();
}

// The parts that have rows run, that of the request's home first, by the calling thread.
Status RequestState::use_division() {
    active_.clear();
    for (size_t turn = 0; turn < parts_.size(); ++turn) {
        const size_t part = (size_t(home_) + turn) % parts_.size();
        if (division_->plans[part] != nullptr) {
            LEAT_RETURN_IF_ERROR(parts_[part].use(division_->plans[part]));
            active_.push_back(int(part));
        }
    }
    return {};
}

}  // namespace leat
