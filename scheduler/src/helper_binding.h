// HelperBinding: one CPU for each helper thread, chosen from hwloc's topology.
//
// Each member function may be called concurrently for different helpers. No allocation after
// make().
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

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

    // The calling thread becomes `helper`: remembers how it is bound.
    void enter(int helper);
    // Binds it to its CPU, or to the spare one if `busy_cpu`, where the run's caller works, is its
    // own.
    void place(int helper, int busy_cpu);
    // Undoes what place() did since enter().
    void leave(int helper);

    // CPU of the calling thread, -1 if unknown.
    static int current_cpu();

  private:
    // A kernel CPU mask of any size.
    using Mask = std::vector<unsigned long>;  // NOLINT(google-runtime-int): the kernel's type
    struct Helper {
        Mask saved;
        bool has_saved = false;
        int cpu = -1;  // bound to it; -1: as found
    };

    HelperBinding(std::vector<int> cpus, size_t mask_words);
    static bool get_mask(Mask& mask);
    static bool set_mask(const Mask& mask);

    std::vector<int> cpus_;    // by worker; [0] is the spare one
    std::vector<Mask> masks_;  // of cpus_
    std::vector<Helper> helpers_;
};

}  // namespace leat::scheduler
