// HelperBinding: one CPU for each helper thread, chosen from the machine's topology.
//
// Each member function may be called concurrently for different helpers. No allocation after
// make().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "leat/scheduler/topology.h"
#include "threads/helper_thread.h"
#include "topology/cpu_mask.h"

namespace leat::scheduler {

class HelperBinding {
  public:
    // A CPU for each worker, of its domain: worker i has one of domains[worker_domains[i]], or any
    // if `domains` is empty. Cores before their hyper-threads, starting beside the calling thread's
    // CPU so that two processes do not choose the same ones. Null, with the reason in `note`, if
    // that cannot be done: too few CPUs, or the system refuses.
    static std::unique_ptr<HelperBinding> make(const std::vector<int>& worker_domains,
                                               const std::vector<ComputeDomain>& domains,
                                               const MachineTopology& machine,
                                               std::string& note);

    // The calling thread becomes `helper`.
    void enter(int helper);
    // Binds it to its CPU, or to the spare one if `busy_cpu`, where the run's caller works, is its
    // own.
    void place(int helper, int busy_cpu);
    // The thread may run where it did before enter(), but, if `keeps_away`, not where it was called
    // from, so that it does not wake up there.
    void leave(int helper, bool keeps_away);

    // `count` of the helpers [first, first + size) are about to be called from `busy_cpu`: the
    // threads that were these helpers last will not wake up there.
    void expect(int first, int size, int count, int busy_cpu);
    // Nobody is on the way any more.
    void expect_none();
    // The same CPUs for other threads: a child of fork() does not have those that were helpers, and
    // must not move its parent's.
    std::unique_ptr<HelperBinding> for_new_threads() const;
    // Every thread that was a helper may run where it did before.
    void release();

    // CPU of the calling thread, -1 if unknown.
    static int current_cpu();

  private:
    struct Helper {
        int cpu = 0;
        int busy_cpu = -1;                     // of place(); the helper's own
        CpuMask mask{0};                       // of `cpu`
        std::mutex mutex;                      // guards the assignment of `thread`
        std::shared_ptr<HelperThread> thread;  // that entered last
    };

    explicit HelperBinding(const std::vector<int>& cpus);
    Helper& place_of(int helper, int busy_cpu);
    template <class Do>
    void for_each_thread(const Do& what);

    std::vector<Helper> helpers_;  // by worker; [0] has the spare CPU
    std::atomic<bool> expects_{false};
};

}  // namespace leat::scheduler
