// InstanceData: the values of one run at a time of a graph, and that run.
//
// Thread safety: each function says who may call it. Who has the turn is in a UseScope of a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "leat/scheduler/executor.h"
#include "task_graph/task_graph_control.h"
#include "task_graph/task_graph_plan.h"
#include "task_graph/task_graph_use.h"
#include "threads/blocking_pool.h"
#include "trace/trace_buffer.h"

namespace leat::scheduler::detail {

// For who does not get the turn.
Status busy();

class InstanceData {
  public:
    // Values can be set before there is a plan.
    explicit InstanceData(std::shared_ptr<const TaskGraphData> graph);
    ~InstanceData();
    InstanceData(const InstanceData&) = delete;
    InstanceData& operator=(const InstanceData&) = delete;

    // --- by whoever has the turn ---
    GraphUse& use() { return use_; }
    // Replaces the plan; values of sources stay, results go. Where it throws nothing has changed.
    void attach(std::shared_ptr<const GraphPlan> plan);
    const GraphPlan* plan() const { return plan_.get(); }
    std::vector<double> task_times_ns() const { return state_->task_times_ns(); }

    // --- by anybody ---
    const TaskGraphData& graph() const { return *graph_; }
    std::shared_ptr<const GraphPlan> shared_plan() const;
    // Uninitialised memory for a source's value. ok: nobody else uses the instance until
    // finish_source(), with what came of making the value.
    Result<void*> claim_source(int32_t node);
    Status finish_source(int32_t node, Status status);
    // A result to be moved away. ok: nobody else uses the instance until finish_result().
    Result<void*> claim_result(int32_t node);
    void finish_result(int32_t node, bool is_taken);
    // Null: there is none, or a run goes on.
    const void* find_result(int32_t node);
    std::string trace_json();

    // --- of a sub-graph, by the node that it is ---
    // The source's value is somebody else's for the next run.
    void borrow_source(int32_t node, void* value, bool may_move);
    // Null: there is none.
    void* value_of(int32_t node) const;
    void drop(int32_t node) { destroy(slots_[node], node); }

    // --- runs ---
    // By whoever has the turn.
    Status run(Executor& executor, const RunControl& control);
    // As part of a node of the graph around this one.
    Status run_nested(TaskScope& task);
    // Keeps the turn until the run has ended. The run's number.
    Result<int64_t> start(UseScope& turn, Executor& executor, const RunControl& control);
    // Of started runs, by anybody.
    void cancel(int64_t number);
    Status wait(int64_t number);
    // As their handle is destroyed.
    void cancel_and_wait(int64_t number);
    // For ever: nothing starts any more, and what runs, whoever waits for it, is cancelled and
    // waited for.
    void close();

    // --- from inside a run ---
    const std::string& name_of(int32_t node) const { return graph_->nodes[size_t(node)].name; }
    // With the names of the nodes that this graph is inside of: "outer/inner".
    std::string path_of(int32_t node) const;
    // Why the run ends early; ok: it does not.
    Status stop_reason() const;
    Executor& executor() const { return *root_->executor_; }
    const RunControl& control() const { return root_->control_; }
    static InstanceData& child_of(const NodeScope& scope, int32_t part);
    static TaskScope& task_of(const NodeScope& scope) { return *scope.task_; }
    Status parallel_for(
        const NodeScope& scope, int64_t count, int64_t grain, RangeFunction body, void* context);

  private:
    // A value's memory; one block for all values that a graph had at one time.
    struct FreeBlock {
        std::align_val_t alignment;
        void operator()(void* block) const { ::operator delete(block, alignment); }
    };
    using Block = std::unique_ptr<void, FreeBlock>;

    class NodeJob final : public BlockingJob {
      public:
        NodeJob(InstanceData& instance, const JobPlan& plan) : instance_(instance), plan_(plan) {}
        void run() noexcept override { instance_.run_job(*this); }
        const JobPlan& plan() const { return plan_; }
        Status status;             // of the callable
        bool was_skipped = false;  // the run was ending when its turn came

