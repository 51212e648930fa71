#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "memory/page_placement.h"
#include "runtime/request_impl.h"

namespace leat {
namespace {

std::string describe(const Tensor& tensor) {
    return fmt::format("{}[{}]", name_of(tensor.dtype()), tensor.shape().to_string());
}

}  // namespace

Request::Impl::Impl(std::shared_ptr<CompiledGraph::Impl> graph, RequestPlace place)
    : compiled(std::move(graph)),
      inputs(compiled->graph.inputs.size()),
      bound(compiled->graph.inputs.size(), false),
      user_outputs(compiled->graph.outputs.size()),
      results(compiled->graph.outputs.size()),
      counted_(compiled->request_count),
      group_(place.group),
      part_(*compiled->runtime, compiled->runtime->groups[size_t(place.group)], place.home) {}

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
    const std::vector<std::shared_ptr<const Plan>> plans = compiled->cached_plans(group_);
    int64_t arena_bytes = 0;
    int64_t scratch_bytes = 0;
    for (const std::shared_ptr<const Plan>& plan : plans) {
        arena_bytes = std::max(arena_bytes, plan->arena_bytes);
        scratch_bytes = std::max(scratch_bytes, plan->scratch_bytes);
    }
    LEAT_RETURN_IF_ERROR(part_.reserve(arena_bytes, scratch_bytes));
    return plans.empty() ? Status() : part_.use(plans.front());
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

bool Request::Impl::matches(const Plan& plan) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].is_tensor() && !(inputs[i].tensor().shape() == plan.key.shapes[i])) {
            return false;
        }
    }
    const std::byte* expected = plan.key.values.data();
    int64_t left = int64_t(plan.key.values.size());
    for (int input : compiled->deciding_inputs) {
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

Status Request::Impl::select_instance(std::span<const Shape> override_shapes) {
    if (override_shapes.empty()) {
        if (current() != nullptr && matches(current()->plan())) {
            return {};
        }
        if (part_.use_instance([this](const Plan& plan) { return matches(plan); })) {
            return {};
        }
    }
    std::vector<Shape> shapes(override_shapes.begin(), override_shapes.end());
    std::vector<const Tensor*> values(inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (override_shapes.empty()) {
            shapes.push_back(inputs[i].is_tensor() ? inputs[i].tensor().shape() : Shape{});
        }
        values[i] = &inputs[i].tensor();
    }
    LEAT_RETURN_IF_ERROR(compiled->check_shapes(shapes));
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                          compiled->plan_for(shapes, values, group_));
    return part_.use(std::move(plan));
}

// Points the current instance at what is bound now; only addresses, no allocation.
Status Request::Impl::bind_addresses() {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].is_tensor()) {
            part_.current()->set_input(int(i), inputs[i].tensor().bytes());
        }
    }
    for (size_t i = 0; i < user_outputs.size(); ++i) {
        Tensor& tensor = user_outputs[i];
        const PlanOutput& output = current()->plan().outputs[i];
        if (tensor.defined() &&
            (tensor.dtype() != output.dtype || !(tensor.shape() == output.shape))) {
            return invalid_argument("output '{}' is bound to memory of another shape",
                                    compiled->graph.output_names[i])
                .with_file(compiled->graph.file)
                .with_found(describe(tensor))
                .with_needed(
                    fmt::format("{}[{}]", name_of(output.dtype), output.shape.to_string()));
        }
        part_.current()->set_output(int(i), nullptr);
    }
    for (size_t i = 0; i < user_outputs.size(); ++i) {
        if (user_outputs[i].defined()) {
            part_.current()->set_output(int(i), user_outputs[i].mutable_bytes());
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
        const std::byte* data = current()->output_data(int(i), inputs);
        Tensor& user = user_outputs[i];
        if (user.defined() && user.bytes() != data && user.byte_count() > 0) {
            std::memcpy(user.mutable_bytes(), data, size_t(user.byte_count()));
            data = user.bytes();
        }
        results[i] = Value(Tensor::view(output.dtype, output.shape, data, current()->arena()));
    }
    return {};
}

Status Request::Impl::run(const RunOptions& options) {
    LEAT_RETURN_IF_ERROR(check_bound());
    struct Visit {  // also where the run finds no memory
        explicit Visit(RequestPart& entered) : part(entered) { part.enter(); }
        ~Visit() { part.leave(); }
        RequestPart& part;
    };
    const Visit visit(part_);
    return run_bound(options);
}

Status Request::Impl::run_bound(const RunOptions& options) {
    scheduler::RunControl control;
    control.stop = options.stop;
    if (options.deadline) {
        control.deadline = std::chrono::steady_clock::now() + *options.deadline;
    }
    LEAT_RETURN_IF_ERROR(select_instance({}));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    Status status = part_.run(control);
    if (!status.ok()) {
        return std::move(status).with_file(compiled->graph.file);
    }
    return collect_results();
}

