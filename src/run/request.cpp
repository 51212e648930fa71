// A request's runs, and the calls of the program that lead to them.
#include <algorithm>
#include <cstring>

#include "base/deadline.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/tensor_check.h"
#include "graph/default_input.h"
#include "run/request_impl.h"
#include "run/segments_run.h"
#include "run/value_pool.h"

namespace leat {

scheduler::RunControl control_of(const RunOptions& options) {
    scheduler::RunControl control;
    control.stop = options.stop;
    if (options.deadline) {
        control.deadline = deadline_after(*options.deadline);
    }
    return control;
}

RequestState::RequestState(std::shared_ptr<CompiledGraph::Impl> graph, RequestPlace place)
    : compiled(std::move(graph)),
      inputs(compiled->graph.inputs.size()),
      bound(compiled->graph.inputs.size(), false),
      user_outputs(compiled->graph.outputs.size()),
      results(compiled->graph.outputs.size()),
      unaligned_(compiled->graph.inputs.size()),
      input_ranges_(compiled->graph.inputs.size()),
      home_(place.group),
      divides_batches_(compiled->runtime->divides_batches() && compiled->deciding_inputs().empty()),
      active_(1, place.group) {
    const Runtime::Impl& runtime = *compiled->runtime;
    // A memory limit is for what plans need.
    const SpareRoom spare =
        compiled->options.memory_limit_bytes > 0 ? SpareRoom::kNone : SpareRoom::kQuarter;
    parts_.reserve(runtime.groups.size());
    active_.reserve(runtime.groups.size());
    for (const ThreadGroup& group : runtime.groups) {
        parts_.emplace_back(runtime, group, group.home.value_or(place.home), spare);
    }
    if (compiled->segments != nullptr) {
        pool_ = std::make_unique<ValuePool>(compiled->options.pool_limit_bytes);
        segments_ = std::make_unique<SegmentsRun>(*compiled->segments, place, *pool_);
    }
}

RequestState::~RequestState() = default;

Status RequestState::reserve() {
    if (segments_ != nullptr) {
        return {};
    }
    if (divides_batches_) {
        const Result<std::vector<Shape>> shapes = compiled->signature.complete_shapes({});
        return shapes.ok() ? select_instances(*shapes, {}) : Status();
    }
    const int group = compiled->runtime->plan_group(home_);
    const RequestRoom room = compiled->plans.request_room(group);
    RequestPart& home = parts_[size_t(home_)];
    LEAT_RETURN_IF_ERROR(home.reserve(room));
    std::shared_ptr<const Plan> newest = compiled->plans.newest(group);
    return newest == nullptr ? Status() : home.use(std::move(newest));
}

Status RequestState::collect_results() {
    for (size_t i = 0; i < results.size(); ++i) {
        const PlanOutput& output = current()->plan().storage.outputs[i];
        if (output.dtype ==
            DType::kUndefined) {  // a sequence or optional: only a bound input can be one
            results[i] = inputs[size_t(output.storage.index)];
            continue;
        }
        const PlanAddresses& addresses = current()->addresses();
        const bool grows = output.storage.kind == Storage::Kind::kGrown;
        Tensor* target = target_of(int(i));
        if (target == nullptr) {
            results[i] =
                Value(grows ? addresses.grown_output(int(i)).view()
                            : Tensor::view(output.dtype, output.shape,
                                           addresses.output_data(int(i)), current()->arena()));
            continue;
        }
        if (grows) {  // its length is known only now
            LEAT_RETURN_IF_ERROR(
                check_user_output(int(i), output.dtype, addresses.output_shape(int(i))));
        }
        for (const int part : active_) {
            copy_output(int(i), part, *target);
        }
        const bool is_user = target == &user_outputs[i];
        results[i] = is_user ? Value(Tensor::view(output.dtype, target->shape(), target->bytes(),
                                                  current()->arena()))
                             : Value(*target);
    }
    has_results_ = true;
    return {};
}

// Where it is not there already: an output that is an input or a constant, or has grown, or
// strings.
void RequestState::copy_output(int output, int part, Tensor& target) {
    const Instance& instance = *parts_[size_t(part)].current();
    const PlanOutput& planned = instance.plan().storage.outputs[size_t(output)];
    const std::byte* data = instance.addresses().output_data(output);
    std::byte* there = target.mutable_bytes() + first_byte(target, part);
    const int64_t elements = instance.addresses().output_shape(output).element_count();
    const int64_t bytes = storage_bytes(planned.dtype, elements).value_or(0);
    if (data == there || bytes == 0) {
        return;
    }
    if (planned.dtype == DType::kString) {
        std::copy_n(reinterpret_cast<const std::string*>(data), elements,
                    reinterpret_cast<std::string*>(there));
    } else {
        std::memcpy(there, data, size_t(bytes));
    }
}

Status RequestState::run(const scheduler::RunControl& control) {
    has_results_ = false;
    LEAT_RETURN_IF_ERROR(check_bound());
    if (segments_ != nullptr) {
        return run_segments(control);
    }
    Status status = wait_for_parts(1, run_here(control));
    return status.ok() ? collect_results() : std::move(status).with_file(compiled->graph.file);
}

Status RequestState::prepare_start(const scheduler::RunControl& control) {
    has_results_ = false;
    LEAT_RETURN_IF_ERROR(check_bound());
    if (segments_ != nullptr) {
        return prepare_values();
    }
    started_ = 0;
    LEAT_RETURN_IF_ERROR(select_instances({}, control));
    return bind_addresses();
}

void RequestState::start(const scheduler::RunControl& control) {
    if (segments_ != nullptr) {
        segments_->start(inputs, control);
        return;
    }
    for (const int part : active_) {
        ++started_;
        parts_[size_t(part)].start(control);
    }
}

bool RequestState::work() {
    if (segments_ != nullptr) {
        return segments_->work();
    }
    bool has_ended = true;
    for (const int part : active_) {
        has_ended = parts_[size_t(part)].work() && has_ended;
    }
    return has_ended;
}

void RequestState::cancel() {
    if (segments_ != nullptr) {
        segments_->cancel();
        return;
    }
    for (const int part : active_) {
        parts_[size_t(part)].cancel();
    }
}

Status RequestState::finish() {
    if (segments_ != nullptr) {
        Result<std::vector<Value>> values = segments_->finish();
        return values.ok() ? take_segment_results(*std::move(values))
                           : std::move(values).error().with_file(compiled->graph.file);
    }
    Status status = wait_for_parts(0, {});
    return status.ok() ? collect_results() : std::move(status).with_file(compiled->graph.file);
}

// The calling thread goes from node to node to help.
Status RequestState::wait_for_parts(size_t begin, Status status) {
    for (size_t i = begin; i < started_; ++i) {
        RequestPart& part = parts_[size_t(active_[i])];
        if (!status.ok()) {
            part.cancel();
        }
        Status other = part.wait();
        if (status.ok()) {
            status = std::move(other);
        }
    }
    return status;
}

// Selects what runs, starts the other parts, and runs the first: that of the request's home, if it
// has rows.
Status RequestState::run_here(const scheduler::RunControl& control) {
    struct Visit {
        explicit Visit(RequestPart& entered) : part(entered) { part.enter(); }
        ~Visit() { part.leave(); }
        RequestPart& part;
    };
    started_ = 1;
    LEAT_RETURN_IF_ERROR(select_instances({}, control));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    RequestPart& own = parts_[size_t(active_[0])];
    const Visit visit(own);
    for (size_t i = 1; i < active_.size(); ++i) {
        parts_[size_t(active_[i])].start(control);
        started_ = i + 1;
    }
    return own.run(control);
}

void RequestState::release_bindings() {
    std::fill(inputs.begin(), inputs.end(), Value());
    std::fill(results.begin(), results.end(), Value());
    std::fill(user_outputs.begin(), user_outputs.end(), Tensor());
    has_results_ = false;
}

void RequestState::trim() {
    if (segments_ != nullptr) {
        segments_->trim();
        pool_->trim();
    }
    for (RequestPart& part : parts_) {
        part.trim();
    }
    has_results_ = false;
    std::fill(results.begin(), results.end(), Value());
}

// A value that decides shapes counts as a whole; other inputs may get other shapes later.
InputShapes RequestState::with_bound_shapes(InputShapes shapes) const {
    const std::span<const int> deciding = compiled->deciding_inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
        const bool decides = std::count(deciding.begin(), deciding.end(), int(i)) != 0;
        if (bound[i] && inputs[i].is_tensor() &&
            (decides || !compiled->signature.assumed_input_shape(int(i)))) {
            shapes.try_emplace(compiled->graph.value(compiled->graph.inputs[i]).name,
                               inputs[i].tensor().shape());
        }
    }
    return shapes;
}