      private:
        InstanceData& instance_;
        const JobPlan plan_;
    };

    // Until the end of the scope the thread works for a node of the instance, and no run tells so.
    class InsideNode {
      public:
        explicit InsideNode(const InstanceData& instance);
        ~InsideNode();
        InsideNode(const InsideNode&) = delete;
        InsideNode& operator=(const InsideNode&) = delete;

      private:
        const InstanceData* const before_;
    };
    struct RangeCall;

    void grow(int32_t node_count);
    std::vector<std::unique_ptr<NodeJob>> make_jobs(const GraphPlan& plan);
    std::vector<std::unique_ptr<InstanceData>> make_children(const GraphPlan& plan);
    void destroy(ValueSlot& slot, int32_t node);
    Status no_result(int32_t node) const;
    // With the path of the node, if there is memory for it.
    Status at(int32_t node, Status status) const noexcept;

    // The instance whose node the calling thread is in; null outside.
    static const InstanceData* innermost();
    // The calling thread is in a node of this root, or in a run inside of one.
    bool is_inside() const;
    void check_outside() const;
    // Its run, and those inside its nodes. By anybody.
    void stop();
    void stop_while_locked();

    // ok: end() has to follow.
    Status begin();
    Status begin_root(Executor& executor, const RunControl& control);
    Status end(Status status);
    Status end_root(Status status);
    void enter_outer();
    void leave_outer();
    Status finish();  // of a started run; under finish_mutex_
    void destroy_after_failure();
    TaskFunction task_function();

    static bool run_task(void* context, TaskId task, TaskScope& scope);
    Status call_task(const TaskPlan& task, TaskScope& scope);
    Status call_node(int32_t node, TaskScope* scope);
    void run_job(NodeJob& job) noexcept;
    Status finish_job(NodeJob& job);
    void release_inputs(const NodePlan& plan);

    struct GraphTrace;
    void clear_job_trace();
    void add_events(GraphTrace& trace) const;

    std::shared_ptr<const TaskGraphData> graph_;
    std::shared_ptr<const GraphPlan> plan_;
    std::optional<ProgramState> state_;
    std::unique_ptr<ValueSlot[]> slots_;  // by node
    int32_t slot_count_ = 0;
    std::vector<Block> blocks_;
    std::vector<std::unique_ptr<InstanceData>> children_;
    InstanceData* parent_ = nullptr;  // of a sub-graph, and the node that it is
    InstanceData* root_ = this;
    int32_t parent_node_ = -1;
    std::vector<std::unique_ptr<NodeJob>> jobs_;  // as in the plan
    BlockingGroup group_;

    // A node of this run failed. Set after the run was told, or job_error_ is set: the first error
    // is the one that it keeps.
    std::atomic<bool> is_failed_{false};
    std::mutex job_mutex_;  // guards job_error_ and job_trace_
    Status job_error_;      // the first of a job

    // Of the root:
    GraphUse use_;
    std::atomic<bool> is_cancelled_{false};  // by a handle, or by who destroys it; of this run
    Executor* executor_ = nullptr;
    RunControl control_;
    std::mutex finish_mutex_;          // one thread finishes a started run
    mutable std::mutex mutex_;         // guards handle_ to outer_, and plan_ against shared_plan()
    std::optional<RunHandle> handle_;  // of the run that is started
    int64_t number_ = 0;               // of the last start()
    InstanceData* first_inner_ = nullptr;  // runs of other graphs that its nodes have begun: a list
    InstanceData* next_inner_ = nullptr;   // in the list of outer_
    InstanceData* outer_ = nullptr;        // the root whose node has begun this run; null: none
    Status last_status_;                   // under finish_mutex_

    // What jobs did in the last run of the root; nodes on workers are in the trace of state_. Null:
    // not traced, or no jobs.
    std::unique_ptr<TraceBuffer> job_trace_;
};

}  // namespace leat::scheduler::detail
