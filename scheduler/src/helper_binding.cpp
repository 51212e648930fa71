#include "helper_binding.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "leat/scheduler/topology.h"

#ifdef LEAT_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace leat::scheduler {
namespace {

constexpr int kWordBits = int(sizeof(unsigned long) * CHAR_BIT);  // NOLINT(google-runtime-int)

#ifdef LEAT_HAVE_HWLOC
// OS indices of all processing units, first the first one of every core, then the second ones.
std::vector<int> cpus_by_core() {
    std::vector<int> cpus;
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) {
        return cpus;
    }
    // It would visit every CPU and leave the thread on the last one; Linux itself tells as much.
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    // Caches and devices are not needed, and finding them is most of the time of the load.
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) == 0) {
        std::vector<std::pair<unsigned, int>> ranked;
        for (hwloc_obj_t unit = nullptr;
             (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr;) {
            const bool in_core = unit->parent != nullptr && unit->parent->type == HWLOC_OBJ_CORE;
            ranked.emplace_back(in_core ? unit->sibling_rank : 0, int(unit->os_index));
        }
        std::stable_sort(ranked.begin(), ranked.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [rank, cpu] : ranked) {
            cpus.push_back(cpu);
        }
    }
    hwloc_topology_destroy(topology);
    return cpus;
}
#endif

// In the order of `preferred`, starting at `first` if it is one of them.
std::vector<int> choose_cpus(const std::vector<int>& preferred,
                             std::vector<int> allowed,
                             int first) {
    std::sort(allowed.begin(), allowed.end());
    std::vector<int> cpus;
    for (const int cpu : preferred) {
        if (std::binary_search(allowed.begin(), allowed.end(), cpu)) {
            cpus.push_back(cpu);
        }
    }
    const auto found = std::find(cpus.begin(), cpus.end(), first);
    if (found != cpus.end()) {
        std::rotate(cpus.begin(), found, cpus.end());
    }
    return cpus;
}

// The first CPU for each worker that is in its domain and that no other worker has.
std::vector<int> deal_cpus(std::vector<int> usable,
                           const std::vector<int>& worker_domains,
                           const std::vector<ComputeDomain>& domains) {
    std::vector<int> cpus;
    for (const int domain : worker_domains) {
        const auto found = std::find_if(usable.begin(), usable.end(), [&](int cpu) {
            if (domains.empty()) {
                return true;
            }
            const std::vector<int>& own = domains[size_t(domain)].cpus;
            return std::find(own.begin(), own.end(), cpu) != own.end();
        });
        if (found == usable.end()) {
            break;
        }
        cpus.push_back(*found);
        usable.erase(found);
    }
    return cpus;
}

}  // namespace

std::unique_ptr<HelperBinding> HelperBinding::make(const std::vector<int>& worker_domains,
                                                   const std::vector<ComputeDomain>& domains,
                                                   std::string& note) {
#ifdef LEAT_HAVE_HWLOC
    const std::vector<int> allowed = affinity_cpus();
    const size_t threads = worker_domains.size();
    if (threads > allowed.size()) {
        note = fmt::format("not pinned: {} threads on {} CPUs", threads, allowed.size());
        return nullptr;
    }
    const std::vector<int> usable = choose_cpus(cpus_by_core(), allowed, current_cpu());
    std::vector<int> cpus = deal_cpus(usable, worker_domains, domains);
    if (cpus.size() < threads) {
        note = fmt::format("not pinned: hwloc finds {} of the {} CPUs, for {} of {} threads",
                           usable.size(), allowed.size(), cpus.size(), threads);
        return nullptr;
    }
    const int last = *std::max_element(allowed.begin(), allowed.end());
    std::unique_ptr<HelperBinding> binding(
        new HelperBinding(std::move(cpus), size_t(last / kWordBits + 1)));
    // Setting the mask that is there already changes nothing, and shows whether it is allowed.
    Mask mask = binding->helpers_[0].saved;
    if (!get_mask(mask) || !set_mask(mask)) {
        note = fmt::format("not pinned: the system refuses ({})", std::strerror(errno));
        return nullptr;
    }
    return binding;
#else
    (void)worker_domains;
    (void)domains;
    note = "not pinned: built without hwloc";
    return nullptr;
#endif
}

HelperBinding::HelperBinding(std::vector<int> cpus, size_t mask_words) : cpus_(std::move(cpus)) {
    for (const int cpu : cpus_) {
        Mask mask(mask_words, 0);
        mask[size_t(cpu / kWordBits)] |= 1UL << (cpu % kWordBits);
        masks_.push_back(std::move(mask));
    }
    Helper helper;
    // The kernel refuses to fill a mask that is smaller than its own; 65,536 CPUs are enough.
    helper.saved.resize(65536 / kWordBits);
    helpers_.resize(cpus_.size(), helper);
}

// The system calls themselves: glibc's wrappers zero and copy, and its sets end at 1,024 CPUs.
bool HelperBinding::get_mask(Mask& mask) {
    std::fill(mask.begin(), mask.end(), 0);
    return ::syscall(SYS_sched_getaffinity, 0, mask.size() * sizeof(mask[0]), mask.data()) > 0;
}
bool HelperBinding::set_mask(const Mask& mask) {
    return ::syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof(mask[0]), mask.data()) == 0;
}

int HelperBinding::current_cpu() {
    return ::sched_getcpu();
}

void HelperBinding::enter(int helper) {
    Helper& self = helpers_[size_t(helper)];
    self.cpu = -1;
    self.has_saved = get_mask(self.saved);
}

void HelperBinding::place(int helper, int busy_cpu) {
    Helper& self = helpers_[size_t(helper)];
    const size_t choice = cpus_[size_t(helper)] == busy_cpu ? 0 : size_t(helper);
    if (self.has_saved && self.cpu != cpus_[choice]) {
        self.cpu = cpus_[choice];
        (void)set_mask(masks_[choice]);  // a CPU that went offline: the helper runs where it may
    }
}

void HelperBinding::leave(int helper) {
    Helper& self = helpers_[size_t(helper)];
    if (self.has_saved && self.cpu >= 0) {
        (void)set_mask(self.saved);
    }
    self.cpu = -1;
    self.has_saved = false;
}

}  // namespace leat::scheduler
