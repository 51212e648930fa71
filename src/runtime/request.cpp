#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "runtime/request_impl.h"

namespace leat {
namespace {

std::string describe(const Tensor& tensor) {
    return fmt::format("{}[{}]", name_of(tensor.dtype()), tensor.shape().to_string());
}

}  // namespace

scheduler::RunControl control_of(const RunOptions& options) {
    scheduler::RunControl control;
    control.stop = options.stop;
    if (options.deadline) {
        control.deadline = std::chrono::steady_clock::now() + *options.deadline;
    }
    return control;
}

Request::Impl::Impl(std::shared_ptr<CompiledGraph::Impl> graph, RequestPlace place)
    : compiled(std::move(graph)),
      inputs(compiled->graph.inputs.size()),
      bound(compiled->graph.inputs.size(), false),
      user_outputs(compiled->graph.outputs.size()),
      results(compiled->graph.outputs.size()),
      counted_(compiled->request_count),
      place_(place),
      home_(place.group),
      divides_batches_(compiled->runtime->divides_batches() && compiled->deciding_inputs.empty()),
      active_(1, place.group) {
    const Runtime::Impl& runtime = *compiled->runtime;
    parts_.reserve(runtime.groups.size());
    active_.reserve(runtime.groups.size());
    for (const ThreadGroup& group : runtime.groups) {
        parts_.emplace_back(runtime, group, group.home.value_or(place.home));
    }
}

Status Request::Impl::check_count() const {
    const CompileOptions& options = compiled->options;
    if (options.memory_limit_bytes <= 0 || counted_.others < options.max_requests) {
        return {};
    }
    return out_of_memory("the memory limit of the graph does not cover another request")
        .with_file(compiled->graph.file)
        .with_found(fmt::format("{} requests", counted_.others + 1))
        .with_needed(
            fmt::format("at most {}, as CompileOptions::max_requests says", options.max_requests))
        .with_hint("destroy a request, or compile with a larger max_requests");
}

Status Request::Impl::reserve() {
    if (divides_batches_) {
        const Result<std::vector<Shape>> shapes = compiled->complete_shapes({});
        return shapes.ok() ? select_instances(*shapes) : Status();
    }
    const std::vector<std::shared_ptr<const Plan>> plans = compiled->cached_plans(home_);
    const RequestRoom room = compiled->request_room(home_);
    RequestPart& home = parts_[size_t(home_)];
    LEAT_RETURN_IF_ERROR(home.reserve(room.arena_bytes, room.scratch_bytes));
    return plans.empty() ? Status() : home.use(plans.front());
}

Status Request::Impl::bind(int input, Value value) {
    const ValueData& declared = compiled->graph.value(compiled->graph.inputs[size_t(input)]);
    const bool wants_tensor = declared.type.is_tensor();
    if (value.is_tensor() != wants_tensor) {
        return invalid_argument("input '{}' has the wrong kind", declared.name)
            .with_file(compiled->graph.file)
            .with_found(value.is_tensor() ? "a tensor" : "a sequence or optional")
            .with_needed(declared.type.to_string());
    }
    if (wants_tensor) {
        Tensor& tensor = value.tensor();
        if (tensor.dtype() != declared.type.dtype) {
            return invalid_argument("input '{}' has the wrong element type", declared.name)
                .with_file(compiled->graph.file)
                .with_found(describe(tensor))
                .with_needed(declared.type.to_string());
        }
        if (!tensor.is_aligned()) {
            LEAT_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(tensor.dtype(), tensor.shape()));
            std::memcpy(copy.mutable_bytes(), tensor.bytes(), size_t(tensor.byte_count()));
            compiled->runtime->log(LogLevel::kInfo,
                                   fmt::format("input '{}' is not aligned: copied", declared.name));
            tensor = std::move(copy);
        }
    }
    inputs[size_t(input)] = std::move(value);
    bound[size_t(input)] = true;
    return {};
}