Status RequestState::prepare(const InputShapes& shapes) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<Shape> complete,
                          compiled->signature.complete_shapes(with_bound_shapes(shapes)));
    for (const int input : compiled->deciding_inputs()) {
        const bool is_bound = bound[size_t(input)];
        const Shape& wanted = complete[size_t(input)];
        if (is_bound && inputs[size_t(input)].tensor().shape() == wanted) {
            continue;
        }
        Status status =
            invalid_argument("the value of input '{}' decides shapes",
                             compiled->graph.value(compiled->graph.inputs[size_t(input)]).name)
                .with_hint("bind it before prepare()");
        return is_bound ? std::move(status)
                              .with_found(inputs[size_t(input)].tensor().shape().to_string())
                              .with_needed(fmt::format("shape {}", wanted.to_string()))
                        : status;
    }
    has_results_ = false;
    return segments_ != nullptr ? prepare_segments(complete) : select_instances(complete, {});
}

Request::Impl::Impl(std::shared_ptr<CompiledGraph::Impl> graph, RequestPlace where)
    : made_of(std::move(graph)),
      place(where),
      state(std::make_unique<RequestState>(made_of, place)),
      counted_(made_of->request_count) {}

Status Request::Impl::check_count() const {
    const CompileOptions& options = made_of->options;
    if (options.memory_limit_bytes <= 0 || counted_.others < options.max_requests) {
        return {};
    }
    return out_of_memory("the memory limit of the graph does not cover another request")
        .with_file(made_of->graph.file)
        .with_found(fmt::format("{} requests", counted_.others + 1))
        .with_needed(
            fmt::format("at most {}, as CompileOptions::max_requests says", options.max_requests))
        .with_hint("destroy a request, or compile with a larger max_requests");
}

