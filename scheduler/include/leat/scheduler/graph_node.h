// Nodes of a TaskGraph, and what their callables may do. Included by task_graph.h.
//
// Ownership: handles (Node, Resource) are small, point into their graph, and do not outlive it.
// They may be copied and kept in containers; their setters change the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "leat/export.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_dag.h"
#include "leat/status.h"

namespace leat::scheduler {

template <class T>
class Node;

namespace detail {
struct TaskGraphData;
struct SubgraphPart;
class InstanceData;
}  // namespace detail

// Which threads run a node.
class Domain {
  public:
    enum class Kind : uint8_t { kAny, kCaller, kBlocking, kNumaNode };

    // Any worker of the executor.
    static constexpr Domain any() { return {Kind::kAny, 0}; }
    // The thread that called run(), or GraphRun::wait() after start().
    static constexpr Domain caller() { return {Kind::kCaller, 0}; }
    // A thread of the graph's own pool, for a callable that waits for something else than the CPU.
    static constexpr Domain blocking() { return {Kind::kBlocking, 0}; }
    // Workers near the memory of a node, numbered from 0; a hint. The report says where it has no
    // effect.
    static constexpr Domain numa_node(int node) { return {Kind::kNumaNode, node}; }

    constexpr Kind kind() const { return kind_; }
    constexpr int node() const { return node_; }

  private:
    constexpr Domain(Kind kind, int node) : kind_(kind), node_(node) {}
    Kind kind_;
    int node_;
};

// Something outside the edges that nodes read and write: order follows from what they declare.
class Resource {
  public:
    Resource() = default;

  private:
    friend class NodeRef;
    friend class TaskGraph;
    Resource(detail::TaskGraphData* graph, int32_t index) : graph_(graph), index_(index) {}
    detail::TaskGraphData* graph_ = nullptr;
    int32_t index_ = -1;
};

// A node of a graph, whatever its value.
class LEAT_API NodeRef {
  public:
    // Names no node; using it is an error of the graph.
    NodeRef() = default;
    // Empty for a handle that names no node.
    std::string_view name() const;

  protected:
    void add_after(const NodeRef& other) const;
    template <class T>
    void add_after(const std::vector<Node<T>>& others) const {
        for (const NodeRef& other : others) {
            add_after(other);
        }
    }
    void set_domain(Domain domain) const;
    void set_priority(Priority priority) const;
    void set_cost_ns(double cost_ns) const;
    void add_use(Resource resource, Access access) const;

  private:
    friend class GraphInstance;
    friend class TaskGraph;
    NodeRef(detail::TaskGraphData* graph, int32_t index) : graph_(graph), index_(index) {}
    // For the error of a graph that it is not of.
    std::string foreign_name() const;
    detail::TaskGraphData* graph_ = nullptr;
    int32_t index_ = -1;
};

// A node whose callable makes a T. What follows sets a property and returns the node.
template <class T>
class Node : public NodeRef {
  public:
    using Value = T;
    Node() = default;

    // Starts when `nodes`, each a node or a std::vector of nodes, have finished.
    template <class... Nodes>
    Node after(const Nodes&... nodes) const {
        (add_after(nodes), ...);
        return *this;
    }
    Node on(Domain domain) const { return set_domain(domain), *this; }
    // Of nodes that could start, the more important ones do. Where the program's gear has an order
    // of its own, GraphReport::notes says so.
    Node priority(Priority priority) const { return set_priority(priority), *this; }
    // Estimated time of one call; without it the scheduler measures nothing and assumes nothing.
    Node cost_ns(double cost_ns) const { return set_cost_ns(cost_ns), *this; }
    // A reader follows the last writer declared before it, a writer also the readers since.
    Node reads(Resource resource) const { return add_use(resource, Access::kRead), *this; }
    Node writes(Resource resource) const { return add_use(resource, Access::kWrite), *this; }

  private:
    friend class TaskGraph;
    explicit Node(const NodeRef& node) : NodeRef(node) {}
};

// What a callable may ask and do; valid during its call, in its thread.
class LEAT_API NodeScope {
  public:
    std::string_view name() const;
    // As TaskScope::worker(), in the innermost sub-graph; -1 in the blocking pool.
    int worker() const { return worker_; }
    // True when what this call computes is no longer wanted: whatever the callable then returns,
    // the node has no value and nothing that depends on it runs.
    bool is_cancelled() const;
    // The executor of the run: for runs of other graphs inside this node.
    Executor& executor() const;

    // Calls body(begin, end) or body(begin, end, worker), which returns Status or nothing, for
    // disjoint ranges of at least `grain` elements that cover [0, count), on the same threads, with
    // the priority of the run and cancelled with it.
    template <class F>
    Status parallel_for(int64_t count, int64_t grain, F&& body) {
        using Body = std::remove_reference_t<F>;
        return parallel_for_erased(
            count, grain, &call_range<Body>,
            const_cast<void*>(static_cast<const volatile void*>(std::addressof(body))));
    }

  private:
    friend class detail::InstanceData;
    NodeScope(detail::InstanceData& instance, int32_t node, TaskScope* task)
        : instance_(instance),
          task_(task),
          node_(node),
          worker_(task == nullptr ? -1 : task->worker()) {}

    template <class F>
    static Status call_range(void* body, int64_t begin, int64_t end, int worker) {
        F& function = *static_cast<F*>(body);
        if constexpr (std::is_invocable_v<F&, int64_t, int64_t, int>) {
            return as_status(function, begin, end, worker);
        } else {
            static_assert(std::is_invocable_v<F&, int64_t, int64_t>,
                          "the body of parallel_for takes (begin, end) or (begin, end, worker)");
            return as_status(function, begin, end);
        }
    }
    template <class F, class... Args>
    static Status as_status(F& function, Args... args) {
        if constexpr (std::is_same_v<std::invoke_result_t<F&, Args...>, Status>) {
            return function(args...);
        } else {
            function(args...);
            return {};
        }
    }
    Status parallel_for_erased(int64_t count, int64_t grain, RangeFunction body, void* context);

    detail::InstanceData& instance_;
    TaskScope* task_;
    int32_t node_;
    int worker_;
    mutable bool was_told_ = false;  // is_cancelled() was true
};

}  // namespace leat::scheduler
