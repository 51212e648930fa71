#include "threads/helper_binding.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "leat/scheduler/topology.h"

namespace leat::scheduler {
namespace {

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
                                                   const MachineTopology& machine,
                                                   std::string& note) {
    const std::vector<int> allowed = affinity_cpus();
    const size_t threads = worker_domains.size();
    if (threads > allowed.size()) {
        note = fmt::format("not pinned: {} threads on {} CPUs", threads, allowed.size());
        return nullptr;
    }
    const std::vector<int> usable =
        choose_cpus(cpus_in_binding_order(machine), allowed, current_cpu());
    std::vector<int> cpus = deal_cpus(usable, worker_domains, domains);
    if (cpus.size() < threads) {
        note = fmt::format("not pinned: the topology has {} of the {} CPUs, for {} of {} threads",
                           usable.size(), allowed.size(), cpus.size(), threads);
        return nullptr;
    }
    // Setting the mask that is there already changes nothing, and shows whether it is allowed.
    CpuMask mask;
    if (!mask.read(0) || !mask.apply(0)) {
        note = fmt::format("not pinned: the system refuses ({})", std::strerror(errno));
        return nullptr;
    }
    return std::unique_ptr<HelperBinding>(new HelperBinding(cpus));
}

HelperBinding::HelperBinding(const std::vector<int>& cpus) : helpers_(cpus.size()) {
    for (size_t i = 0; i < cpus.size(); ++i) {
        helpers_[i].cpu = cpus[i];
        helpers_[i].mask = CpuMask(cpus[i]);
    }
}

std::unique_ptr<HelperBinding> HelperBinding::for_new_threads() const {
    std::vector<int> cpus;
    cpus.reserve(helpers_.size());
    for (const Helper& helper : helpers_) {
        cpus.push_back(helper.cpu);
    }
    return std::unique_ptr<HelperBinding>(new HelperBinding(cpus));
}

int HelperBinding::current_cpu() {
    return ::sched_getcpu();
}

HelperBinding::Helper& HelperBinding::place_of(int helper, int busy_cpu) {
    Helper& own = helpers_[size_t(helper)];
    return own.cpu == busy_cpu ? helpers_[0] : own;
}

void HelperBinding::enter(int helper) {
    Helper& self = helpers_[size_t(helper)];
    std::shared_ptr<HelperThread> thread = HelperThread::of_this_thread();
    if (thread != nullptr) {
        thread->enter();
    }
    if (self.thread != thread) {  // nobody else changes it meanwhile
        const std::lock_guard lock(self.mutex);
        if (self.thread != nullptr) {
            self.thread->release();  // it was called, and another one came
        }
        self.thread = std::move(thread);
    }
}

void HelperBinding::place(int helper, int busy_cpu) {
    const Helper& place = place_of(helper, busy_cpu);
    Helper& self = helpers_[size_t(helper)];
    self.busy_cpu = busy_cpu;
    if (self.thread != nullptr) {
        self.thread->bind(place.cpu, place.mask);
    }
}

void HelperBinding::leave(int helper, bool keeps_away) {
    Helper& self = helpers_[size_t(helper)];
    if (self.thread != nullptr) {
        self.thread->leave(keeps_away ? self.busy_cpu : -1);
    }
}

void HelperBinding::expect(int first, int size, int count, int busy_cpu) {
    for (int helper = first; helper < first + size && count > 0; ++helper) {
        Helper& own = helpers_[size_t(helper)];
        const Helper& place = place_of(helper, busy_cpu);
        const std::lock_guard lock(own.mutex);
        if (own.thread == nullptr || own.thread->call(busy_cpu, place.cpu, place.mask)) {
            --count;
        }
    }
    expects_.store(true, std::memory_order_relaxed);
}

void HelperBinding::expect_none() {
    if (!expects_.exchange(false, std::memory_order_relaxed)) {
        return;
    }
    for_each_thread([](HelperThread& thread) { thread.call_off(); });
}

void HelperBinding::release() {
    for_each_thread([](HelperThread& thread) { thread.release(); });
}

template <class Do>
void HelperBinding::for_each_thread(const Do& what) {
    for (Helper& helper : helpers_) {
        const std::lock_guard lock(helper.mutex);
        if (helper.thread != nullptr) {
            what(*helper.thread);
        }
    }
}

}  // namespace leat::scheduler
