// What the scheduler benchmark measures: an executor prepares a graph once and runs it many times.
//
// To plug in another one: derive Executor and PreparedGraph, give it a row in an array of
// ExecutorEntry, and return that array from a function that executor_list.cpp names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "graphs.h"

namespace leat::micro {

// What a node does. One function for a whole graph; the node's number tells which one runs. The
// call is never inlined: the function is known only at run time. Always true: so it is the last
// thing that a function of any interface does, also of one whose tasks say whether to go on.
struct NodeBody {
    bool (*call)(void* context, int32_t node) = nullptr;
    void* context = nullptr;
};

// Everything prepare() may look at. Graph, context and costs outlive the prepared graph; what the
// body does may change between runs (its length is recalibrated), the costs do not.
struct Workload {
    const Graph* graph = nullptr;
    NodeBody body;
    // Estimated nanoseconds of node i; empty: all equal and negligible.
    std::span<const float> costs_ns;
};

// A graph ready to run. Used by one thread at a time, the one that made it.
class PreparedGraph {
  public:
    PreparedGraph() = default;
    PreparedGraph(const PreparedGraph&) = delete;
    PreparedGraph& operator=(const PreparedGraph&) = delete;
    virtual ~PreparedGraph() = default;
    // Calls the body once for each node, a node after all its predecessors; returns when all are
    // done and what they wrote is visible.
    virtual void run() = 0;
};

struct ExecutorSettings {
    int threads = 1;  // that run nodes, the caller's included
    // Keep helpers awake for 2 ms after a run instead of parking them at once. Only for entries
    // that have the mode.
    bool latency_mode = false;
};

class Executor {
  public:
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;
    // The executor outlives what it prepares.
    virtual std::unique_ptr<PreparedGraph> prepare(const Workload& workload) = 0;
    // Around each block of runs of this executor, never inside a timed region: what would disturb
    // the others if it lasted, such as pinning the calling thread or workers that poll.
    virtual void activate() {}
    virtual void deactivate() {}
};

// Which question a row answers in the ratios.
enum class Family : uint8_t {
    kLeat,       // leat-inline, leat-dynamic, leat-compiled: the gates look for these names
    kReference,  // the minimal executors of this folder
    kLibrary,    // a graph library that keeps a static graph: flow graph, Taskflow
    kHandMade,   // counters written by hand on somebody's tasks
    kRebuilding  // creates the graph again in each run
};

struct ExecutorEntry {
    std::string_view name;
    Family family = Family::kLeat;
    // Larger graphs are scaled down for it, because it needs microseconds a node.
    int32_t max_nodes = kFullNodes * 2;
    bool has_latency_mode = false;
    bool serial_only = false;  // knows one thread only
    std::unique_ptr<Executor> (*make)(const ExecutorSettings& settings) = nullptr;
    std::string (*version)() = nullptr;  // may be null
};

// Empty where this build has none.
std::span<const ExecutorEntry> leat_entries();
std::span<const ExecutorEntry> reference_entries();
std::span<const ExecutorEntry> tbb_entries();
std::span<const ExecutorEntry> taskflow_entries();
std::span<const ExecutorEntry> openmp_entries();
std::span<const ExecutorEntry> starpu_entries();

}  // namespace leat::micro
