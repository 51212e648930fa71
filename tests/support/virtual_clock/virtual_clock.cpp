#include "support/virtual_clock/virtual_clock.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/whole_ns.h"
#include "machine/runtime_impl.h"
#include "plan/placement/forecast_order.h"
#include "plan/plan_context.h"
#include "plan/plan_observer.h"
#include "plan/plan_work.h"
#include "support/virtual_clock/timed_tasks.h"

namespace leat {

struct RuntimeInternals {
    static Runtime::Impl& of(const Runtime& runtime) { return *runtime.impl_; }
};

namespace testing_support {
namespace {

// Each once.
std::vector<std::shared_ptr<DeviceBackend>> backends_with_clock(const DevicePlan& devices) {
    std::vector<std::shared_ptr<DeviceBackend>> backends;
    for (const DeviceMemory& memory : devices.memories) {
        const std::shared_ptr<DeviceBackend>& backend = memory.part->place().backend;
        if (backend->virtual_clock() != nullptr &&
            std::find(backends.begin(), backends.end(), backend) == backends.end()) {
            backends.push_back(backend);
        }
    }
    return backends;
}

// All workers divide a step; a copy into the arena is one's work. 0: the device's time.
double host_ns(const PlanContext& context, const PlanWork& work, const PlanStep& step) {
    if (step.is_transfer && work.devices.memory_of(work.use_of(step)).is_arena) {
        return step.cost_ns;
    }
    if (step.device != nullptr) {
        return 0;
    }
    const std::optional<double> foreseen =
        context.order() == nullptr ? std::nullopt : context.order()->host_ns(step, context.whole);
    return foreseen.value_or(step.cost_ns / context.workers);
}

class VirtualClock final : public PlanObserver {
  public:
    RunObserverMaker observe(const PlanContext& context,
                             const PlanWork& work,
                             StepTasks& program) override {
        std::vector<std::shared_ptr<DeviceBackend>> backends = backends_with_clock(work.devices);
        if (backends.empty()) {
            return {};
        }
        std::vector<int64_t> ns;
        for (const PlanStep& step : work.steps) {
            ns.push_back(int64_t(whole_ns(host_ns(context, work, step))));
        }
        TimedTasks timed = timed_tasks(program, ns);
        program = timed.program;
        auto lane = lane_of(backends[0]);
        return [lane = std::move(lane), backends = std::move(backends),
                releases = std::make_shared<const TaskReleases>(std::move(timed))] {
            return std::make_shared<RunClock>(backends, lane, releases);
        };
    }

  private:
    std::shared_ptr<HostLane> lane_of(const std::shared_ptr<DeviceBackend>& backend) {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<HostLane>& lane = lanes_[backend];
        if (lane == nullptr) {
            lane = std::make_shared<HostLane>();
        }
        return lane;
    }

    std::mutex mutex_;
    std::map<std::weak_ptr<DeviceBackend>, std::shared_ptr<HostLane>, std::owner_less<>> lanes_;
};

}  // namespace

Runtime clocked_runtime(RuntimeOptions options) {
    return observed_runtime(std::move(options), std::make_shared<VirtualClock>());
}

Runtime observed_runtime(RuntimeOptions options, std::shared_ptr<PlanObserver> observer) {
    Runtime runtime(std::move(options));
    RuntimeInternals::of(runtime).observer = std::move(observer);
    return runtime;
}

}  // namespace testing_support
}  // namespace leat
