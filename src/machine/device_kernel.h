// DeviceKernel: a part of a graph on a device, for fixed shapes: a step of the plan that executes
// it. Its inputs and results are in memory of the device before and after it; others bring them
// there and back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/device_part.h"
#include "machine/device_step.h"
#include "memory/order/step_order.h"

namespace leat {

// What a part does inside, in an order in which each step comes after those that it waits for.
// Sizes have no part in it: kernels for other shapes share it.
struct PartInside {
    std::vector<int32_t> told;  // by the backend, all the numbers that the rest is made of
    StepWaits waits;            // by step: earlier ones
    std::vector<std::vector<int32_t>> transients;  // by transient: steps that use it, ascending
    // Steps that use each operand, ascending; none: it is in use as long as the part.
    std::vector<std::vector<int32_t>> inputs;
    std::vector<std::vector<int32_t>> outputs;
};

class DeviceKernel final : public DeviceStep {
  public:
    // `extents`: by symbol of the part. Constants and other values that are known now are taken
    // from `context`. Adds the time that calls of the backend take.
    static Result<std::unique_ptr<DeviceKernel>> make(std::shared_ptr<const DevicePart> part,
                                                      std::vector<int64_t> extents,
                                                      const PrepareContext& context,
                                                      int64_t& backend_time_ns);

    // An input or output of the part.
    struct Operand {
        int64_t size_bytes = 0;
        bool is_host_input = false;  // read on the host
        Tensor known;                // defined: the elements, which no run changes
        // In the memory that the steps of a plan share.
        bool has_place() const { return !is_host_input && !known.defined(); }
        // In memory of each instance, for good.
        bool is_kept() const { return !is_host_input && known.defined(); }
    };
    // Memory that the part needs while it runs.
    struct Transient {
        int64_t size_bytes = 0;
        int64_t alignment_bytes = 1;
    };
    std::span<const Operand> inputs() const { return inputs_; }
    std::span<const Operand> outputs() const { return outputs_; }
    std::span<const Transient> transients() const { return transients_; }
    const std::shared_ptr<const PartInside>& inside() const { return inside_; }
    const std::shared_ptr<const DevicePart>& part() const { return part_; }
    // Of the steps inside, numbered as the backend does.
    Result<std::vector<std::string>> step_names() const;

    // Offsets: of the inputs (of those without a place any), of the outputs, of the transients.
    Result<std::unique_ptr<DeviceStepState>> make_state(const DeviceRoom& room) const override;
    Status finish(const KernelArgs& args) const override;

  private:
    friend class DeviceState;

    explicit DeviceKernel(std::shared_ptr<const DevicePart> part) : part_(std::move(part)) {}
    Status submit_all(const KernelArgs& args) const override;
    Status add_inputs(const PrepareContext& context);
    // read(LeatRequirements) returns a Status. Adds the time of the backend's calls.
    template <class Read>
    Status ask_requirements(const Read& read, int64_t& backend_time_ns) const;
    // former: null: there is none.
    Status read_requirements(const LeatRequirements& table, const DeviceKernel* former);
    Result<std::shared_ptr<const PartInside>> read_inside(const LeatRequirements& table,
                                                          std::vector<int32_t> told) const;
    LeatRunShape shape() const;

    std::shared_ptr<const DevicePart> part_;
    std::vector<int64_t> extents_;
    std::vector<Operand> inputs_;
    std::vector<Operand> outputs_;
    std::vector<LeatTensorView> host_inputs_;               // by input; empty: there are none
    std::vector<const LeatTensorView*> host_input_places_;  // null where it is none
    std::vector<Transient> transients_;
    std::shared_ptr<const PartInside> inside_;
};

}  // namespace leat
