#include "gears/dynamic_run.h"

#include <algorithm>

#include "base/monotonic_clock.h"
#include "threads/spin.h"

namespace leat::scheduler {
namespace {

// Tasks between two looks at deadline and clock: so many that looks come every 20 us or so, which
// makes their 30 ns invisible.
constexpr int32_t kMostBetweenChecks = 256;
constexpr int32_t kFirstInterval = 16;
constexpr int64_t kSoonNs = 10'000;
constexpr int64_t kLateNs = 40'000;
// With an interval shorter than this, tasks take longer than about 0.3 us.
constexpr int32_t kIntervalOfLongTasks = 64;
constexpr uint16_t kMostPrefetched = 8;

}  // namespace

DynamicRun::DynamicRun(Crew& crew,
                       const DynamicProgram& program,
                       DynamicCounters& counters,
                       PointCounters& points,
                       RunRecord& record,
                       TaskFunction function,
                       const RunControl& control,
                       int workers)
    : ActiveRun(crew, function, control),
      program_(program),
      counters_(counters),
      points_(points),
      record_(record),
      body_(record.keeps_times() ? TaskFunction{call_traced, this} : function),
      workers_(workers),
      is_plain_(program.is_plain()),
      // Who waits for several runs may sleep whenever it is not in this one.
      is_asleep_(control.bell != nullptr) {
    counters_.begin(workers, points);
    counters_.worker(0).domain = program.domain_of(0);
    const auto entry = uint32_t(program_.entry);
    // Public: whoever comes first begins, also while worker 0 does something else.
    counters_.worker(0).deques[0].fill(1, [&](uint32_t) { return entry; });
}

DynamicRun::~DynamicRun() {
    counters_.end(is_done());
}

void DynamicRun::work(int worker) noexcept {
    DynamicWorker& self = counters_.worker(worker);
    // Looks after its first task, when it calls helpers.
    self.tasks_to_check = 1;
    self.check_interval = 0;
    try {
        if (!is_plain_) {
            work_shared<false>(worker);
        } else if (workers_ > 1) {
            work_shared<true>(worker);
        } else {
            work_alone();
        }
    } catch (...) {
        cancel_with_exception(TaskId(self.current));
    }
}

// Without points nothing but the run itself is waited for.
bool DynamicRun::work_while_ready() noexcept {
    is_patient_ = program_.point_count() == 0;
    work(0);
    is_patient_ = true;
    return is_done() || is_stopping();
}

// Nobody else: counters are lowered without atomic operations, and ready nodes are linked. There is
// always a ready node until the final one has run, so the list needs no end.
void DynamicRun::work_alone() {
    if (is_done()) {
        return;
    }
    DynamicWorker& self = counters_.worker(0);
    TaskScope scope = scope_of(0);
    const auto relaxed = std::memory_order_relaxed;
    const TaskFunction body = body_;
    const DynamicNode* const nodes = program_.nodes.data();
    const DynamicEdge* const edges = program_.edges.data();
    DynamicCell* const cells = counters_.cells();
    const auto task_count = uint32_t(program_.task_count);
    const auto final = uint32_t(program_.final);
    self.deques[0].clear();
    uint32_t ready = kNone;
    const auto release = [&](DynamicEdge edge) {
        DynamicCell& cell = cells[edge.node()];
        const int32_t missing = cell.missing.load(relaxed) - 1;
        cell.missing.store(missing, relaxed);
        if (missing == 0) {
            cell.link = ready;
            ready = uint32_t(edge.node());
        }
    };
    for (uint32_t node = uint32_t(program_.entry); node != final;) {
        if (node < task_count) {
            self.current = node;
            if (!body.call(body.context, TaskId(node), scope)) {
                cancel_without_error(TaskId(node));
                return;
            }
            if (--self.tasks_to_check <= 0 && !checkpoint(self)) {
                return;
            }
        }
        const DynamicNode& done = nodes[node];
        cells[node].missing.store(done.join, relaxed);
        const DynamicEdge* const others = edges + done.others_begin;
        for (int32_t i = 0; i < int32_t(done.others_count); ++i) {
            release(others[i]);
        }
        release(done.first);
        node = ready;
        ready = cells[node].link;
    }
    cells[final].missing.store(nodes[final].join, relaxed);
    finish();
}

template <bool kPlain>
void DynamicRun::work_shared(int worker) {
    DynamicWorker& self = counters_.worker(worker);
    TaskScope scope = scope_of(worker);
    uint32_t next = find<kPlain>(self, worker);
    while (next != kNone) {
        next = step<kPlain>(self, scope, worker, next, DynamicProgram::kMaxLevels);
        if (next == kNone) {
            next = find<kPlain>(self, worker);
        }
    }
}

// Runs a node and releases those that follow; returns the next of the worker's own among the
// `levels` most urgent ones, if there is one and the run goes on.
template <bool kPlain>
inline uint32_t DynamicRun::step(
    DynamicWorker& self, TaskScope& scope, int worker, uint32_t entry, int levels) {
    const uint32_t node = entry & ~PrivateStack::kTicket;
    if (node < uint32_t(program_.task_count)) [[likely]] {
        if (!run_node<kPlain>(self, scope, entry)) {
            return is_stopping() ? kNone : next_own<kPlain>(self, worker, levels);
        }
        if (--self.tasks_to_check <= 0 && !checkpoint(self)) {
            return kNone;
        }
    } else if (node == uint32_t(program_.final)) {
        finish();
        return kNone;
    }
    uint32_t next = release_successors<kPlain>(self, worker, node);
    if (next == kNone) {
        next = next_own<kPlain>(self, worker, levels);
    }
    offer_surplus<kPlain>(self);
    return next;
}

// True: the whole node has run, and this worker is the one to release its successors.
template <bool kPlain>
inline bool DynamicRun::run_node(DynamicWorker& self, TaskScope& scope, uint32_t entry) {
    if (!kPlain &&
        (program_.nodes[entry & ~PrivateStack::kTicket].traits & DynamicNode::kTiled) != 0) {
        return run_tiles(self, scope, entry);
    }
    return run_body(self, scope, entry);
}

// Counters that another core lowered last take 100 ns to come here: as long as the body of a task
// that is not too short.
inline void DynamicRun::prefetch_successors(uint32_t id) {
    const DynamicNode& node = program_.nodes[id];
    const DynamicEdge* const others = program_.edges.data() + node.others_begin;
    const auto prefetch = [&](DynamicEdge edge) {
        if (!edge.is_only()) {
            prefetch_to_write(&counters_.cells()[edge.node()]);
        }
    };
    for (uint16_t i = 0; i < std::min(node.others_count, kMostPrefetched); ++i) {
        prefetch(others[i]);
    }
    prefetch(node.first);
}

inline bool DynamicRun::run_body(DynamicWorker& self, TaskScope& scope, uint32_t node) {
    self.current = node;
    if (self.check_interval < kIntervalOfLongTasks) {
        prefetch_successors(node);
    }
    if (body_.call(body_.context, TaskId(node), scope)) [[likely]] {
        return true;
    }
    cancel_without_error(TaskId(node));
    return false;
}

bool DynamicRun::call_traced(void* context, TaskId task, TaskScope& scope) {
    const DynamicRun& run = *static_cast<const DynamicRun*>(context);
    const int64_t begin_ns = monotonic_ns();
    const bool is_ok = run.function_.call(run.function_.context, task, scope);
    run.record_.add_call(task, scope, begin_ns, monotonic_ns());
    return is_ok;
}

// Who takes the node opens it and leaves a ticket, on which somebody else may join; who joins does
// the same, so that all who have nothing better to do take part.
bool DynamicRun::run_tiles(DynamicWorker& self, TaskScope& scope, uint32_t entry) {
    const uint32_t node = entry & ~PrivateStack::kTicket;
    const DynamicProgram::TiledTask& task = program_.tiled_task(int32_t(node));
    if (task.tile_count == 0) {
        return true;
    }
    DynamicCounters::Tiles& tiles = counters_.tiles_of(task);
    if (entry == node) {
        tiles.open();
    }
    const int level = program_.nodes[node].level;
    bool has_left_ticket = false;
    while (!is_stopping()) {
        const TileRange range = tiles.claims.claim(0, task.tile_count, task.tiles_a_claim);
        if (range.empty()) {
            return false;
        }
        if (!has_left_ticket && range.end < task.tile_count && workers_ > 1) {
            has_left_ticket = true;
            self.stacks[size_t(level)].push(node | PrivateStack::kTicket, counters_.cells());
        }
        offer_surplus<false>(self);
        set_tiles(scope, range.begin, range.end);
        const bool is_ok = run_body(self, scope, node);
        set_tiles(scope, 0, 1);
        if (!is_ok) {
            return false;
        }
        if (tiles.finish(range.end - range.begin, task.tile_count)) {
            return true;
        }
        if (--self.tasks_to_check <= 0 && !checkpoint(self)) {
            return false;
        }
        run_urgent(self, scope, level);
    }
    return false;
}

// Between two tiles of a task: what is ready on the levels before its own need not wait for the
// last tile. Tasks inside of one another are as many as there are levels.
void DynamicRun::run_urgent(DynamicWorker& self, TaskScope& scope, int levels) {
    const int worker = scope.worker();
    uint32_t next = levels > 0 && !is_stopping() ? next_own<false>(self, worker, levels) : kNone;
    while (next != kNone) {
        next = step<false>(self, scope, worker, next, levels);
    }
}

// Returns a node to continue with; the others that became ready are in the private stack.
template <bool kPlain>
inline uint32_t DynamicRun::release_successors(DynamicWorker& self, int worker, uint32_t id) {
    const DynamicNode node = program_.nodes[id];
    const DynamicEdge* const others = program_.edges.data() + node.others_begin;
    uint32_t next = kNone;
    const auto release = [&](DynamicEdge edge) {
        const int32_t to = edge.node();
        if (!edge.is_only() && !counters_.count_down(to)) {
            return;
        }
        if (!kPlain) {
            make_ready(self, worker, to);
            return;
        }
        if (next != kNone) {
            self.stacks[0].push(next, counters_.cells());
        }
        next = uint32_t(to);
    };
    for (int32_t i = 0; i < int32_t(node.others_count); ++i) {
        release(others[i]);
    }
    release(node.first);
    return next;
}

// `node` has nothing left to wait for.
void DynamicRun::make_ready(DynamicWorker& self, int worker, int32_t node) {
    const DynamicNode& ready = program_.nodes[size_t(node)];
    DynamicCell& cell = counters_.cells()[node];
    if ((ready.traits & DynamicNode::kWished) != 0) {
        make_wished_ready(node);
    } else if ((ready.traits & DynamicNode::kCaller) == 0) {
        self.stacks[ready.level].push(uint32_t(node), counters_.cells());
    } else if (worker == 0) {
        cell.link = self.caller_tasks[ready.level];
        self.caller_tasks[ready.level] = uint32_t(node);
    } else {
        counters_.caller_inbox.put(uint32_t(node), cell.link);
        wake_caller();
    }
}

// So that who has nothing to do finds what this worker has beyond its next node.
template <bool kPlain>
inline void DynamicRun::offer_surplus(DynamicWorker& self) {
    const int levels = kPlain ? 1 : program_.level_count;
    for (int level = 0; level < levels; ++level) {
        if (self.deques[size_t(level)].is_empty() && self.stacks[size_t(level)].offerable() > 0) {
            offer(self, level);
        }
    }
    if (!kPlain && program_.has_wishes()) {
        offer_wished(self);
    }
}

void DynamicRun::offer(DynamicWorker& self, int level) {
    PrivateStack& stack = self.stacks[size_t(level)];
    const uint32_t count = std::min(ReadyDeque::kCapacity, (stack.offerable() + 1) / 2);
    self.deques[size_t(level)].fill(count, [&](uint32_t i) { return stack.oldest(i); });
    stack.remove_oldest(count);
    if (!is_plain_) {
        wake_caller();
    }
    // Before the first look at the clock this worker has not run a task: that comes first, unless
    // helpers would wait for the end of a long one.
    if (wants_helpers_.load(std::memory_order_seq_cst) &&
        (self.check_interval != 0 || program_.starts_long)) {
        call_helpers(int(std::min(count, 2U)));
    }
}

// Between two tasks, now and then. False: stop.
bool DynamicRun::checkpoint(DynamicWorker& self) {
    if (is_cancelled()) {
        return false;
    }
    if (wants_helpers_.load(std::memory_order_relaxed) &&
        (self.deques[0].offers() || has_wished_nodes())) {
        call_helpers(1);
    }
    if (self.check_interval == 0) {
        self.check_interval = is_interruptible() ? 1 : kFirstInterval;
    } else {
        const int64_t now_ns = monotonic_ns();
        const int64_t passed_ns = now_ns - self.checked_ns;
        if (passed_ns < kSoonNs) {
            self.check_interval = std::min(self.check_interval * 2, kMostBetweenChecks);
        } else if (passed_ns > kLateNs) {
            self.check_interval = std::max(self.check_interval / 4, 1);
        }
        self.checked_ns = now_ns;
    }
    self.tasks_to_check = self.check_interval;
    return true;
}

// The next of the worker's own nodes.
template <bool kPlain>
uint32_t DynamicRun::next_own(DynamicWorker& self, int worker, int levels) {
    if (kPlain) {
        return self.stacks[0].pop(counters_.cells());
    }
    take_from_outside(self, worker);
    for (int level = 0; level < std::min(levels, program_.level_count); ++level) {
        uint32_t& caller_task = self.caller_tasks[size_t(level)];
        if (caller_task != kNone) {
            const uint32_t node = caller_task;
            caller_task = counters_.cells()[node].link;
            return node;
        }
        uint32_t node = program_.has_wishes() ? take_wished(self, level) : kNone;
        if (node == kNone) {
            node = self.stacks[size_t(level)].pop(counters_.cells());
        }
        if (node != kNone) {
            return node;
        }
    }
    return kNone;
}

void DynamicRun::call_helpers(int most) {
    wants_helpers_.store(false, std::memory_order_seq_cst);
    resume_helpers();
    recruit(most);
}

// It may sleep although a helper found a signal first.
void DynamicRun::wake_caller() {
    if (is_asleep_.load(std::memory_order_seq_cst)) {
        points_.wake();
    }
}

template uint32_t DynamicRun::next_own<false>(DynamicWorker& self, int worker, int levels);

void DynamicRun::finish() {
    done_.store(true, is_plain_ ? std::memory_order_release : std::memory_order_seq_cst);
    if (!is_plain_) {
        wake_caller();
    }
}

}  // namespace leat::scheduler
