#include "machine/device_kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/plugin/plugin_answers.h"
#include "base/elapsed.h"
#include "base/round_up.h"
#include "leat/plugin_backend.h"
#include "ops/roofline.h"

namespace leat {
namespace {

// Times of a device whose clock is further from the host's say nothing about a run. A thread that
// is interrupted between two looks at clocks is that far from any: it looks again.
constexpr int64_t kMostUncertaintyNs = 1'000'000;
constexpr int kLooksAtClocks = 8;

std::optional<LeatClockSample> compare_clocks(const DevicePlace& place) {
    const DeviceBackend& backend = *place.backend;
    for (int look = 0; look < kLooksAtClocks; ++look) {
        auto sample = plugin::made<LeatClockSample>();
        PluginError error;
        if (backend.api().clock_correlation(backend.handle(), place.number, &sample, error.get()) !=
            kLeatOk) {
            return std::nullopt;
        }
        if (sample.uncertainty_ns <= kMostUncertaintyNs) {
            return sample;
        }
    }
    return std::nullopt;
}

// Adds the time until it ends.
class TimedCall {
  public:
    explicit TimedCall(int64_t& time_ns) : time_ns_(time_ns) {}
    TimedCall(const TimedCall&) = delete;
    TimedCall& operator=(const TimedCall&) = delete;
    ~TimedCall() { time_ns_ += nanoseconds_since(start_); }

  private:
    int64_t& time_ns_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The requirements of an executable, until this ends.
class OwnedRequirements {
  public:
    OwnedRequirements(const DevicePlace& place,
                      const LeatRequirements* table,
                      int64_t& backend_time_ns)
        : place_(place), table_(table), backend_time_ns_(backend_time_ns) {}
    OwnedRequirements(const OwnedRequirements&) = delete;
    OwnedRequirements& operator=(const OwnedRequirements&) = delete;
    ~OwnedRequirements() {
        const TimedCall timed(backend_time_ns_);
        place_.backend->api().free_requirements(place_.backend->handle(), table_);
    }

