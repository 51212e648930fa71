// TaskGraph: callables as nodes, typed values on the edges, run again and again.
//
//   leat::scheduler::TaskGraph graph;
//   auto load = graph.add("load", [] { return std::vector<float>(1000, 1.0F); });
//   auto sum = graph.add("sum", [](const std::vector<float>& v) { ...; return total; }, load);
//   Executor executor({.threads = 4});
//   Status status = graph.run(executor);
//   Result<float> total = graph.take(sum);
//
// Values. A node's callable has one parameter for each input, and may have a NodeScope& before
// them. It returns T, Result<T>, Status or void. A parameter
//   const T&   sees the value, which other nodes may see at the same time;
//   T          gets the value moved if this node is its only consumer, else a copy;
//   T&&        gets the value moved, and has to be its only consumer;
//   Values<T>  sees the values of an input that is a std::vector<Node<T>>.
// Parameters of a generic lambda are const T&. A value is destroyed when its last consumer has run,
// and also when the run fails. A value that no node consumes is a result: it is kept until it is
// taken, the next run begins or the graph ends.
//
// Errors come back as a Status that names the node. A mistake in building (a handle of another
// graph, a negative cost) is kept and returned by compile() or run(). The first error or exception
// of a run cancels what has not started.
//
// Thread safety: a graph is built by one thread at a time, and not while it or one of its instances
// runs. Two runs of one graph or instance at once: one of them gets kBusy; make_instance() gives
// values of their own to runs at the same time.
// Ownership: a graph owns its callables and values; a sub-graph belongs to the graph it is part of.
// Exceptions: in programs built with -fno-exceptions set() and take() do not catch what moving a
// value throws all the same, std::bad_alloc. Where a program has files of both kinds, that may hold
// for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/export.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/graph_instance.h"
#include "leat/scheduler/graph_node.h"
#include "leat/scheduler/task_graph_detail.h"
#include "leat/status.h"

namespace leat::scheduler {

template <class Signature>
class Subgraph;
template <class... Ts>
struct Sources;

// Builds a graph, and holds one instance of it. One that was moved from has empty handles for
// nodes, and an error for who compiles or runs it.
class LEAT_API TaskGraph {
  public:
    explicit TaskGraph(const GraphOptions& options = {});
    // Ends a run as GraphRun does, also one that another thread is in.
    ~TaskGraph();
    TaskGraph(TaskGraph&&) noexcept;
    TaskGraph& operator=(TaskGraph&&) noexcept;

    // A node that calls `function` with the values of `inputs`, each a Node<T> or a
    // std::vector<Node<T>>. See the top of this file for what it may take and return.
    template <class F, class... Inputs>
    auto add(std::string_view name, F&& function, const Inputs&... inputs) {
        using Body = detail::Body<F, Inputs...>;
        typename Body::Offsets offsets{};
        const auto list = list_inputs(detail::OnlyConsumer<Body>::kNeeds, offsets, inputs...);
        return Node<typename Body::Value>(
            add_node(name, std::make_unique<Body>(std::forward<F>(function), offsets),
                     detail::value_type<typename Body::Value>(), list));
    }
    // A node whose value comes from outside: see set().
    template <class T>
    Node<T> source(std::string_view name) {
        return Node<T>(add_node(name, nullptr, detail::value_type<T>(), {}));
    }
    // Keeps the value of a node as a result, although other nodes consume it.
    template <class T>
    Node<T> sink(const Node<T>& node) {
        keep(node);
        return node;
    }
    Resource resource(std::string_view name);

