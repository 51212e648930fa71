// DynamicRun: nodes that wish to run in a compute domain. They never pass through private stacks
// and deques, where workers of any domain would find them.
#include "gears/dynamic_run.h"
#include "threads/crew.h"

namespace leat::scheduler {

void DynamicRun::make_wished_ready(int32_t node) {
    const DynamicNode& ready = program_.nodes[size_t(node)];
    counters_.wishes->push(program_.wished_domains[size_t(node)], ready.level, uint32_t(node));
}

// The thread may be of another domain than the worker whose number it has got.
void DynamicRun::joins(int worker, int helper) noexcept {
    if (program_.has_wishes()) {
        const std::vector<int>& domains = crew().report().worker_domains;
        counters_.worker(worker).domain =
            size_t(helper) < domains.size() ? domains[size_t(helper)] : program_.domain_of(worker);
    }
}

// A node that wishes the worker's own domain; kNone if there is none.
uint32_t DynamicRun::take_wished(const DynamicWorker& self, int level) {
    const bool is_known = self.domain >= 0 && self.domain < counters_.wishes->domains();
    return is_known ? counters_.wishes->pop(self.domain, level) : kNone;
}

// One that wishes any other domain: better here than not yet.
uint32_t DynamicRun::take_others_wished(const DynamicWorker& self) {
    const int domains = counters_.wishes->domains();
    const int first = self.domain + 1;
    for (int level = 0; level < program_.level_count; ++level) {
        for (int turn = 0; turn < domains; ++turn) {
            const uint32_t node = counters_.wishes->pop((first + turn) % domains, level);
            if (node != kNone) {
                record_.add_far_segment();
                return node;
            }
        }
    }
    return kNone;
}

// For somebody else, after this worker has taken its next node.
void DynamicRun::offer_wished(DynamicWorker& self) {
    if (!counters_.wishes->has_any()) {
        return;
    }
    wake_caller();
    if (wants_helpers_.load(std::memory_order_seq_cst) &&
        (self.check_interval != 0 || program_.starts_long)) {
        call_helpers(2);
    }
}

}  // namespace leat::scheduler