  private:
    const DevicePlace& place_;
    const LeatRequirements* table_;
    int64_t& backend_time_ns_;
};

// Steps in an order in which each comes after those that it waits for; a position for each step.
std::vector<int32_t> positions_of(const LeatRequirements& table) {
    std::vector<std::vector<int32_t>> after(size_t(table.step_count));
    std::vector<int32_t> waits(size_t(table.step_count));
    for (int32_t e = 0; e < table.edge_count; ++e) {
        after[size_t(table.edges[e].from_step)].push_back(table.edges[e].to_step);
        ++waits[size_t(table.edges[e].to_step)];
    }
    std::vector<int32_t> ready;
    for (int32_t s = table.step_count - 1; s >= 0; --s) {
        if (waits[size_t(s)] == 0) {
            ready.push_back(s);
        }
    }
    std::vector<int32_t> positions(size_t(table.step_count), -1);
    int32_t next = 0;
    while (!ready.empty()) {
        const int32_t step = ready.back();
        ready.pop_back();
        positions[size_t(step)] = next++;
        for (const int32_t later : after[size_t(step)]) {
            if (--waits[size_t(later)] == 0) {
                ready.push_back(later);
            }
        }
    }
    return positions;
}

// Of the step numbers that a backend told, the positions, ascending.
void add_positions(std::span<const int32_t> steps,
                   std::span<const int32_t> positions,
                   std::vector<int32_t>& found) {
    for (const int32_t step : steps) {
        found.push_back(positions[size_t(step)]);
    }
    std::sort(found.begin(), found.end());
}

// When operands are in use; of none where the backend does not tell.
LeatOperandSteps operand_steps_of(const LeatRequirements& table) {
    const LeatChained* chained = plugin::find_chained(table.header, LEAT_OPERAND_STEPS);
    return chained == nullptr ? LeatOperandSteps{}
                              : plugin::read_chained<LeatOperandSteps>(chained);
}

// Visits all numbers that are told of steps and of who uses what.
template <class Visit>
void for_each_number(const LeatRequirements& table, const Visit& visit) {
    const auto visit_list = [&visit](const int32_t* numbers, int32_t count) {
        visit(count);
        std::for_each(numbers, numbers + count, visit);
    };
    visit(table.step_count);
    visit(table.edge_count);
    for (int32_t e = 0; e < table.edge_count; ++e) {
        visit(table.edges[e].from_step);
        visit(table.edges[e].to_step);
    }
    visit(table.transient_count);
    for (int32_t t = 0; t < table.transient_count; ++t) {
        visit_list(table.transients[t]->steps, table.transients[t]->step_count);
    }
    const LeatOperandSteps operands = operand_steps_of(table);
    visit(operands.input_count);
    for (int32_t i = 0; i < operands.input_count; ++i) {
        visit_list(operands.inputs[i].steps, operands.inputs[i].step_count);
    }
    for (int32_t i = 0; i < operands.output_count; ++i) {
        visit_list(operands.outputs[i].steps, operands.outputs[i].step_count);
    }
}

std::vector<int32_t> numbers_of(const LeatRequirements& table) {
    std::vector<int32_t> all;
    for_each_number(table, [&all](int32_t number) { all.push_back(number); });
    return all;
}

bool has_numbers(const LeatRequirements& table, std::span<const int32_t> told) {
    size_t next = 0;
    bool is_alike = true;
    for_each_number(table, [&](int32_t number) {
        is_alike = is_alike && next < told.size() && told[next] == number;
        ++next;
    });
    return is_alike && next == told.size();
}

void add_operand_steps(const LeatRequirements& table,
                       std::span<const int32_t> positions,
                       PartInside& inside) {
    const LeatOperandSteps told = operand_steps_of(table);
    const std::pair<std::span<const LeatStepList>, std::vector<std::vector<int32_t>>*> sides[] = {
        {{told.inputs, size_t(told.input_count)}, &inside.inputs},
        {{told.outputs, size_t(told.output_count)}, &inside.outputs}};
    for (const auto& [lists, operands] : sides) {
        for (size_t i = 0; i < std::min(lists.size(), operands->size()); ++i) {
            add_positions({lists[i].steps, size_t(lists[i].step_count)}, positions, (*operands)[i]);
        }
    }
}

// By step, numbered as the backend does.
std::vector<std::string> step_names_of(const LeatRequirements& table) {
    std::vector<std::string> names(size_t(table.step_count));
    LeatStepNames told{};
    if (const LeatChained* chained = plugin::find_chained(table.header, LEAT_STEP_NAMES)) {
        told = plugin::read_chained<LeatStepNames>(chained);
    }
    for (int32_t s = 0; s < table.step_count; ++s) {
        names[size_t(s)] = s < told.step_count ? told.names[s] : fmt::format("step {}", s);
    }
    return names;
}

}  // namespace

// What one instance of a plan has on the device.
class DeviceState final : public DeviceStepState {
  public:
    explicit DeviceState(std::shared_ptr<const DevicePart> part)
        : DeviceStepState(part->place().backend, 1),
          part_(std::move(part)),
          profile_(plugin::made<LeatProfile>()) {}
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;
    ~DeviceState() override {
        flight.cancel();
        flight.wait_for_end();
        part_->place().backend->give_back(&LeatBackendApi::free_instance, instance_);
    }

    Status make(const DeviceKernel& kernel, const DeviceRoom& room);
    Status execute();
    std::vector<scheduler::TraceSpan> inner_times() const override;

  private:
    const LeatBackendApi& api() const { return part_->place().backend->api(); }
    LeatBackend* backend() const { return part_->place().backend->handle(); }
    Status place_known(const DeviceKernel& kernel);
    LeatBinding binding_of(const DeviceKernel::Operand& operand, int64_t offset_bytes) const;
    Status link(const DeviceKernel& kernel, std::span<const int64_t> transients);
    Status send_known(const DeviceKernel& kernel);

