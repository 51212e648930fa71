// TransferStep: a copy of one value between the host and memory of a device, as a step of the plan.
// The host itself copies what is short and within its reach; the rest goes by a queue that only
// copies, where the device has one.
#pragma once

#include <memory>

#include "machine/device_part.h"
#include "machine/device_step.h"

namespace leat {

enum class TransferTo : uint8_t { kDevice, kHost };

// The one input, or output, of the step is the value on the host; it has one place on the device.
class TransferStep final : public DeviceStep {
  public:
    // `part`: any that works in that memory.
    TransferStep(std::shared_ptr<const DevicePart> part, TransferTo to, int64_t size_bytes);

    Result<std::unique_ptr<DeviceStepState>> make_state(const DeviceRoom& room) const override;
    Status finish(const KernelArgs& args) const override;

    TransferTo to() const { return to_; }
    int64_t size_bytes() const { return size_bytes_; }

  private:
    Status submit_all(const KernelArgs& args) const override;
    Status copy_on_host(const KernelArgs& args) const;

    std::shared_ptr<const DevicePart> part_;
    TransferTo to_;
    int64_t size_bytes_;
};

}  // namespace leat
