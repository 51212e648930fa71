#include "runtime/device_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/round_up.h"
#include "leat/plugin_backend.h"
#include "memory/plan.h"

namespace leat {
namespace {

int64_t bytes_of(const TensorArg& arg) {
    return storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0);
}

// The requirements of an executable, until this ends.
class OwnedRequirements {
  public:
    OwnedRequirements(const DevicePlace& place, const LeatRequirements* table)
        : place_(place), table_(table) {}
    OwnedRequirements(const OwnedRequirements&) = delete;
    OwnedRequirements& operator=(const OwnedRequirements&) = delete;
    ~OwnedRequirements() {
        place_.backend->api().free_requirements(place_.backend->handle(), table_);
    }
    const LeatRequirements& table() const { return *table_; }

  private:
    const DevicePlace& place_;
    const LeatRequirements* table_;
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

}  // namespace

// What one instance of a plan has on the device.
class DeviceState final : public KernelState {
  public:
    explicit DeviceState(std::shared_ptr<const DevicePart> part) : part_(std::move(part)) {}
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;
    ~DeviceState() override {
        if (instance_ != nullptr) {
            api().free_instance(backend(), instance_);
        }
    }

    Status make(const DeviceKernel& kernel);
    Status run(const DeviceKernel& kernel, const KernelArgs& args);

  private:
    const LeatBackendApi& api() const { return part_->place().backend->api(); }
    LeatBackend* backend() const { return part_->place().backend->handle(); }
    Status link(const DeviceKernel& kernel);
    std::vector<LeatBinding> bindings_of(std::span<const DeviceKernel::Operand> operands) const;
    // Moves bytes between the host and the bindings' slab.
    Status upload(const std::byte* from, const DeviceKernel::Operand& operand);
    Status download(const DeviceKernel::Operand& operand, std::byte* to);
    Status copy(const LeatCopy& copy);
    Status execute();

