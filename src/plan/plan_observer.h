// PlanObserver: looks on while plans are made and run. The library has none: tests and benchmarks
// that measure what a run does put one into Runtime::Impl.
#pragma once

#include <functional>
#include <memory>

namespace leat {

struct PlanContext;
struct PlanWork;
struct StepTasks;
class RunObserver;

// Makes the observer of the runs of one instance. Empty: nobody observes them.
using RunObserverMaker = std::function<std::shared_ptr<RunObserver>()>;

// Thread-safe.
class PlanObserver {
  public:
    virtual ~PlanObserver() = default;
    // The steps of a plan have their final order. May change the tasks of its program, for example
    // let others wait for a point that the observer of a run signals.
    virtual RunObserverMaker observe(const PlanContext& context,
                                     const PlanWork& work,
                                     StepTasks& program) = 0;
};

}  // namespace leat
