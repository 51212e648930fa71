#include "plan/devices/transfer_step.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/device_costs.h"

namespace leat {
namespace {

// The value's place on the device.
class TransferState final : public DeviceStepState {
  public:
    TransferState(std::shared_ptr<DeviceBackend> backend, const DeviceRoom& room)
        : DeviceStepState(std::move(backend), 1), slab(room.slab), offset_bytes(room.offsets[0]) {}

    std::shared_ptr<DeviceSlab> slab;
    int64_t offset_bytes;
};

}  // namespace

TransferStep::TransferStep(std::shared_ptr<const DevicePart> part,
                           TransferTo to,
                           int64_t size_bytes)
    : part_(std::move(part)), to_(to), size_bytes_(size_bytes) {
    kernel_name = to == TransferTo::kDevice ? "upload" : "download";
    device_label = part_->place().label;
    is_submitted = size_bytes > std::max<int64_t>(part_->direct_bytes(), 0);
    cost_ns = transfer_ns(size_bytes, kHostCopy);
}

Result<std::unique_ptr<DeviceStepState>> TransferStep::make_state(const DeviceRoom& room) const {
    std::unique_ptr<DeviceStepState> state =
        std::make_unique<TransferState>(part_->place().backend, room);
    return state;
}

Status TransferStep::submit_all(const KernelArgs& args) const {
    if (!is_submitted) {
        return {};
    }
    auto& state = static_cast<TransferState&>(*args.state);
    auto copy = plugin::made<LeatCopy>();
    copy.bytes = size_bytes_;
    const LeatPlacement there{state.slab->handle(), state.offset_bytes};
    if (to_ == TransferTo::kDevice) {
        copy.from_host = args.inputs[0].data;
        copy.to = there;
    } else {
        copy.from = there;
        copy.to_host = args.outputs[0].data;
    }
    const DeviceBackend& backend = *part_->place().backend;
    return state.flight
        .submit(part_->copy_queue(), state.waits, "copy",
                [&](const LeatSubmission& submission, LeatError* error) {
                    return backend.api().submit_copy(backend.handle(), &submission, &copy, error);
                })
        .error();
}

Status TransferStep::copy_on_host(const KernelArgs& args) const {
    const auto& state = static_cast<const TransferState&>(*args.state);
    if (size_bytes_ == 0) {
        return {};
    }
    std::byte* there = state.slab->mapped() + state.offset_bytes;
    if (to_ == TransferTo::kDevice) {
        std::memcpy(there, args.inputs[0].data, size_t(size_bytes_));
        return state.slab->flush(state.offset_bytes, size_bytes_);
    }
    LEAT_RETURN_IF_ERROR(state.slab->flush(state.offset_bytes, size_bytes_));
    std::memcpy(args.outputs[0].data, there, size_t(size_bytes_));
    return {};
}

Status TransferStep::finish(const KernelArgs& args) const {
    return is_submitted ? state_of(*args.state).flight.status("copy") : copy_on_host(args);
}

}  // namespace leat