    // --- control flow ---
    // A graph as a node. Its inner nodes run on the same threads, with the priority of the run. Of
    // its options only the gear counts. Errors: a sub-graph that was given to a node before, or was
    // moved from; more than 400 graphs inside of one another.
    template <class R, class... Ts>
    Node<R> add_subgraph(std::string_view name,
                         Subgraph<R(Ts...)> body,
                         const Node<std::type_identity_t<Ts>>&... inputs);
    // One of two graphs, chosen by a value.
    template <class R, class... Ts>
    Node<R> add_if(std::string_view name,
                   const Node<bool>& condition,
                   Subgraph<R(Ts...)> then,
                   Subgraph<R(Ts...)> otherwise,
                   const Node<std::type_identity_t<Ts>>&... inputs);
    // A graph from a state to the next one, as long as condition(const S& state) holds; it may take
    // a NodeScope& before the state. The value is the last state.
    template <class S, class F>
    Node<S> add_while(std::string_view name,
                      F&& condition,
                      Subgraph<S(S)> body,
                      const Node<std::type_identity_t<S>>& initial);
    // The same, `count` times.
    template <class S>
    Node<S> add_repeat(std::string_view name,
                       int64_t count,
                       Subgraph<S(S)> body,
                       const Node<std::type_identity_t<S>>& initial);

    // --- running ---
    // Checks the graph and decides order and threads. run() and start() do it when the graph has
    // changed, or the executor has another number of workers than before.
    // Errors: a circle of after() (its nodes are named), a handle that names no node of this graph,
    // a T&& of a value with several consumers, a NUMA node that does not exist.
    Status compile(const Executor& executor);
    // The same graph placed again by the times that runs of a traced graph measured.
    Status recompile();
    // Of the last compile().
    const GraphReport& report() const;
    // Another instance; of the graph as it is now. Errors: as compile().
    Result<GraphInstance> make_instance(const Executor& executor);

    // Of the graph's own instance: see GraphInstance.
    Status run(Executor& executor, const RunControl& control = {});
    GraphRun start(Executor& executor, const RunControl& control = {});
    template <class T>
    Status set(const Node<T>& source, std::type_identity_t<T> value) {
        return own_.set_from(source, value);
    }
    template <class T>
    const T* result(const Node<T>& node) const {
        return own_.result(node);
    }
    template <class T>
    Result<T> take(const Node<T>& node) {
        return own_.take(node);
    }
    std::string trace_json() const { return own_.trace_json(); }

  private:
    template <class Signature>
    friend class Subgraph;

    struct InputRef {
        NodeRef node;
        bool needs_only_consumer = false;
    };
    using InputList = std::vector<InputRef>;
    enum class Control : uint8_t { kSubgraph, kIf, kWhile, kRepeat };
    struct ControlSpec;

    template <size_t kCount, class... Inputs>
    static InputList list_inputs(const std::array<bool, kCount>& needs,
                                 std::array<int32_t, kCount + 1>& offsets,
                                 const Inputs&... inputs) {
        InputList list;
        [[maybe_unused]] size_t input = 0;
        ((append_input(list, inputs, needs[input]), offsets[++input] = int32_t(list.size())), ...);
        return list;
    }
    static void append_input(InputList& list, const NodeRef& node, bool needs_only_consumer) {
        list.push_back({node, needs_only_consumer});
    }
    template <class T>
    static void append_input(InputList& list, const std::vector<Node<T>>& nodes, bool /*needs*/) {
        for (const NodeRef& node : nodes) {
            list.push_back({node, false});
        }
    }
    NodeRef add_node(std::string_view name,
                     std::unique_ptr<detail::NodeBody> body,
                     const detail::ValueType& type,
                     const InputList& inputs);
    NodeRef add_control(std::string_view name, ControlSpec spec, InputList inputs);
    void keep(const NodeRef& node);
    Status ensure_compiled(const Executor& executor);

    std::shared_ptr<detail::TaskGraphData> data_;
    GraphInstance own_;
};

// Sources of a graph that is to be a node of another: the node's inputs, in this order.
template <class... Ts>
struct Sources {
    explicit Sources(const Node<Ts>&... sources) : nodes{sources...} {}
    std::array<NodeRef, sizeof...(Ts)> nodes;
};

// A graph as a function: from the values of its sources to the value of one node, or none.
//   Subgraph square(std::move(graph), Sources(x), y);   // Subgraph<double(double)>
template <class R, class... Ts>
class Subgraph<R(Ts...)> {
  public:
    Subgraph(TaskGraph graph, const Sources<Ts...>& sources, const Node<R>& result = {})
        : graph_(std::move(graph)),
          sources_(sources.nodes.begin(), sources.nodes.end()),
          result_(result) {
        static_assert(std::is_void_v<R> || std::is_move_constructible_v<R>,
                      "the result of a sub-graph is moved into its node");
    }

