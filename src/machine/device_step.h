// DeviceStep: a step of a plan that works in memory of a device. Most are submitted: the host goes
// on meanwhile, and two tasks of the program stand for the step:
//
//   submit  -->  (the device)  -- callback: a point of the run -->  finish
//
// Steps that need its results, or the memory that it uses, wait for the second task.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backends/host_kernel.h"
#include "leat/scheduler/executor.h"
#include "machine/device_flight.h"

namespace leat {

class DeviceStepState : public KernelState {
  public:
    DeviceStepState(std::shared_ptr<DeviceBackend> backend, int most_submissions)
        : flight(std::move(backend), most_submissions) {}

    // Of the steps inside of a part in the last flight, on monotonic_ns(); none where the device
    // does not tell, or where nobody asked when the state was made.
    virtual std::vector<scheduler::TraceSpan> inner_times() const { return {}; }

    DeviceFlight flight;
    // Of steps before that are in flight: kept for its memory.
    std::vector<LeatPoint> waits;
};

// Memory of a step in one instance of its plan: a place at each offset, in the order that the step
// tells. `slab` null: no step of the plan has any there.
struct DeviceRoom {
    std::shared_ptr<DeviceSlab> slab;
    std::span<const int64_t> offsets;
    bool records_times = false;  // of what the step does inside
};

// One tile. Immutable, as any kernel.
class DeviceStep : public HostKernel {
  public:
    virtual Result<std::unique_ptr<DeviceStepState>> make_state(const DeviceRoom& room) const = 0;

    // Returns when all is submitted, to begin after the waits of the state. After an error too,
    // what was submitted before it may be in flight: until the flight's wait_for_end().
    Status submit(const KernelArgs& args, const EndSignal& end) const;
    // After the end: its error, or what is left to do on the host.
    virtual Status finish(const KernelArgs& args) const = 0;
    // All of that, asleep meanwhile: for steps that are not submitted, and for who wants to know
    // how long one takes.
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const final;

    static DeviceStepState& state_of(KernelState& state) {
        return static_cast<DeviceStepState&>(state);
    }

    std::string device_label;  // as the user named the device
    bool is_submitted = true;  // false: the host does it all, as any step
    // Submitted before steps on the same backend that it takes data from have ended: their points
    // order it behind them.
    bool follows_on_device = false;

  private:
    virtual Status submit_all(const KernelArgs& args) const = 0;
};

}  // namespace leat
