// The dynamic reference: what is reachable when nothing is known about the nodes' times.
//   - compact successors; join counters that reset themselves; none for a single predecessor
//   - the first successor that becomes ready runs next, the others go to a private stack
//   - a public batch of 32 is refilled only when thieves have emptied it
//   - fans of more than 64 become trees; one last node, which follows all others, ends the run
#include <algorithm>
#include <bit>
#include <utility>

#include "join_split.h"
#include "public_batch.h"
#include "reference_executors.h"
#include "team.h"

namespace leat::micro {
namespace {

bool do_nothing(void* /*context*/, int32_t /*node*/) {
    return true;
}

struct Node {
    NodeBody body;
    uint32_t successor_begin = 0;
    uint8_t successor_count = 0;    // <= kMaxDegree
    uint8_t predecessor_count = 0;  // <= kMaxDegree
};
static_assert(sizeof(Node) == 24);

// Set on an edge whose end has no other predecessor: it is ready without a counter.
constexpr uint32_t kSoleEdge = uint32_t{1} << 31;

struct Plan {
    std::vector<Node> nodes;
    std::vector<uint32_t> edges;
    std::vector<std::atomic<int32_t>> pending;
    std::vector<int32_t> sources;
    int32_t last_node = 0;
};

Plan compile(const Workload& workload) {
    const BoundedGraph graph = bound_degrees(*workload.graph);
    const size_t count = graph.predecessor_count.size();
    Plan plan;
    plan.pending = std::vector<std::atomic<int32_t>>(count);
    plan.last_node = graph.last_node;
    plan.nodes.reserve(count);
    plan.edges.reserve(graph.successors.size());
    for (size_t i = 0; i < count; ++i) {
        const bool real = int32_t(i) < graph.last_node;
        const uint32_t begin = graph.successor_begin[i];
        const uint32_t end = graph.successor_begin[i + 1];
        const uint8_t predecessors = graph.predecessor_count[i];
        plan.nodes.push_back({.body = real ? workload.body : NodeBody{do_nothing, nullptr},
                              .successor_begin = begin,
                              .successor_count = uint8_t(end - begin),
                              .predecessor_count = predecessors});
        plan.pending[i].store(predecessors, std::memory_order_relaxed);
        if (predecessors == 0) {
            plan.sources.push_back(int32_t(i));
        }
        for (uint32_t edge = begin; edge < end; ++edge) {
            const int32_t successor = graph.successors[edge];
            const bool sole = graph.predecessor_count[size_t(successor)] == 1;
            plan.edges.push_back(uint32_t(successor) | (sole ? kSoleEdge : 0));
        }
    }
    return plan;
}

// Ready nodes of one worker: newest first for itself, oldest first for others.
class PrivateStack {
  public:
    // Precondition: empty.
    void reserve(size_t nodes) {
        if (slots_.size() < nodes) {
            slots_.resize(std::bit_ceil(nodes));
        }
    }
    void push(int32_t node) { slots_[top_++ & (slots_.size() - 1)] = node; }
    int32_t pop() { return slots_[--top_ & (slots_.size() - 1)]; }
    int32_t pop_oldest() { return slots_[bottom_++ & (slots_.size() - 1)]; }
    uint32_t count() const { return top_ - bottom_; }

  private:
    std::vector<int32_t> slots_;
    uint32_t bottom_ = 0;
    uint32_t top_ = 0;
};

struct alignas(128) Worker {
    PrivateStack stack;
    PublicBatch batch;
};

class DynamicReference final : public Executor {
  public:
    explicit DynamicReference(int threads)
        : workers_(static_cast<size_t>(threads)),
          team_(threads, [this](int worker) { work<true>(worker); }) {}

    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override;
    void activate() override { team_.bind_cpus(); }
    void deactivate() override { team_.release_cpus(); }

    void run(Plan& plan) {
        plan_ = &plan;
        finished_.store(false, std::memory_order_relaxed);
        started_helpers_ = false;
        for (int32_t source : plan.sources) {
            workers_[0].stack.push(source);
        }
        if (workers_.size() == 1) {
            work<false>(0);
        } else {
            work<true>(0);
        }
    }
    void reserve(size_t nodes) {
        for (Worker& worker : workers_) {
            worker.stack.reserve(nodes);
        }
    }

