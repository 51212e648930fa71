// RequestPart: what a request has on one thread group: its memory there, and an instance of each
// plan that it holds. Used by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "leat/scheduler/thread_binding.h"
#include "machine/runtime_impl.h"
#include "run/instance.h"
#include "run/request_memory.h"

namespace leat {

class RequestPart {
  public:
    // At home where the group is, or in `home`.
    RequestPart(const Runtime::Impl& runtime,
                const ThreadGroup& group,
                MemoryDomainId home,
                SpareRoom spare);

    // Memory for plans that need no more.
    Status reserve(const RequestRoom& room);
    // The instance of the last run or prepare; null: none yet.
    Instance* current() const { return current_; }
    // Makes the first held instance whose plan fulfils the predicate current; false: none does.
    template <class Predicate>
    bool use_instance(const Predicate& wanted) {
        for (size_t i = 0; i < instances_.size(); ++i) {
            if (wanted(instances_[i]->plan())) {
                make_current(i);
                return true;
            }
        }
        return false;
    }
    // Makes an instance of the plan current.
    Status use(std::shared_ptr<const Plan> plan);

    // With several domains the thread that runs stays in the part's own: one that wanders would
    // read everything from afar. Until leave().
    void enter();
    void leave();
    // By the calling thread and helpers.
    Status run(const scheduler::RunControl& control) {
        return current_->run(*group_->executor, control);
    }
    // By helpers alone, until wait() takes part.
    void start(const scheduler::RunControl& control);
    // As RunHandle::work().
    bool work();
    Status wait();
    void cancel() { handle_.cancel(); }

    void trim() { memory_.trim(); }
    void add_to(PlacementReport& report, NumaMaps& maps) const { memory_.add_to(report, maps); }

  private:
    void make_current(size_t instance);

    const ThreadGroup* group_;
    std::vector<std::unique_ptr<Instance>> instances_;  // most recently used first
    Instance* current_ = nullptr;
    std::optional<scheduler::ThreadBinding> binding_;  // where there are several domains
    RequestMemory memory_;
    scheduler::RunHandle handle_;  // goes first: a run needs the rest
};

}  // namespace leat
