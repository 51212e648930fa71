#include "run/segments_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/monotonic_clock.h"
#include "base/out_of_memory.h"
#include "graph/bodies.h"
#include "run/device_trace.h"

namespace leat {

std::optional<size_t> Segments::known_step() const {
    const auto first = std::find_if(steps.begin(), steps.end(), [](const SegmentStep& step) {
        return step.segment != nullptr && step.reason.empty();
    });
    if (first == steps.end() || !first->segment->deciding_inputs().empty()) {
        return std::nullopt;
    }
    const bool has_inputs_alone =
        std::all_of(first->inputs.begin(), first->inputs.end(), [this](int32_t slot) {
            return std::find(inputs.begin(), inputs.end(), slot) != inputs.end();
        });
    return has_inputs_alone ? std::optional(size_t(first - steps.begin())) : std::nullopt;
}

std::vector<Shape> Segments::shapes_of_known_step(std::span<const Shape> shapes) const {
    const std::vector<int32_t>& wanted = steps[known_step().value()].inputs;
    std::vector<Shape> known(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
        const auto input = std::find(inputs.begin(), inputs.end(), wanted[i]);
        known[i] = shapes[size_t(input - inputs.begin())];
    }
    return known;
}

Status Segments::prepare(std::span<const Shape> shapes) const {
    const std::optional<size_t> known = known_step();
    return known ? steps[*known].segment->prepare(shapes_of_known_step(shapes)) : Status();
}

SegmentsRun::SegmentsRun(const Segments& segments, RequestPlace place, ValuePool& pool)
    : segments_(segments),
      place_(place),
      pool_(pool),
      slots_(segments.slots.size()),
      steps_(segments.steps.size()) {}

SegmentsRun::~SegmentsRun() = default;

void SegmentsRun::take_inputs(std::span<Value> inputs) {
    for (size_t i = 0; i < slots_.size(); ++i) {
        const std::optional<Tensor>& constant = segments_.slots[i].constant;
        slots_[i] = constant ? Value(*constant) : Value();
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (segments_.inputs[i] >= 0) {
            slots_[size_t(segments_.inputs[i])] = std::move(inputs[i]);
        }
    }
}

// One slot may be several results: the first of them gets the value, and the others copies. A copy
// of a sequence takes time for each of its elements.
std::vector<Value> SegmentsRun::take_results() {
    std::vector<Value> results(segments_.outputs.size());
    std::vector<int32_t> result_of_slot(slots_.size(), -1);
    for (size_t i = 0; i < results.size(); ++i) {
        const auto slot = size_t(segments_.outputs[i]);
        if (result_of_slot[slot] >= 0) {
            results[i] = results[size_t(result_of_slot[slot])];
            continue;
        }
        results[i] = std::move(slots_[slot]);
        result_of_slot[slot] = int32_t(i);
    }
    std::fill(slots_.begin(), slots_.end(), Value());
    return results;
}

Status SegmentsRun::end(Status status) {
    if (!status.ok()) {
        std::fill(slots_.begin(), slots_.end(), Value());
        for (size_t s = 0; s < steps_.size(); ++s) {
            release(s);
        }
    }
    return status;
}

// What `run` returns. After an error, an allocation that failed among them, nothing keeps a value.
template <class Run>
Result<std::vector<Value>> SegmentsRun::end_of(const Run& run) {
    Result<std::vector<Value>> found = catch_bad_alloc("run the graph", run);
    if (!found.ok()) {
        return end(std::move(found).error());
    }
    return found;
}

Result<std::vector<Value>> SegmentsRun::run(std::span<Value> inputs,
                                            const scheduler::RunControl& control) {
    control_ = control;
    return end_of([&]() -> Result<std::vector<Value>> {
        take_inputs(inputs);
        for (size_t s = 0; s < steps_.size(); ++s) {
            LEAT_RETURN_IF_ERROR(run_step(s));
        }
        return take_results();
    });
}

Result<std::vector<Value>> SegmentsRun::profile(std::span<Value> inputs,
                                                std::vector<StepTime>& times) {
    control_ = {};
    return end_of([&]() -> Result<std::vector<Value>> {
        take_inputs(inputs);
        for (size_t s = 0; s < steps_.size(); ++s) {
            LEAT_RETURN_IF_ERROR(profile_step(s, times));
        }
        return take_results();
    });
}

Status SegmentsRun::profile_step(size_t index, std::vector<StepTime>& times) {
    const SegmentStep& step = segments_.steps[index];
    if (step.segment == nullptr) {
        const int64_t begin_ns = monotonic_ns();
        LEAT_RETURN_IF_ERROR(run_step(index));
        StepTime time;
        time.node = step.node.name;
        time.op_type = step.node.op_type;
        time.kernel = "between segments";
        time.time_ns = monotonic_ns() - begin_ns;
        times.push_back(std::move(time));
        return {};
    }
    LEAT_RETURN_IF_ERROR(prepare_segment(index));
    LEAT_ASSIGN_OR_RETURN(const std::vector<StepTime> found, steps_[index].request->profile());
    times.insert(times.end(), found.begin(), found.end());
    return take_results_of_segment(index);
}

void SegmentsRun::start(std::span<const Value> inputs, const scheduler::RunControl& control) {
    control_ = control;
    current_ = 0;
    is_running_ = false;
    is_cancelled_ = false;
    status_ = catch_bad_alloc("run the graph", [&]() -> Status {
        std::vector<Value> values(inputs.begin(), inputs.end());
        take_inputs(values);
        return {};
    });
}

bool SegmentsRun::work() {
    while (current_ < steps_.size() && status_.ok()) {
        if (is_running_ && !steps_[current_].request->work()) {
            return false;
        }
        status_ = catch_bad_alloc("run the graph", [this] { return advance(); });
    }
    return true;
}

// Ends the segment that runs, or begins the next one, whose tasks helpers take. Does another step
// at once.
Status SegmentsRun::advance() {
    Step& step = steps_[current_];
    if (is_running_) {
        is_running_ = false;
        LEAT_RETURN_IF_ERROR(step.request->finish());
        return take_results_of_segment(current_++);
    }
    if (is_cancelled_) {
        return make_error(StatusCode::kCancelled, "the run was cancelled");
    }
    if (segments_.steps[current_].segment == nullptr) {
        return run_step(current_++);
    }
    LEAT_RETURN_IF_ERROR(prepare_segment(current_));
    LEAT_RETURN_IF_ERROR(step.request->prepare_start(control_));
    step.request->start(control_);
    is_running_ = true;
    return {};
}

void SegmentsRun::cancel() {
    is_cancelled_ = true;
    if (is_running_) {
        steps_[current_].request->cancel();
    }
}

Result<std::vector<Value>> SegmentsRun::finish() {
    while (current_ < steps_.size() && status_.ok()) {
        status_ = catch_bad_alloc("run the graph", [this] { return advance(); });
    }
    Status status = std::exchange(status_, Status());
    if (is_running_) {
        is_running_ = false;
        (void)steps_[current_].request->finish();
    }
    LEAT_RETURN_IF_ERROR(end(std::move(status)));
    return take_results();
}

Status SegmentsRun::prepare(std::span<const Shape> shapes) {
    const std::optional<size_t> known = segments_.known_step();
    if (!known) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(make_request(*known));
    return steps_[*known].request->select_instances(segments_.shapes_of_known_step(shapes), {});
}

void SegmentsRun::trim() {
    for (Step& step : steps_) {
        if (step.request != nullptr) {
            step.request->trim();
        }
        for (const auto& [key, body] : step.bodies) {
            body->trim();
        }
    }
}

void SegmentsRun::add_trace(const std::string& around, SegmentsTrace& trace) const {
    scheduler::TraceRow own{
        around.empty() ? "between segments" : "between segments of " + around, {}, false};
    for (size_t s = 0; s < steps_.size(); ++s) {
        const SegmentStep& step = segments_.steps[s];
        if (steps_[s].end_ns > 0) {
            own.spans.push_back({trace_name(step.node), steps_[s].begin_ns, steps_[s].end_ns});
        }
        for (const auto& [key, body] : steps_[s].bodies) {
            body->add_trace(body_path(step.node, key, around), trace);
        }
        const RequestState* request = steps_[s].request.get();
        if (request == nullptr || request->current() == nullptr) {
            continue;
        }
        if (trace.first == nullptr) {
            trace.first = request;
        } else {
            request->current()->add_trace(
                fmt::format("segment {}{}{}", s + 1, around.empty() ? "" : " of ", around),
                request->compiled->placed.placement.forecast, trace.rows);
        }
    }
    if (!own.spans.empty()) {
        trace.rows.push_back(std::move(own));
    }
}

Value SegmentsRun::input_of(const SegmentStep& step, size_t input) {
    const int32_t slot = step.inputs[input];
    if (slot < 0) {
        return {};
    }
    return step.is_last_use[input] ? std::exchange(slots_[size_t(slot)], Value())
                                   : slots_[size_t(slot)];
}

std::vector<Value> SegmentsRun::inputs_of(const SegmentStep& step) {
    std::vector<Value> inputs(step.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        inputs[i] = input_of(step, i);
    }
    return inputs;
}

void SegmentsRun::set_output(const SegmentStep& step, size_t output, Value value) {
    if (output < step.outputs.size() && step.outputs[output] >= 0) {
        slots_[size_t(step.outputs[output])] = std::move(value);
    }
}

Status SegmentsRun::run_step(size_t index) {
    const SegmentStep& step = segments_.steps[index];
    if (step.segment == nullptr) {
        steps_[index].begin_ns = segments_.is_traced ? monotonic_ns() : 0;
        Status status = step.node.has_bodies() ? run_bodies(index) : run_values(step);
        steps_[index].end_ns = segments_.is_traced ? monotonic_ns() : 0;
        return status.ok() ? Status() : std::move(status).with_node(step.node.label());
    }
    LEAT_RETURN_IF_ERROR(prepare_segment(index));
    LEAT_RETURN_IF_ERROR(steps_[index].request->run(control_));
    return take_results_of_segment(index);
}

// An operator without a function on values gives its first input back.
Status SegmentsRun::run_values(const SegmentStep& step) {
    std::vector<Value> inputs = inputs_of(step);
    std::vector<Value> outputs(step.outputs.size());
    const ValueKernel kernel = step.node.def->run_values;
    if (kernel == nullptr) {
        outputs[0] = std::move(inputs[0]);
    } else {
        const int32_t slot = step.outputs[0];
        const std::function<Result<Tensor>(DType, const Shape&)> allocate =
            [&](DType dtype, const Shape& shape) {
                return pool_.allocate(
                    dtype, shape,
                    slot < 0 ? std::string_view() : segments_.slots[size_t(slot)].name);
            };
        LEAT_RETURN_IF_ERROR(kernel({step.node, inputs, outputs, allocate}));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        set_output(step, i, std::move(outputs[i]));
    }
    return {};
}

Status SegmentsRun::make_request(size_t index) {
    std::unique_ptr<RequestState>& request = steps_[index].request;
    if (request == nullptr) {
        auto made = std::make_unique<RequestState>(segments_.steps[index].segment, place_);
        LEAT_RETURN_IF_ERROR(made->reserve());
        for (const int32_t slot : segments_.steps[index].outputs) {
            steps_[index].memory.emplace_back(pool_, segments_.slots[size_t(slot)].name);
        }
        request = std::move(made);
    }
    return {};
}

GrownTensor* SegmentsRun::grown_result(const RequestState& request, size_t output) const {
    const Instance& instance = *request.current();
    const Storage& storage = instance.plan().storage.outputs[output].storage;
    return storage.kind == Storage::Kind::kGrown ? &instance.addresses().grown_output(int(output))
                                                 : nullptr;
}

// Kernels write results to the pool: what a plan knows the shape of, and what grows.
Status SegmentsRun::prepare_segment(size_t index) {
    const SegmentStep& step = segments_.steps[index];
    LEAT_RETURN_IF_ERROR(make_request(index));
    const std::unique_ptr<RequestState>& request = steps_[index].request;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
        LEAT_RETURN_IF_ERROR(request->bind(int(i), input_of(step, i)));
    }
    LEAT_RETURN_IF_ERROR(request->select_instances({}, control_));
    const std::vector<PlanOutput>& planned = request->current()->plan().storage.outputs;
    for (size_t i = 0; i < planned.size(); ++i) {
        request->user_outputs[i] = {};
        if (GrownTensor* const grown = grown_result(*request, i)) {
            grown->release();
            grown->set_source(&steps_[index].memory[i]);
        } else if (planned[i].fills_buffer) {
            LEAT_ASSIGN_OR_RETURN(Tensor target,
                                  pool_.allocate(planned[i].dtype, planned[i].shape,
                                                 segments_.slots[size_t(step.outputs[i])].name));
            LEAT_RETURN_IF_ERROR(request->bind_output(int(i), std::move(target)));
        }
    }
    return {};
}