Status Request::Impl::busy() const {
    Status status = is_started()
                        ? make_error(StatusCode::kBusy, "the request is in flight")
                              .with_hint("take its results from the queue first")
                        : make_error(StatusCode::kBusy, "the request is in use by another call")
                              .with_hint("make a request for each thread");
    return std::move(status).with_file(made_of->graph.file);
}

Result<std::unique_ptr<RequestState>> Request::Impl::with_open(
    const std::vector<std::string>& names) const {
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<CompiledGraph::Impl> graph,
                          made_of->open_defaults(names));
    auto open = std::make_unique<RequestState>(std::move(graph), place);
    LEAT_RETURN_IF_ERROR(open->reserve());
    LEAT_RETURN_IF_ERROR(open->take_over(*state));
    return open;
}

template <class Bind>
Status Request::Impl::bind(std::string_view input, const Bind& bind) {
    if (find_default_input(state->compiled->graph, input) == nullptr) {
        LEAT_ASSIGN_OR_RETURN(const int index, state->compiled->signature.find_input(input));
        return bind(*state, index);
    }
    std::vector<std::string> names = opened_;
    names.insert(std::lower_bound(names.begin(), names.end(), input), std::string(input));
    LEAT_ASSIGN_OR_RETURN(std::unique_ptr<RequestState> open, with_open(names));
    LEAT_ASSIGN_OR_RETURN(const int index, open->compiled->signature.find_input(input));
    LEAT_RETURN_IF_ERROR(bind(*open, index));
    opened_ = std::move(names);
    state = std::move(open);
    return {};
}

Status Request::Impl::prepare(const InputShapes& shapes) {
    const std::vector<std::string> closed = state->compiled->defaults_among(shapes);
    if (closed.empty()) {
        return state->prepare(shapes);
    }
    std::vector<std::string> names;
    std::merge(opened_.begin(), opened_.end(), closed.begin(), closed.end(),
               std::back_inserter(names));
    LEAT_ASSIGN_OR_RETURN(std::unique_ptr<RequestState> open, with_open(names));
    for (const std::string& name : closed) {
        LEAT_ASSIGN_OR_RETURN(const int index, open->compiled->signature.find_input(name));
        LEAT_RETURN_IF_ERROR(open->bind(index, Value(made_of->default_value(name))));
    }
    LEAT_RETURN_IF_ERROR(open->prepare(shapes));
    opened_ = std::move(names);
    state = std::move(open);
    return {};
}

