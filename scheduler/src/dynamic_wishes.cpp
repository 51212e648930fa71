// DynamicRun: nodes that wish to run in a compute domain. They never pass through private stacks
// and deques, where workers of any domain would find them.
#include "dynamic_run.h"

namespace leat::scheduler {

void DynamicRun::make_wished_ready(int32_t node) {
    const DynamicNode& ready = program_.nodes[size_t(node)];
    counters_.wishes->push(program_.wished_domains[size_t(node)], ready.level, uint32_t(node));
}

// A node that wishes the worker's own domain; kNone if there is none.
uint32_t DynamicRun::take_wished(int worker, int level) {
    const int domain = program_.domain_of(worker);
    return domain < 0 ? kNone : counters_.wishes->pop(domain, level);
}

// One that wishes any other domain: better here than not yet.
uint32_t DynamicRun::take_others_wished(int worker) {
    const int domains = counters_.wishes->domains();
    const int own = program_.domain_of(worker);
    for (int level = 0; level < program_.level_count; ++level) {
        for (int turn = 1; turn <= domains; ++turn) {
            const uint32_t node = counters_.wishes->pop((own + turn) % domains, level);
            if (node != kNone) {
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