// Results that lie elsewhere are copied, as the next run of the segment may write there.
Status SegmentsRun::take_results_of_segment(size_t index) {
    const SegmentStep& step = segments_.steps[index];
    RequestState& request = *steps_[index].request;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (request.user_outputs[i].defined()) {
            set_output(step, i, Value(std::exchange(request.user_outputs[i], Tensor())));
        } else if (const GrownTensor* const grown = grown_result(request, i)) {
            set_output(step, i, Value(grown->view()));
        } else {
            LEAT_ASSIGN_OR_RETURN(
                Tensor copy,
                pooled(request.results[i].tensor(), segments_.slots[size_t(step.outputs[i])].name));
            set_output(step, i, Value(std::move(copy)));
        }
    }
    release(index);
    return {};
}

// What the segment still has of the run's values.
void SegmentsRun::release(size_t index) {
    RequestState* const request = steps_[index].request.get();
    if (request == nullptr) {
        return;
    }
    request->release_bindings();
    for (size_t i = 0; request->current() != nullptr && i < request->results.size(); ++i) {
        if (GrownTensor* const grown = grown_result(*request, i)) {
            grown->release();
        }
    }
    std::fill(request->results.begin(), request->results.end(), Value());
}

Result<Tensor> SegmentsRun::pooled(const Tensor& tensor, const std::string& value) {
    LEAT_ASSIGN_OR_RETURN(Tensor copy, pool_.allocate(tensor.dtype(), tensor.shape(), value));
    copy_tensor(tensor, copy);
    return copy;
}

}  // namespace leat