Result<std::vector<StepTime>> Request::Impl::profile() {
    LEAT_RETURN_IF_ERROR(check_bound());
    LEAT_RETURN_IF_ERROR(select_instance({}));
    LEAT_RETURN_IF_ERROR(bind_addresses());
    const Plan& plan = current()->plan();
    std::vector<std::pair<const NodeData*, StepTime>> timed;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const PlanStep& step = plan.steps[s];
        const auto start = std::chrono::steady_clock::now();
        LEAT_RETURN_IF_ERROR(current()->run_step(int32_t(s), 0, step.kernel->tile_count, 0));
        const auto end = std::chrono::steady_clock::now();
        StepTime& time = timed.emplace_back(step.node, StepTime()).second;
        time.estimated_ns = step.cost_ns;
        time.node = step.node->name;
        time.op_type = step.node->op_type;
        time.kernel = step.kernel->kernel_name;
        time.time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
        const std::span<const TensorArg> args(plan.args);
        const auto ins = args.subspan(size_t(step.first_arg), size_t(step.input_count));
        const auto outs = args.subspan(size_t(step.first_arg) + size_t(step.input_count),
                                       size_t(step.output_count));
        if (step.node->def->cost != nullptr) {
            const Cost cost = step.node->def->cost(*step.node, ins, outs);
            time.flops = cost.flops;
            time.bytes = cost.bytes;
        }
        for (const TensorArg& arg : ins) {
            time.shapes += time.shapes.empty() ? "" : " ";
            time.shapes += arg.shape.to_string();
        }
        time.shapes += " -> ";
        time.shapes += outs[0].shape.to_string();
    }
    LEAT_RETURN_IF_ERROR(collect_results());
    // The plan may have an order of its own.
    std::sort(timed.begin(), timed.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<StepTime> times;
    times.reserve(timed.size());
    for (auto& [node, time] : timed) {
        times.push_back(std::move(time));
    }
    return times;
}

PlacementReport Request::Impl::placement_report() const {
    PlacementReport report;
    report.page_bytes = page_bytes();
    const PageSettings settings = read_page_settings("");
    report.is_balanced_by_system = settings.is_balancing;
    report.huge_pages = settings.huge_pages;
    part_.add_to(report);
    for (const std::shared_ptr<const Slab>& slab : compiled->runtime->weights.slabs()) {
        add_placement(*slab, *compiled->runtime->domains, "weights", report);
    }
    return report;
}

void Request::Impl::trim() {
    part_.trim();
    std::fill(results.begin(), results.end(), Value());
}

Request::Request(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Request::~Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;

Status Request::bind(std::string_view input, const Value& value) {
    return catch_bad_alloc("bind the input", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(const int index, impl_->compiled->find_input(input));
        return impl_->bind(index, value);
    });
}

Status Request::bind_memory(std::string_view input,
                            DType dtype,
                            std::optional<Shape> shape,
                            const void* data,
                            int64_t count) {
    return catch_bad_alloc("bind the input", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(const int index, impl_->compiled->find_input(input));
        if (!shape) {
            shape = impl_->compiled->fixed_input_shape(index);
        }
        if (!shape) {
            return invalid_argument("input '{}' has no fixed shape", input)
                .with_file(impl_->compiled->graph.file)
                .with_hint("use bind(name, shape, span), or give CompileOptions::shapes");
        }
        if (shape->element_count() != count) {
            return invalid_argument("input '{}': the number of elements does not match the shape",
                                    input)
                .with_file(impl_->compiled->graph.file)
                .with_found(fmt::format("{} elements", count))
                .with_needed(
                    fmt::format("{} for shape {}", shape->element_count(), shape->to_string()));
        }
        return impl_->bind(index, Value(Tensor::view(dtype, *shape, data, nullptr)));
    });
}

Status Request::bind_output(std::string_view output, Tensor tensor) {
    return catch_bad_alloc("bind the output", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(const int index, impl_->compiled->find_output(output));
        return impl_->bind_output(index, std::move(tensor));
    });
}

Status Request::prepare(const InputShapes& shapes) {
    return catch_bad_alloc("plan for these shapes", [&]() -> Status {
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
        return impl_->select_instance(complete);
    });
}

Status Request::run(const RunOptions& options) {
    return catch_bad_alloc("run the graph", [&] { return impl_->run(options); });
}
Result<std::vector<StepTime>> Request::profile() {
    return catch_bad_alloc("profile the graph", [&] { return impl_->profile(); });
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

RunReport Request::run_report() const {
    RunReport report;
    if (impl_->current() != nullptr) {
        const scheduler::RunStats stats = impl_->current()->run_stats();
        report = {stats.runs, stats.wall_ns, stats.imbalance, stats.advises_recompile};
    }
    return report;
}

PlacementReport Request::placement_report() const {
    return impl_->placement_report();
}

void Request::trim() {
    impl_->trim();
}

std::string Request::trace_json() const {
    return impl_->current() == nullptr ? "{\"traceEvents\":[]}\n" : impl_->current()->trace_json();
}

int Request::threads_used() const {
    return impl_->current() == nullptr ? 0 : impl_->current()->workers_used();
}

const PlanReport& Request::plan_report() const {
    static const PlanReport kNone;
    return impl_->current() == nullptr ? kNone : impl_->current()->plan().report;
}

}  // namespace leat
