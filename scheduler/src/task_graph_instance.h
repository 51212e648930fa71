// InstanceData: the values of one run at a time of a graph, and that run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "blocking_pool.h"
#include "leat/scheduler/executor.h"
#include "task_graph_control.h"
#include "task_graph_plan.h"
#include "trace/trace_buffer.h"

namespace leat::scheduler::detail {

class InstanceData {
  public:
    // Values can be set before there is a plan.
    explicit InstanceData(std::shared_ptr<const GraphData> graph);
    ~InstanceData();
    InstanceData(const InstanceData&) = delete;
    InstanceData& operator=(const InstanceData&) = delete;

    // --- between runs ---
    // Replaces the plan; values of sources stay, results go.
    void attach(std::shared_ptr<const GraphPlan> plan);
    const GraphPlan* plan() const { return plan_.get(); }
    std::shared_ptr<const GraphPlan> shared_plan() const { return plan_; }
    const GraphData& graph() const { return *graph_; }
    bool is_running() const { return is_running_.load(std::memory_order_acquire); }
    std::vector<double> task_times_ns() const { return state_->task_times_ns(); }

    Result<void*> claim_source(int32_t node);
    void mark_alive(int32_t node) { slots_[node].is_alive = true; }
    void* find_result(int32_t node) const;
    Status no_result(int32_t node) const;
    void drop(int32_t node);
    // Of a sub-graph: the source's value is somebody else's for the next run.
    void borrow_source(int32_t node, void* value, bool may_move);

    // --- runs ---
    Status run(Executor& executor, const RunControl& control);
    // As part of a node of the graph around this one.
    Status run_nested(TaskScope& task);
    Status start(Executor& executor, const RunControl& control);
    // Of the last start().
    int64_t number() const { return number_.load(std::memory_order_relaxed); }
    void cancel(int64_t number);
    Status wait(int64_t number);
    void cancel_and_wait();

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

    std::string trace_json() const;

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

    void grow(int32_t node_count);
    void make_parts();
    void make_children();
    void destroy(ValueSlot& slot, int32_t node);

    // Reserves the instance for a run; ok: end() has to follow.
    Status begin();
    void begin_root(Executor& executor, const RunControl& control);
    Status end(Status status);
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

    std::shared_ptr<const GraphData> graph_;
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

    std::atomic<bool> is_running_{false};
    // A node of this run failed. Set after the run was told, or job_error_ is set: the first error
    // is the one that it keeps.
    std::atomic<bool> is_failed_{false};
    std::mutex job_mutex_;  // guards job_error_ and job_trace_
    Status job_error_;      // the first of a job

    // Of the root:
    std::atomic<bool> is_cancelled_{false};  // by cancel()
    Executor* executor_ = nullptr;
    RunControl control_;
    std::mutex finish_mutex_;  // one thread finishes a started run
    std::mutex handle_mutex_;  // guards handle_, which cancel() and wait() use at once
    std::optional<RunHandle> handle_;
    std::atomic<bool> is_started_{false};
    std::atomic<int64_t> number_{0};
    Status last_status_;

    // What jobs did in the last run of the root; nodes on workers are in the trace of state_. Null:
    // not traced, or no jobs.
    std::unique_ptr<TraceBuffer> job_trace_;
};

}  // namespace leat::scheduler::detail