  private:
    template <bool kShared>
    void work(int id) {
        Worker& self = workers_[size_t(id)];
        while (!finished_.load(std::memory_order_acquire)) {
            int32_t node = self.stack.count() > 0 ? self.stack.pop() : take_any(id);
            if (node < 0) {
                spin_pause();
                continue;
            }
            while (node >= 0) {
                if (kShared && self.stack.count() > 0 && self.batch.is_empty()) {
                    offer(self);  // before the body, which may be long
                }
                node = execute<kShared>(self, node);
            }
        }
    }

    // Runs `node`; returns a successor to go on with, or -1.
    template <bool kShared>
    int32_t execute(Worker& self, int32_t node) {
        Plan& plan = *plan_;
        const Node& record = plan.nodes[size_t(node)];
        record.body.call(record.body.context, node);
        if (node == plan.last_node) {
            finished_.store(true, std::memory_order_release);
            return -1;
        }
        int32_t next = -1;
        const uint32_t* edge = &plan.edges[record.successor_begin];
        const uint32_t* const end = edge + record.successor_count;
        for (; edge != end; ++edge) {
            const auto successor = int32_t(*edge & ~kSoleEdge);
            if ((*edge & kSoleEdge) == 0 && !release_one<kShared>(plan, successor)) {
                continue;
            }
            if (next < 0) {
                next = successor;
            } else {
                self.stack.push(successor);
            }
        }
        return next;
    }

    // One predecessor of `node` is done. True for the last one, which also resets the counter: the
    // next run decrements it only after this run's last node.
    template <bool kShared>
    static bool release_one(Plan& plan, int32_t node) {
        std::atomic<int32_t>& pending = plan.pending[size_t(node)];
        int32_t left = 0;
        if (kShared) {
            left = pending.fetch_sub(1, std::memory_order_acq_rel) - 1;
        } else {
            left = pending.load(std::memory_order_relaxed) - 1;
            pending.store(left, std::memory_order_relaxed);
        }
        if (left != 0) {
            return false;
        }
        pending.store(plan.nodes[size_t(node)].predecessor_count, std::memory_order_relaxed);
        return true;
    }

    // Moves the oldest half of the private stack, up to a batch, to the empty public one.
    void offer(Worker& self) {
        const uint32_t count = std::min(PublicBatch::kCapacity, (self.stack.count() + 1) / 2);
        self.batch.refill(count, [&self](uint32_t) { return self.stack.pop_oldest(); });
        if (&self == workers_.data() && !started_helpers_) {
            started_helpers_ = true;
            team_.start();
        }
    }

    int32_t take_any(int id) {
        for (size_t i = 0; i < workers_.size(); ++i) {
            const int32_t node = workers_[(size_t(id) + i) % workers_.size()].batch.take();
            if (node >= 0) {
                return node;
            }
        }
        return -1;
    }

    // Helpers read plan_ only with a node in hand, which orders them after run()'s writes.
    Plan* plan_ = nullptr;
    bool started_helpers_ = false;  // in this run; worker 0 only
    alignas(128) std::atomic<bool> finished_{true};
    std::vector<Worker> workers_;
    Team team_;  // last: its threads use everything above
};

class PreparedDynamic final : public PreparedGraph {
  public:
    PreparedDynamic(DynamicReference& executor, Plan plan)
        : executor_(executor), plan_(std::move(plan)) {}
    void run() override { executor_.run(plan_); }

  private:
    DynamicReference& executor_;
    Plan plan_;
};

std::unique_ptr<PreparedGraph> DynamicReference::prepare(const Workload& workload) {
    Plan plan = compile(workload);
    reserve(plan.nodes.size());
    return std::make_unique<PreparedDynamic>(*this, std::move(plan));
}

}  // namespace

std::unique_ptr<Executor> make_dynamic_reference(const ExecutorSettings& settings) {
    return std::make_unique<DynamicReference>(settings.threads);
}

}  // namespace leat::micro
