// HelperBinding: one CPU for each helper thread, chosen from hwloc's topology.
//
// Each member function may be called concurrently for different helpers. No allocation after
// make().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cpu_mask.h"
#include "helper_thread.h"
#include "leat/scheduler/topology.h"

namespace leat::scheduler {

class HelperBinding {
  public:
    // A CPU for each worker, of its domain: worker i has one of domains[worker_domains[i]], or any
    // if `domains` is empty. Cores before their hyper-threads, starting beside the calling thread's
    // CPU so that two processes do not choose the same ones. Null, with the reason in `note`, if
    // that cannot be done: no hwloc, too few CPUs, or the system refuses.
    static std::unique_ptr<HelperBinding> make(const std::vector<int>& worker_domains,
                                               const std::vector<ComputeDomain>& domains,
                                               std::string& note);

    // The calling thread becomes `helper`.
    void enter(int helper);
    // Binds it to its CPU, or to the spare one if `busy_cpu`, where the run's caller works, is its
    // own.
    void place(int helper, int busy_cpu);
    // Undoes what place() did since enter().
    void leave(int helper);

    // `count` of the helpers [first, first + size) are about to be called: binds the threads that
    // were these helpers last, where they sleep.
    void expect(int first, int size, int count, int busy_cpu);
    // Undoes expect() for all that did not enter.
    void expect_none();

    // CPU of the calling thread, -1 if unknown.
    static int current_cpu();

  private:
    struct Helper {
        int cpu = 0;
        CpuMask mask{0};                       // of `cpu`
        std::mutex mutex;                      // guards the assignment of `thread`
        std::shared_ptr<HelperThread> thread;  // that entered last
    };

    explicit HelperBinding(const std::vector<int>& cpus);
    Helper& place_of(int helper, int busy_cpu);

    std::vector<Helper> helpers_;  // by worker; [0] has the spare CPU
    std::atomic<bool> expects_{false};
};

}  // namespace leat::scheduler
