#include "machine/device_step.h"

#include "base/error.h"

namespace leat {

Status DeviceStep::submit(const KernelArgs& args, const EndSignal& end) const {
    return state_of(*args.state).flight.fly(end, [&] { return submit_all(args); });
}

Status DeviceStep::run(const KernelArgs& args, int64_t /*tile_begin*/, int64_t /*tile_end*/) const {
    // Also where memory runs out.
    struct Landing {
        DeviceFlight& flight;
        ~Landing() {
            flight.wait_for_end();
            flight.release();
        }
    };
    DeviceStepState& state = state_of(*args.state);
    const Landing landing{state.flight};
    state.waits.clear();
    LEAT_RETURN_IF_ERROR(submit(args, {}));
    state.flight.wait_for_end();
    return finish(args);
}

}  // namespace leat