    std::shared_ptr<const DevicePart> part_;
    std::shared_ptr<DeviceSlab> transients_;  // null: none are needed
    std::shared_ptr<DeviceSlab> bindings_;
    std::vector<LeatBinding> inputs_;
    std::vector<LeatBinding> outputs_;
    LeatInstance* instance_ = nullptr;  // goes before its slabs
};

Status DeviceState::make(const DeviceKernel& kernel) {
    const std::shared_ptr<DeviceBackend>& device = part_->place().backend;
    if (kernel.transient_bytes_ > 0) {
        LEAT_ASSIGN_OR_RETURN(
            transients_, DeviceSlab::allocate(device, part_->domain(), kernel.transient_bytes_));
    }
    if (kernel.binding_bytes_ > 0) {
        LEAT_ASSIGN_OR_RETURN(bindings_,
                              DeviceSlab::allocate(device, part_->domain(), kernel.binding_bytes_));
    }
    inputs_ = bindings_of(kernel.inputs_);
    outputs_ = bindings_of(kernel.outputs_);
    LEAT_RETURN_IF_ERROR(link(kernel));
    for (const DeviceKernel::Operand& input : kernel.inputs_) {
        if (input.known.defined() && !input.is_host_input) {
            LEAT_RETURN_IF_ERROR(upload(input.known.bytes(), input));
        }
    }
    return {};
}

std::vector<LeatBinding> DeviceState::bindings_of(
    std::span<const DeviceKernel::Operand> operands) const {
    std::vector<LeatBinding> bindings;
    bindings.reserve(operands.size());
    for (const DeviceKernel::Operand& operand : operands) {
        const bool has_place = !operand.is_host_input && bindings_ != nullptr;
        bindings.push_back({has_place ? bindings_->handle() : nullptr, operand.offset_bytes,
                            operand.size_bytes, nullptr});
    }
    return bindings;
}

Status DeviceState::link(const DeviceKernel& kernel) {
    std::vector<LeatPlacement> places;
    places.reserve(kernel.transient_offsets_.size());
    for (const int64_t offset : kernel.transient_offsets_) {
        places.push_back({transients_ == nullptr ? nullptr : transients_->handle(), offset});
    }
    auto linkage = plugin::made<LeatLinkage>();
    linkage.transient_count = int32_t(places.size());
    linkage.transients = places.data();
    linkage.constant_count = int32_t(part_->constants().size());
    linkage.constants = part_->constants().data();
    const LeatRunShape shape = kernel.shape();
    PluginError error;
    const LeatCode code =
        api().link(backend(), part_->executable(), &shape, &linkage, &instance_, error.get());
    if (code != kLeatOk) {
        instance_ = nullptr;
    }
    return error.status(code, "link a part of the graph");
}

Status DeviceState::copy(const LeatCopy& copy) {
    DeviceBackend& device = *part_->place().backend;
    LEAT_ASSIGN_OR_RETURN(
        const LeatPoint point, device.submit(part_->queue(), [&](LeatPoint signal) {
            auto submission = plugin::made<LeatSubmission>();
            submission.signal = signal;
            PluginError error;
            return error.status(api().submit_copy(backend(), &submission, &copy, error.get()),
                                "copy");
        }));
    return device.wait(point);
}

Status DeviceState::upload(const std::byte* from, const DeviceKernel::Operand& operand) {
    if (operand.size_bytes == 0) {
        return {};
    }
    if (bindings_->mapped() != nullptr) {
        std::memcpy(bindings_->mapped() + operand.offset_bytes, from, size_t(operand.size_bytes));
        return bindings_->flush(operand.offset_bytes, operand.size_bytes);
    }
    auto request = plugin::made<LeatCopy>();
    request.from_host = from;
    request.to = {bindings_->handle(), operand.offset_bytes};
    request.bytes = operand.size_bytes;
    return copy(request);
}

Status DeviceState::download(const DeviceKernel::Operand& operand, std::byte* to) {
    if (operand.size_bytes == 0) {
        return {};
    }
    if (bindings_->mapped() != nullptr) {
        LEAT_RETURN_IF_ERROR(bindings_->flush(operand.offset_bytes, operand.size_bytes));
        std::memcpy(to, bindings_->mapped() + operand.offset_bytes, size_t(operand.size_bytes));
        return {};
    }
    auto request = plugin::made<LeatCopy>();
    request.from = {bindings_->handle(), operand.offset_bytes};
    request.to_host = to;
    request.bytes = operand.size_bytes;
    return copy(request);
}

Status DeviceState::execute() {
    DeviceBackend& device = *part_->place().backend;
    LEAT_ASSIGN_OR_RETURN(
        const LeatPoint point, device.submit(part_->queue(), [&](LeatPoint signal) {
            auto submission = plugin::made<LeatSubmission>();
            submission.signal = signal;
            PluginError error;
            return error.status(api().execute(backend(), instance_, &submission, inputs_.data(),
                                              outputs_.data(), error.get()),
                                "start a run");
        }));
    return device.wait(point);
}

Status DeviceState::run(const DeviceKernel& kernel, const KernelArgs& args) {
    for (size_t i = 0; i < kernel.inputs_.size(); ++i) {
        const DeviceKernel::Operand& input = kernel.inputs_[i];
        if (!input.is_host_input && !input.known.defined()) {
            LEAT_RETURN_IF_ERROR(upload(args.inputs[i].data, input));
        }
    }
    LEAT_RETURN_IF_ERROR(execute());
    for (size_t i = 0; i < kernel.outputs_.size(); ++i) {
        if (args.outputs[i].present()) {
            LEAT_RETURN_IF_ERROR(download(kernel.outputs_[i], args.outputs[i].data));
        }
    }
    return {};
}

Result<std::unique_ptr<DeviceKernel>> DeviceKernel::make(std::shared_ptr<const DevicePart> part,
                                                         std::vector<int64_t> extents,
                                                         const PrepareContext& context) {
    std::unique_ptr<DeviceKernel> kernel(new DeviceKernel(std::move(part)));
    kernel->kernel_name = "device_part";
    kernel->extents_ = std::move(extents);
    LEAT_RETURN_IF_ERROR(kernel->add_inputs(context));
    for (const TensorArg& output : context.outputs) {
        Operand& operand = kernel->outputs_.emplace_back();
        operand.size_bytes = output.present() ? bytes_of(output) : 0;
    }
    LEAT_RETURN_IF_ERROR(kernel->place_transients());
    return kernel;
}

Status DeviceKernel::add_inputs(const PrepareContext& context) {
    const uint64_t host_inputs = part_->info().host_inputs_low;
    inputs_.resize(context.inputs.size());
    host_inputs_.resize(context.inputs.size());
    host_input_places_.resize(context.inputs.size());
    for (size_t i = 0; i < context.inputs.size(); ++i) {
        const TensorArg& arg = context.inputs[i];
        Operand& operand = inputs_[i];
        operand.size_bytes = bytes_of(arg);
        operand.is_host_input = i < 64 && (host_inputs >> i & 1U) != 0;
        if (context.constants[i] != nullptr) {
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

Status DeviceKernel::place_transients() {
    const DevicePlace& place = part_->place();
    const LeatRunShape run_shape = shape();
    const LeatRequirements* table = nullptr;
    PluginError error;
    const LeatCode code = place.backend->api().requirements(
        place.backend->handle(), part_->executable(), &run_shape, &table, error.get());
    if (code != kLeatOk) {
        return error.status(code, "plan a part of the graph for these shapes");
    }
    const OwnedRequirements owned(place, table);
    const std::vector<int32_t> positions = positions_of(*table);
    std::vector<std::vector<int32_t>> predecessors(positions.size());
    for (int32_t e = 0; e < table->edge_count; ++e) {
        const LeatEdge edge = table->edges[e];
        predecessors[size_t(positions[size_t(edge.to_step)])].push_back(
            positions[size_t(edge.from_step)]);
    }
    std::vector<UsedBuffer> buffers;
    buffers.reserve(size_t(table->transient_count));
    for (int32_t t = 0; t < table->transient_count; ++t) {
        const LeatTransient& transient = *table->transients[t];
        UsedBuffer& buffer = buffers.emplace_back();
        buffer.size_bytes = transient.bytes;
        buffer.alignment_bytes =
            std::max(transient.alignment_bytes, part_->domain().alignment_bytes);
        for (int32_t s = 0; s < transient.step_count; ++s) {
            buffer.users.push_back(positions[size_t(transient.steps[s])]);
        }
        std::sort(buffer.users.begin(), buffer.users.end());
    }
    LEAT_ASSIGN_OR_RETURN(const MemoryPlan plan, plan_offsets(buffers, StepOrder(predecessors)));
    LEAT_RETURN_IF_ERROR(check_plan(buffers, predecessors, plan));
    transient_offsets_ = plan.offsets;
    transient_bytes_ = plan.height_bytes;
    place_operands({table->output_bytes, size_t(table->output_count)});
    return {};
}

// Bindings lie one behind the other: the caller sees them all at the end of a run.
void DeviceKernel::place_operands(std::span<const int64_t> output_bytes) {
    const int64_t alignment = part_->domain().alignment_bytes;
    for (Operand& operand : inputs_) {
        if (!operand.is_host_input) {
            operand.offset_bytes = binding_bytes_;
            binding_bytes_ += round_up(std::max<int64_t>(operand.size_bytes, 1), alignment);
        }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
        outputs_[i].size_bytes = output_bytes[i];
        outputs_[i].offset_bytes = binding_bytes_;
        binding_bytes_ += round_up(std::max<int64_t>(output_bytes[i], 1), alignment);
    }
}

Result<std::unique_ptr<KernelState>> DeviceKernel::make_state() const {
    auto state = std::make_unique<DeviceState>(part_);
    LEAT_RETURN_IF_ERROR(state->make(*this));
    return std::unique_ptr<KernelState>(std::move(state));
}

Status DeviceKernel::run(const KernelArgs& args,
                         int64_t /*tile_begin*/,
                         int64_t /*tile_end*/) const {
    return static_cast<DeviceState*>(args.state)->run(*this, args);
}

}  // namespace leat