Result<std::unique_ptr<Request::Impl>> Request::Impl::with_open(
    std::string_view default_input) const {
    const std::shared_ptr<CompiledGraph::Impl>& original = closed == nullptr ? compiled : closed;
    std::vector<std::string> names = opened;
    names.insert(std::lower_bound(names.begin(), names.end(), default_input),
                 std::string(default_input));
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<CompiledGraph::Impl> graph,
                          original->open_defaults(names));
    auto request = std::make_unique<Impl>(std::move(graph), place_);
    LEAT_RETURN_IF_ERROR(request->check_count());
    LEAT_RETURN_IF_ERROR(request->reserve());
    request->closed = original;
    request->opened = std::move(names);
    for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string& name = compiled->graph.value(compiled->graph.inputs[i]).name;
        LEAT_ASSIGN_OR_RETURN(const int same, request->compiled->find_input(name));
        request->inputs[size_t(same)] = inputs[i];
        request->bound[size_t(same)] = bound[i];
    }
    request->user_outputs = user_outputs;
    request->results = results;
    return request;
}

Status Request::Impl::bind_output(int output, Tensor tensor) {
    if (tensor.defined() && (tensor.dtype() == DType::kString || !tensor.is_aligned())) {
        return invalid_argument("output '{}' cannot be bound to this memory",
                                compiled->graph.output_names[size_t(output)])
            .with_found(describe(tensor) + (tensor.is_aligned() ? "" : ", unaligned"))
            .with_needed("aligned memory of a numeric type");
    }
    user_outputs[size_t(output)] = std::move(tensor);
    return {};
}

Status Request::Impl::check_bound() const {
    for (size_t i = 0; i < bound.size(); ++i) {
        if (!bound[i]) {
            const ValueData& value = compiled->graph.value(compiled->graph.inputs[i]);
            return invalid_argument("input '{}' is missing", value.name)
                .with_file(compiled->graph.file)
                .with_needed(value.type.to_string())
                .with_hint("bind every input before run()");
        }
    }
    return {};
}

// Where a part's rows begin in the whole.
int64_t Request::Impl::first_byte(const Tensor& whole, int part) const {
    if (!is_divided() || whole.byte_count() == 0) {
        return 0;
    }
    const int64_t row_bytes = whole.byte_count() / whole.shape()[0];
    return division_->rows[size_t(part)].begin * row_bytes;
}

// Where an output is written to; null: to the arena.
Tensor* Request::Impl::target_of(int output) {
    Tensor& user = user_outputs[size_t(output)];
    if (user.defined()) {
        return &user;
    }
    return is_divided() ? &division_->outputs[size_t(output)] : nullptr;
}

Status Request::Impl::check_user_outputs() const {
    for (size_t i = 0; i < user_outputs.size(); ++i) {
        const Tensor& tensor = user_outputs[i];
        const PlanOutput& output = current()->plan().outputs[i];
        const Shape& shape = is_divided() ? division_->outputs[i].shape() : output.shape;
        if (tensor.defined() && (tensor.dtype() != output.dtype || !(tensor.shape() == shape))) {
            return invalid_argument("output '{}' is bound to memory of another shape",
                                    compiled->graph.output_names[i])
                .with_file(compiled->graph.file)
                .with_found(describe(tensor))
                .with_needed(fmt::format("{}[{}]", name_of(output.dtype), shape.to_string()));
        }
    }
    return {};
}

// Points the current instances at what is bound now; only addresses, no allocation.
Status Request::Impl::bind_addresses() {
    LEAT_RETURN_IF_ERROR(check_user_outputs());
    for (const int part : active_) {
        Instance& instance = *parts_[size_t(part)].current();
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (inputs[i].is_tensor()) {
                const Tensor& tensor = inputs[i].tensor();
                const bool is_part = is_divided() && division_->is_divided_input[i];
                instance.set_input(int(i),
                                   tensor.bytes() + (is_part ? first_byte(tensor, part) : 0));
            }
        }
        for (size_t i = 0; i < results.size(); ++i) {
            instance.set_output(int(i), nullptr);
        }
        for (size_t i = 0; i < results.size(); ++i) {
            if (Tensor* target = target_of(int(i))) {
                instance.set_output(int(i), target->mutable_bytes() + first_byte(*target, part));
            }
        }
    }
    return {};
}

