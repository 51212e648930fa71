// Instances of a TaskGraph: values, and runs. Included by task_graph.h.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/export.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/graph_node.h"
#include "leat/scheduler/program.h"
#include "leat/scheduler/task_graph_detail.h"
#include "leat/status.h"

namespace leat::scheduler {

struct GraphOptions {
    // Gear of the program; nothing: chosen by estimate. Only in the dynamic gear no worker ever
    // waits for a node in the blocking pool: it is the choice for graphs that have one.
    std::optional<Gear> gear = {};
    // Threads that Domain::blocking() may use at once; made when they are needed.
    int max_blocking_threads = 64;
    // The graph is compiled so that its runs record what ran where and when: see trace_json().
    bool is_traced = false;
    // Events kept for each worker; more are counted and dropped.
    int64_t trace_events_per_worker = 16'384;
};

// What compile() made of a graph.
struct GraphReport {
    int64_t nodes = 0;
    int64_t tasks = 0;        // of the program; a blocking node is two
    int64_t value_bytes = 0;  // of one instance, without what values own
    ProgramStats program;
    // What was asked for and has no effect here, or little: NUMA nodes, priorities. Those of a
    // sub-graph begin with the name of its node.
    std::vector<std::string> notes;
};

// A run that was started. Destroying it cancels the run and waits until what had started has ended;
// a node of the run must not do that: the process ends and says so. One started inside a node has
// to end there. Thread safety: cancel() from any thread.
class LEAT_API GraphRun {
  public:
    ~GraphRun();
    GraphRun(GraphRun&&) noexcept;
    GraphRun& operator=(GraphRun&&) noexcept;

    // Returns at once; wait() then gives kCancelled, unless the run was over.
    void cancel();
    // Takes part in the run until it has ended. Nodes of Domain::caller() run in it. Errors: as
    // GraphInstance::run; kInvalidArgument from a node of the run, which would wait for itself.
    Status wait();

  private:
    friend class GraphInstance;
    friend class TaskGraph;
    GraphRun(std::shared_ptr<detail::InstanceData> instance, int64_t number, Status early);
    void end();
    std::shared_ptr<detail::InstanceData> instance_;  // null: moved from, or never started
    int64_t number_ = 0;
    Status early_;  // why it was not started
};

// The values of one run at a time of a graph. Instances of one graph run concurrently: they share
// its callables, which are then called by several threads at once.
// Keeps what it needs of the graph alive. Destroying it ends its run as GraphRun does, also one
// that another thread is in.
// Thread safety: values may be set and read by any thread; the functions below say what a run, or
// another thread's run, makes of it. One that was moved from may only be assigned to or destroyed.
class LEAT_API GraphInstance {
  public:
    ~GraphInstance();
    GraphInstance(GraphInstance&&) noexcept;
    GraphInstance& operator=(GraphInstance&&) noexcept;

    // Gives a source its value for the next run, which consumes it. Errors: not a source of this
    // graph; kBusy during a run; no memory; what moving the value threw, and the source has none.
    template <class T>
    Status set(const Node<T>& source, std::type_identity_t<T> value) {
        return set_from(source, value);
    }
    // The result of a node in the last run; null if there is none, or during a run.
    template <class T>
    const T* result(const Node<T>& node) const {
        return static_cast<const T*>(find_result(node));
    }
    // Moves a result out. Errors: kNotFound where result() is null, with the reason; kBusy during a
    // run; what moving the value threw, which then stays.
    template <class T>
    Result<T> take(const Node<T>& node) {
        Result<void*> place = claim_result(node);
        return place.ok() ? take_from(node, *static_cast<T*>(*place))
                          : Result<T>(std::move(place).error());
    }

    // Blocks until every node has run, or until what was running has ended after an error, the
    // deadline or a stop; with one that came before, nothing runs. Allocates nothing from the
    // second run on.
    // Errors: of a node; kTimeout, kCancelled; a source without a value; kBusy; kOutOfMemory. It
    // can run again after each.
    Status run(Executor& executor, const RunControl& control = {});
    // The same without blocking; what cannot start is reported by wait(). The executor has to
    // outlive the run.
    GraphRun start(Executor& executor, const RunControl& control = {});

    // What the last run of a traced graph recorded, as JSON that Perfetto opens; not during a run.
    std::string trace_json() const;

  private:
    friend class TaskGraph;
    explicit GraphInstance(std::shared_ptr<detail::InstanceData> data);
    void end();
    Status check_node(const NodeRef& node) const;
    // A claim keeps everybody else out until it is finished.
    Result<void*> claim_source(const NodeRef& source);
    Status finish_source(const NodeRef& source, Status status);
    Result<void*> claim_result(const NodeRef& node);
    void finish_result(const NodeRef& node, bool is_taken);
    const void* find_result(const NodeRef& node) const;
    // The one move of the value that is made for the caller.
    template <class T>
    Status set_from(const Node<T>& source, T& value) {
        Result<void*> place = claim_source(source);
        if (!place.ok()) {
            return std::move(place).error();
        }
        return finish_source(source, detail::guarded([&]() -> Status {
                                 ::new (*place) T(std::move(value));
                                 return {};
                             }));
    }
    // With one return, where the result is made: moving it again could throw again.
    template <class T>
    Result<T> take_from(const NodeRef& node, T& value) {
        Result<T> taken =
            detail::guarded([&value]() -> Result<T> { return Result<T>(std::move(value)); });
        finish_result(node, taken.ok());
        return taken;
    }
    static GraphRun handle_of(std::shared_ptr<detail::InstanceData> data, Result<int64_t> number);

    std::shared_ptr<detail::InstanceData> data_;
};

}  // namespace leat::scheduler