    std::shared_ptr<const DevicePart> part_;
    std::shared_ptr<DeviceSlab> shared_;  // with the other steps of the plan; null: nothing there
    std::shared_ptr<DeviceSlab> known_;   // inputs that no run changes; null: there are none
    std::vector<LeatBinding> inputs_;
    std::vector<LeatBinding> outputs_;
    LeatInstance* instance_ = nullptr;  // goes before its slabs
    // Of the steps inside; empty: nobody wants their times.
    std::vector<std::string> step_names_;
    std::vector<LeatStepTime> step_times_;
    LeatProfile profile_;  // of the last flight
};

Status DeviceState::make(const DeviceKernel& kernel, const DeviceRoom& room) {
    shared_ = room.slab;
    const size_t inputs = kernel.inputs_.size();
    const size_t outputs = kernel.outputs_.size();
    for (size_t i = 0; i < inputs; ++i) {
        inputs_.push_back(binding_of(kernel.inputs_[i], room.offsets[i]));
    }
    for (size_t i = 0; i < outputs; ++i) {
        outputs_.push_back(binding_of(kernel.outputs_[i], room.offsets[inputs + i]));
    }
    LEAT_RETURN_IF_ERROR(place_known(kernel));
    LEAT_RETURN_IF_ERROR(link(kernel, room.offsets.subspan(inputs + outputs)));
    if (room.records_times) {
        LEAT_ASSIGN_OR_RETURN(step_names_, kernel.step_names());
        step_times_.resize(step_names_.size());
        profile_.capacity = int32_t(step_times_.size());
        profile_.steps = step_times_.data();
    }
    return send_known(kernel);
}

LeatBinding DeviceState::binding_of(const DeviceKernel::Operand& operand,
                                    int64_t offset_bytes) const {
    const bool has_place = operand.has_place() && shared_ != nullptr;
    return {has_place ? shared_->handle() : nullptr, has_place ? offset_bytes : 0,
            operand.size_bytes, nullptr};
}

// One behind the other, in memory that nothing else uses.
Status DeviceState::place_known(const DeviceKernel& kernel) {
    int64_t bytes = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (kernel.inputs_[i].is_kept()) {
            inputs_[i].offset_bytes = bytes;
            bytes +=
                round_up(std::max<int64_t>(inputs_[i].bytes, 1), part_->domain().alignment_bytes);
        }
    }
    if (bytes == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(known_,
                          DeviceSlab::allocate(part_->place().backend, part_->domain(), bytes));
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (kernel.inputs_[i].is_kept()) {
            inputs_[i].slab = known_->handle();
        }
    }
    return {};
}

Status DeviceState::link(const DeviceKernel& kernel, std::span<const int64_t> transients) {
    std::vector<LeatPlacement> places;
    places.reserve(transients.size());
    for (const int64_t offset : transients) {
        places.push_back({shared_ == nullptr ? nullptr : shared_->handle(), offset});
    }
    LEAT_ASSIGN_OR_RETURN(instance_,
                          part_->link(kernel.shape(), places, "link a part of the graph"));
    return {};
}

Status DeviceState::send_known(const DeviceKernel& kernel) {
    ConstantCopies copies(part_->place().backend, part_->copy_queue());
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const DeviceKernel::Operand& input = kernel.inputs_[i];
        if (input.is_kept()) {
            LEAT_RETURN_IF_ERROR(copies.upload({known_, inputs_[i].offset_bytes},
                                               {input.known.bytes(), size_t(input.size_bytes)}));
        }
    }
    return copies.finish();
}

Status DeviceState::execute() {
    profile_.count = 0;
    return flight
        .submit(part_->queue(), waits, "start a run",
                [&](LeatSubmission& submission, LeatError* error) {
                    submission.profile = step_times_.empty() ? nullptr : &profile_;
                    return api().execute(backend(), instance_, &submission, inputs_.data(),
                                         outputs_.data(), error);
                })
        .error();
}