  private:
    friend class TaskGraph;
    TaskGraph graph_;
    std::vector<NodeRef> sources_;
    NodeRef result_;
};
template <class... Ts>
Subgraph(TaskGraph, Sources<Ts...>) -> Subgraph<void(Ts...)>;
template <class R, class... Ts>
Subgraph(TaskGraph, Sources<Ts...>, Node<R>) -> Subgraph<R(Ts...)>;

// What a node of control flow is made of.
struct TaskGraph::ControlSpec {
    struct Part {
        Status check_into(detail::SubgraphPart& part, bool has_value) const;

        TaskGraph graph;
        std::vector<NodeRef> sources;
        NodeRef result;
    };

    ControlSpec(Control what, const detail::ValueType& value) : control(what), type(value) {}

    template <class Signature>
    void add(Subgraph<Signature>& body) {
        parts.push_back({std::move(body.graph_), std::move(body.sources_), body.result_});
    }
    template <class S>
    void set_copy() {
        if constexpr (detail::is_copyable<S>()) {
            copy = [](void* to, const void* from) { ::new (to) S(*static_cast<const S*>(from)); };
        }
    }

    Control control;
    detail::ValueType type;  // of the node's value
    std::vector<Part> parts;
    std::unique_ptr<detail::NodeBody> condition;  // kWhile: from the state to bool
    int64_t count = 0;                            // kRepeat
    // kWhile, kRepeat: for an initial state that others see too; null: it cannot be copied.
    void (*copy)(void* to, const void* from) = nullptr;
};

template <class R, class... Ts>
Node<R> TaskGraph::add_subgraph(std::string_view name,
                                Subgraph<R(Ts...)> body,
                                const Node<std::type_identity_t<Ts>>&... inputs) {
    ControlSpec spec(Control::kSubgraph, detail::value_type<R>());
    spec.add(body);
    return Node<R>(add_control(name, std::move(spec), {InputRef{inputs}...}));
}

template <class R, class... Ts>
Node<R> TaskGraph::add_if(std::string_view name,
                          const Node<bool>& condition,
                          Subgraph<R(Ts...)> then,
                          Subgraph<R(Ts...)> otherwise,
                          const Node<std::type_identity_t<Ts>>&... inputs) {
    ControlSpec spec(Control::kIf, detail::value_type<R>());
    spec.add(then);
    spec.add(otherwise);
    return Node<R>(add_control(name, std::move(spec), {InputRef{condition}, InputRef{inputs}...}));
}

template <class S, class F>
Node<S> TaskGraph::add_while(std::string_view name,
                             F&& condition,
                             Subgraph<S(S)> body,
                             const Node<std::type_identity_t<S>>& initial) {
    using Condition = detail::Body<F, Node<S>>;
    static_assert(std::is_same_v<typename Condition::Value, bool>, "a condition returns bool");
    static_assert(!detail::OnlyConsumer<Condition>::kNeeds[0],
                  "a condition sees the state as const S&");
    ControlSpec spec(Control::kWhile, detail::value_type<S>());
    spec.add(body);
    spec.condition =
        std::make_unique<Condition>(std::forward<F>(condition), typename Condition::Offsets{0, 1});
    spec.set_copy<S>();
    return Node<S>(add_control(name, std::move(spec), {InputRef{initial}}));
}

template <class S>
Node<S> TaskGraph::add_repeat(std::string_view name,
                              int64_t count,
                              Subgraph<S(S)> body,
                              const Node<std::type_identity_t<S>>& initial) {
    ControlSpec spec(Control::kRepeat, detail::value_type<S>());
    spec.add(body);
    spec.count = count;
    spec.set_copy<S>();
    return Node<S>(add_control(name, std::move(spec), {InputRef{initial}}));
}

}  // namespace leat::scheduler