Status Request::Impl::collect_results() {
    for (size_t i = 0; i < results.size(); ++i) {
        const PlanOutput& output = current()->plan().outputs[i];
        if (output.dtype ==
            DType::kUndefined) {  // a sequence or optional: only a bound input can be one
            results[i] = inputs[size_t(output.storage.index)];
            continue;
        }
        Tensor* target = target_of(int(i));
        if (target == nullptr) {
            results[i] = Value(Tensor::view(output.dtype, output.shape,
                                            current()->output_data(int(i)), current()->arena()));
            continue;
        }
        for (const int part : active_) {
            copy_output(int(i), part, *target);
        }
        const bool is_user = target == &user_outputs[i];
        results[i] = is_user ? Value(Tensor::view(output.dtype, target->shape(), target->bytes(),
                                                  current()->arena()))
                             : Value(*target);
    }
    return {};
}

// Where it is not there already: an output that is an input or a constant.
void Request::Impl::copy_output(int output, int part, Tensor& target) {
    const Instance& instance = *parts_[size_t(part)].current();
    const PlanOutput& planned = instance.plan().outputs[size_t(output)];
    const std::byte* data = instance.output_data(output);
    std::byte* there = target.mutable_bytes() + first_byte(target, part);
    const int64_t bytes = storage_bytes(planned.dtype, planned.shape.element_count()).value_or(0);
    if (data != there && bytes > 0) {
        std::memcpy(there, data, size_t(bytes));
    }
}

Status Request::Impl::check_not_started() const {
    return is_started_ ? make_error(StatusCode::kBusy, "the request is in flight")
                             .with_file(compiled->graph.file)
                             .with_hint("take its results from the queue first")
                       : Status();
}

Status Request::Impl::run(const RunOptions& options) {
    LEAT_RETURN_IF_ERROR(check_not_started());
    LEAT_RETURN_IF_ERROR(check_bound());
    Status status = wait_for_parts(1, run_here(control_of(options)));
    return status.ok() ? collect_results() : std::move(status).with_file(compiled->graph.file);
}

Status Request::Impl::start(const scheduler::RunControl& control, bool takes_hold) {
    LEAT_RETURN_IF_ERROR(check_not_started());
    LEAT_RETURN_IF_ERROR(check_bound());
    started_ = 0;
    LEAT_RETURN_IF_ERROR(select_instances({}));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    if (takes_hold && clock() != nullptr) {
        clock()->hold_for_caller();
    }
    is_started_ = true;
    for (const int part : active_) {
        ++started_;
        parts_[size_t(part)].start(control);
    }
    return {};
}

bool Request::Impl::work() {
    bool has_ended = true;
    for (const int part : active_) {
        has_ended = parts_[size_t(part)].work() && has_ended;
    }
    return has_ended;
}

void Request::Impl::abandon_clocks() {
    for (const int part : active_) {
        if (RunClock* const own = parts_[size_t(part)].current()->clock()) {
            own->abandon();
        }
    }
}

void Request::Impl::cancel() {
    for (const int part : active_) {
        parts_[size_t(part)].cancel();
    }
}

Status Request::Impl::finish() {
    is_started_ = false;
    Status status = wait_for_parts(0, {});
    return status.ok() ? collect_results() : std::move(status).with_file(compiled->graph.file);
}