std::vector<scheduler::TraceSpan> DeviceState::inner_times() const {
    std::vector<scheduler::TraceSpan> spans;
    const std::optional<LeatClockSample> clock =
        profile_.count == 0 ? std::nullopt : compare_clocks(part_->place());
    if (!clock) {
        return spans;
    }
    const auto host_ns = [&clock](int64_t ticks) {
        return clock->host_ns +
               std::llround(double(ticks - clock->device_ticks) * clock->ns_per_tick);
    };
    const int32_t count = std::clamp(profile_.count, 0, profile_.capacity);
    for (const LeatStepTime& time : std::span(step_times_).first(size_t(count))) {
        if (time.step >= 0 && size_t(time.step) < step_names_.size()) {
            spans.push_back({step_names_[size_t(time.step)], host_ns(time.begin_ticks),
                             host_ns(time.end_ticks)});
        }
    }
    return spans;
}

Result<std::unique_ptr<DeviceKernel>> DeviceKernel::make(std::shared_ptr<const DevicePart> part,
                                                         std::vector<int64_t> extents,
                                                         const PrepareContext& context,
                                                         int64_t& backend_time_ns) {
    std::unique_ptr<DeviceKernel> kernel(new DeviceKernel(std::move(part)));
    kernel->kernel_name = "device_part";
    kernel->device_label = kernel->part_->place().label;
    kernel->follows_on_device = true;
    kernel->extents_ = std::move(extents);
    LEAT_RETURN_IF_ERROR(kernel->add_inputs(context));
    kernel->outputs_.reserve(context.outputs.size());
    for (const TensorArg& output : context.outputs) {
        Operand& operand = kernel->outputs_.emplace_back();
        operand.size_bytes = bytes_of(output);
    }
    const auto* former = dynamic_cast<const DeviceKernel*>(context.former.kernel);
    LEAT_RETURN_IF_ERROR(kernel->ask_requirements(
        [&](const LeatRequirements& table) { return kernel->read_requirements(table, former); },
        backend_time_ns));
    return kernel;
}

Status DeviceKernel::add_inputs(const PrepareContext& context) {
    const uint64_t host_inputs = part_->info().host_inputs_low;
    inputs_.resize(context.inputs.size());
    host_inputs_.resize(host_inputs == 0 ? 0 : context.inputs.size());
    host_input_places_.resize(context.inputs.size());
    for (size_t i = 0; i < context.inputs.size(); ++i) {
        const TensorArg& arg = context.inputs[i];
        Operand& operand = inputs_[i];
        operand.size_bytes = bytes_of(arg);
        operand.is_host_input = part_->is_host_input(i);
        if (context.constants[i] != nullptr && !part_->is_streamed(i)) {
            // A copy: the plan's own may be a view of a file, at any address.
            LEAT_ASSIGN_OR_RETURN(operand.known, Tensor::allocate(arg.dtype, arg.shape));
            std::memcpy(operand.known.mutable_bytes(), context.constants[i]->bytes(),
                        size_t(operand.size_bytes));
        }
        if (!operand.is_host_input) {
            continue;
        }
        if (!operand.known.defined()) {
            return make_error(StatusCode::kInternal,
                              "input {} of a part for {} is read before the run, and not known", i,
                              part_->place().label);
        }
        LeatTensorView& view = host_inputs_[i];
        view = plugin::made<LeatTensorView>();
        view.dtype = int32_t(arg.dtype);
        view.rank = arg.shape.rank();
        view.extents = operand.known.shape().begin();
        view.data = operand.known.mutable_bytes();
        view.bytes = operand.size_bytes;
        host_input_places_[i] = &view;
    }
    return {};
}