Status Request::Impl::start(const scheduler::RunControl& control) {
    Use use(users);
    if (!use.has_begun()) {
        return busy();
    }
    LEAT_RETURN_IF_ERROR(state->prepare_start(control));
    is_started_.store(true, std::memory_order_relaxed);
    use.keep();  // until finish()
    state->start(control);
    return {};
}

Status Request::Impl::finish() {
    struct EndOfUse {
        ~EndOfUse() {
            request.is_started_.store(false, std::memory_order_relaxed);
            request.users.end();
        }
        Request::Impl& request;
    };
    const EndOfUse end{*this};
    return state->finish();
}

Request::Request(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Request::~Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;

Status Request::bind(std::string_view input, const Value& value) {
    return impl_->use_alone("bind the input", [&]() -> Status {
        return impl_->bind(
            input, [&](RequestState& state, int index) { return state.bind(index, value); });
    });
}

Status Request::bind_memory(std::string_view input,
                            DType dtype,
                            std::optional<Shape> shape,
                            const void* data,
                            int64_t count) {
    const auto bind = [&](RequestState& state, int index) -> Status {
        if (!shape) {
            shape = state.compiled->signature.fixed_input_shape(index);
        }
        const std::string& file = state.compiled->graph.file;
        if (!shape) {
            return invalid_argument("input '{}' has no fixed shape", input)
                .with_file(file)
                .with_hint("use bind(name, shape, span), or give CompileOptions::shapes");
        }
        const std::optional<int64_t> wanted = checked_count(*shape);
        if (wanted && *wanted != count) {
            return invalid_argument("input '{}': the number of elements does not match the shape",
                                    input)
                .with_file(file)
                .with_found(fmt::format("{} elements", count))
                .with_needed(fmt::format("{} for shape {}", *wanted, shape->to_string()));
        }
        return state.bind(index, Value(Tensor::view(dtype, *shape, data, nullptr)));
    };
    return impl_->use_alone("bind the input", [&] { return impl_->bind(input, bind); });
}

Status Request::bind_output(std::string_view output, Tensor tensor) {
    return impl_->use_alone("bind the output", [&]() -> Status {
        RequestState& state = *impl_->state;
        LEAT_ASSIGN_OR_RETURN(const int index, state.compiled->signature.find_output(output));
        return state.bind_output(index, std::move(tensor));
    });
}

Status Request::prepare(const InputShapes& shapes) {
    return impl_->use_alone("plan for these shapes", [&] { return impl_->prepare(shapes); });
}

Status Request::run(const RunOptions& options) {
    return impl_->use_alone("run the graph",
                            [&] { return impl_->state->run(control_of(options)); });
}

Result<Value> Request::output(std::string_view name) const {
    return catch_bad_alloc("find the output", [&]() -> Result<Value> {
        const Reading reading(impl_->users);
        if (!reading.has_begun()) {
            return impl_->busy();
        }
        const RequestState& state = *impl_->state;
        LEAT_ASSIGN_OR_RETURN(const int index, state.compiled->signature.find_output(name));
        if (!state.has_results()) {
            return not_found("the request has no results")
                .with_file(state.compiled->graph.file)
                .with_hint("run it first; a run that fails leaves none");
        }
        return state.results[size_t(index)];
    });
}

Request::Elements Request::find_elements(std::string_view name, DType dtype) const {
    const Reading reading(impl_->users);
    if (!reading.has_begun() || !impl_->state->has_results()) {
        return {};
    }
    const RequestState& state = *impl_->state;
    const std::vector<std::string>& names = state.compiled->graph.output_names;
    for (size_t i = 0; i < names.size(); ++i) {
        const Tensor& tensor = state.results[i].tensor();  // undefined where it is none
        if (names[i] == name && tensor.dtype() == dtype) {
            return {tensor.bytes(), size_t(tensor.element_count())};
        }
    }
    return {};
}

void Request::trim() {
    if (const Use use(impl_->users); use.has_begun()) {
        impl_->state->trim();
    }
}

}  // namespace leat