// The calling thread goes from node to node to help.
Status Request::Impl::wait_for_parts(size_t begin, Status status) {
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
Status Request::Impl::run_here(const scheduler::RunControl& control) {
    struct Visit {
        explicit Visit(RequestPart& entered) : part(entered) { part.enter(); }
        ~Visit() { part.leave(); }
        RequestPart& part;
    };
    started_ = 1;
    LEAT_RETURN_IF_ERROR(select_instances({}));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    RequestPart& own = parts_[size_t(active_[0])];
    const Visit visit(own);
    for (size_t i = 1; i < active_.size(); ++i) {
        parts_[size_t(active_[i])].start(control);
        started_ = i + 1;
    }
    return own.run(control);
}

void Request::Impl::trim() {
    for (RequestPart& part : parts_) {
        part.trim();
    }
    std::fill(results.begin(), results.end(), Value());
}

Request::Request(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Request::~Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;

// Calls bind(request, index of the input). Where a default input is bound for the first time, that
// is a request of another graph, which takes the place of this one's unless binding fails.
template <class Bind>
Status Request::bind_by_name(std::string_view input, const Bind& bind) {
    LEAT_RETURN_IF_ERROR(impl_->check_not_started());
    std::unique_ptr<Impl> opened;
    if (impl_->compiled->is_default_input(input)) {
        LEAT_ASSIGN_OR_RETURN(opened, impl_->with_open(input));
    }
    Impl& request = opened == nullptr ? *impl_ : *opened;
    LEAT_ASSIGN_OR_RETURN(const int index, request.compiled->find_input(input));
    LEAT_RETURN_IF_ERROR(bind(request, index));
    if (opened != nullptr) {
        impl_ = std::move(opened);
    }
    return {};
}

Status Request::bind(std::string_view input, const Value& value) {
    return catch_bad_alloc("bind the input", [&]() -> Status {
        return bind_by_name(input,
                            [&](Impl& request, int index) { return request.bind(index, value); });
    });
}

Status Request::bind_memory(std::string_view input,
                            DType dtype,
                            std::optional<Shape> shape,
                            const void* data,
                            int64_t count) {
    const auto bind = [&](Impl& request, int index) -> Status {
        if (!shape) {
            shape = request.compiled->fixed_input_shape(index);
        }
        const std::string& file = request.compiled->graph.file;
        if (!shape) {
            return invalid_argument("input '{}' has no fixed shape", input)
                .with_file(file)
                .with_hint("use bind(name, shape, span), or give CompileOptions::shapes");
        }
        if (shape->element_count() != count) {
            return invalid_argument("input '{}': the number of elements does not match the shape",
                                    input)
                .with_file(file)
                .with_found(fmt::format("{} elements", count))
                .with_needed(
                    fmt::format("{} for shape {}", shape->element_count(), shape->to_string()));
        }
        return request.bind(index, Value(Tensor::view(dtype, *shape, data, nullptr)));
    };
    return catch_bad_alloc("bind the input", [&] { return bind_by_name(input, bind); });
}

Status Request::bind_output(std::string_view output, Tensor tensor) {
    return catch_bad_alloc("bind the output", [&]() -> Status {
        LEAT_RETURN_IF_ERROR(impl_->check_not_started());
        LEAT_ASSIGN_OR_RETURN(const int index, impl_->compiled->find_output(output));
        return impl_->bind_output(index, std::move(tensor));
    });
}

Status Request::prepare(const InputShapes& shapes) {
    return catch_bad_alloc("plan for these shapes", [&]() -> Status {
        LEAT_RETURN_IF_ERROR(impl_->check_not_started());
        LEAT_ASSIGN_OR_RETURN(const std::vector<Shape> complete,
                              impl_->compiled->complete_shapes(shapes));
        for (int input : impl_->compiled->deciding_inputs) {
            if (!impl_->bound[size_t(input)]) {
                const ValueData& value =
                    impl_->compiled->graph.value(impl_->compiled->graph.inputs[size_t(input)]);
                return invalid_argument("the value of input '{}' decides shapes", value.name)
                    .with_hint("bind it before prepare()");
            }
        }
        return impl_->select_instances(complete);
    });
}

Status Request::run(const RunOptions& options) {
    return catch_bad_alloc("run the graph", [&] { return impl_->run(options); });
}

Result<Value> Request::output(std::string_view name) const {
    return catch_bad_alloc("find the output", [&]() -> Result<Value> {
        LEAT_ASSIGN_OR_RETURN(const int index, impl_->compiled->find_output(name));
        return impl_->results[size_t(index)];
    });
}

const Tensor* Request::find_output(std::string_view name, DType dtype) const {
    const std::vector<std::string>& names = impl_->compiled->graph.output_names;
    for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name && impl_->results[i].is_tensor() &&
            impl_->results[i].tensor().dtype() == dtype) {
            return &impl_->results[i].tensor();
        }
    }
    return nullptr;
}

void Request::trim() {
    impl_->trim();
}

}  // namespace leat
