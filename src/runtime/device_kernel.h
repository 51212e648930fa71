// DeviceKernel: a part of a graph on a device, for fixed shapes, as a kernel of the host's plan:
// its tile copies inputs there, runs, waits and copies results back.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_part.h"

namespace leat {

class DeviceKernel final : public HostKernel {
  public:
    // Places transients and bindings. `extents`: by symbol of the part. Constants and other values
    // that are known now are taken from `context`.
    static Result<std::unique_ptr<DeviceKernel>> make(std::shared_ptr<const DevicePart> part,
                                                      std::vector<int64_t> extents,
                                                      const PrepareContext& context);

    Result<std::unique_ptr<KernelState>> make_state() const override;
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

    // Memory of the device that each state has.
    int64_t state_bytes() const { return transient_bytes_ + binding_bytes_; }

  private:
    friend class DeviceState;

    // An input or output of the part.
    struct Operand {
        int64_t size_bytes = 0;
        int64_t offset_bytes = 0;    // in the bindings' slab
        bool is_host_input = false;  // read on the host; has no place
        Tensor known;                // defined: the elements, which no run changes
    };

    explicit DeviceKernel(std::shared_ptr<const DevicePart> part) : part_(std::move(part)) {}
    Status add_inputs(const PrepareContext& context);
    Status place_transients();
    void place_operands(std::span<const int64_t> output_bytes);
    LeatRunShape shape() const;

    std::shared_ptr<const DevicePart> part_;
    std::vector<int64_t> extents_;
    std::vector<Operand> inputs_;
    std::vector<Operand> outputs_;
    std::vector<LeatTensorView> host_inputs_;               // by input
    std::vector<const LeatTensorView*> host_input_places_;  // null where it is none
    std::vector<int64_t> transient_offsets_;
    int64_t transient_bytes_ = 0;
    int64_t binding_bytes_ = 0;
};

}  // namespace leat