LeatRunShape DeviceKernel::shape() const {
    auto shape = plugin::made<LeatRunShape>();
    shape.symbol_count = int32_t(extents_.size());
    shape.symbols = extents_.data();
    shape.input_count = int32_t(host_input_places_.size());
    shape.host_inputs = host_input_places_.data();
    return shape;
}

template <class Read>
Status DeviceKernel::ask_requirements(const Read& read, int64_t& backend_time_ns) const {
    const DevicePlace& place = part_->place();
    const LeatRunShape run_shape = shape();
    const LeatRequirements* table = nullptr;
    PluginError error;
    const LeatCode code = [&] {
        const TimedCall timed(backend_time_ns);
        return place.backend->api().requirements(place.backend->handle(), part_->executable(),
                                                 &run_shape, &table, error.get());
    }();
    if (code != kLeatOk) {
        return error.status(code, "plan a part of the graph for these shapes");
    }
    const OwnedRequirements owned(place, table, backend_time_ns);
    LEAT_RETURN_IF_ERROR(
        check_requirements(*table, int32_t(outputs_.size())).with_file(place.backend->file()));
    return read(*table);
}

Result<std::vector<std::string>> DeviceKernel::step_names() const {
    std::vector<std::string> names;
    int64_t unused_ns = 0;
    LEAT_RETURN_IF_ERROR(ask_requirements(
        [&names](const LeatRequirements& table) {
            names = step_names_of(table);
            return Status();
        },
        unused_ns));
    return names;
}

Status DeviceKernel::read_requirements(const LeatRequirements& table, const DeviceKernel* former) {
    transients_.reserve(size_t(table.transient_count));
    for (int32_t t = 0; t < table.transient_count; ++t) {
        const LeatTransient& transient = *table.transients[t];
        transients_.push_back({transient.bytes, std::max(transient.alignment_bytes,
                                                         part_->domain().alignment_bytes)});
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
        outputs_[i].size_bytes = table.output_bytes[i];
    }
    if (former != nullptr && former->part_ == part_ && has_numbers(table, former->inside_->told)) {
        inside_ = former->inside_;
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(inside_, read_inside(table, numbers_of(table)));
    return {};
}

Result<std::shared_ptr<const PartInside>> DeviceKernel::read_inside(
    const LeatRequirements& table, std::vector<int32_t> told) const {
    const std::vector<int32_t> positions = positions_of(table);
    if (std::find(positions.begin(), positions.end(), -1) != positions.end()) {
        return make_error(StatusCode::kInternal, "steps of a part for {} wait for each other",
                          part_->place().label);
    }
    auto inside = std::make_shared<PartInside>();
    inside->told = std::move(told);
    inside->waits.resize(positions.size());
    for (int32_t e = 0; e < table.edge_count; ++e) {
        const LeatEdge edge = table.edges[e];
        inside->waits[size_t(positions[size_t(edge.to_step)])].push_back(
            positions[size_t(edge.from_step)]);
    }
    inside->transients.resize(size_t(table.transient_count));
    for (int32_t t = 0; t < table.transient_count; ++t) {
        const LeatTransient& transient = *table.transients[t];
        add_positions({transient.steps, size_t(transient.step_count)}, positions,
                      inside->transients[size_t(t)]);
    }
    inside->inputs.resize(inputs_.size());
    inside->outputs.resize(outputs_.size());
    add_operand_steps(table, positions, *inside);
    return std::shared_ptr<const PartInside>(std::move(inside));
}

Result<std::unique_ptr<DeviceStepState>> DeviceKernel::make_state(const DeviceRoom& room) const {
    auto state = std::make_unique<DeviceState>(part_);
    LEAT_RETURN_IF_ERROR(state->make(*this, room));
    return std::unique_ptr<DeviceStepState>(std::move(state));
}

Status DeviceKernel::submit_all(const KernelArgs& args) const {
    return static_cast<DeviceState*>(args.state)->execute();
}

Status DeviceKernel::finish(const KernelArgs& args) const {
    return state_of(*args.state).flight.status("finish a run");
}

}  // namespace leat
