#include <algorithm>
#include <memory>

#include "program_impl.h"
#include "tile_call.h"

namespace leat::scheduler {
namespace {

// Claims between two looks at the deadline, per step.
constexpr int64_t kPartsPerStep = 8;

class SerialExecutor final : public Executor {
  public:
    const ExecutorReport& report() const override { return report_; }
    Status run(const Program& program,
               ProgramState& /*state*/,
               TileFunction function,
               const RunControl& control) override {
        return run_on_caller(program, function, control);
    }

  private:
    ExecutorReport report_;
};

Status run_step_in_parts(const CompactStep& step,
                         int32_t index,
                         const TileFunction& function,
                         const RunControl& control) {
    const int64_t part = std::max(step.grain, step.tile_count / kPartsPerStep);
    for (int64_t begin = 0; begin < step.tile_count; begin += part) {
        LEAT_RETURN_IF_ERROR(interruption(control));
        const TileRange tiles{begin, std::min(begin + part, step.tile_count)};
        LEAT_RETURN_IF_ERROR(call_tiles(function, index, tiles, 0));
    }
    return {};
}

}  // namespace

Status run_on_caller(const Program& program,
                     const TileFunction& function,
                     const RunControl& control) {
    const bool is_interruptible = can_be_interrupted(control);
    int32_t index = -1;
    for (const CompactStep& step : program.impl().compact) {
        ++index;
        if (step.tile_count == 0) {
            continue;
        }
        Status status = is_interruptible ? run_step_in_parts(step, index, function, control)
                                         : call_tiles(function, index, {0, step.tile_count}, 0);
        if (!status.ok()) {
            return status;
        }
    }
    return {};
}

std::unique_ptr<Executor> make_serial_executor() {
    return std::make_unique<SerialExecutor>();
}

}  // namespace leat::scheduler
