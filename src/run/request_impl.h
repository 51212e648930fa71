// What a Request owns: who uses it, and of a compiled graph the bound inputs and outputs, and a
// part on each thread group that runs it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_range.h"
#include "base/out_of_memory.h"
#include "run/batch_division.h"
#include "run/compiled_graph_impl.h"
#include "run/exclusive_use.h"
#include "run/request_part.h"

namespace leat {

class SegmentsRun;
class ValuePool;

// A deadline counts from now on.
scheduler::RunControl control_of(const RunOptions& options);

// A request of one compiled graph. Used by one thread at a time.
struct RequestState {
    RequestState(std::shared_ptr<CompiledGraph::Impl> compiled, RequestPlace place);
    ~RequestState();
    RequestState(const RequestState&) = delete;
    RequestState& operator=(const RequestState&) = delete;

    // Memory for the largest plan cached now; links the most recent plan.
    Status reserve();
    Status bind(int input, Value value);
    Status bind_output(int output, Tensor tensor);
    // Binds what is bound to a request of the same graph with fewer inputs, and has its results.
    Status take_over(const RequestState& former);
    Status prepare(const InputShapes& shapes);
    // Makes the instances for the bound inputs current; plans, links and grows slabs if it has to.
    // `override_shapes`: shapes to plan for instead of the bound inputs' (by input), or empty.
    // `control`: of the run; it ends the wait for a plan that another thread makes.
    Status select_instances(std::span<const Shape> override_shapes,
                            const scheduler::RunControl& control);
    Status run(const scheduler::RunControl& control);
    // Without what is bound, which nobody needs after a run. A run binds all of it again.
    void release_bindings();
    // The same in steps, for who keeps several runs going: what may fail comes in prepare_start(),
    // start() lets helpers begin, work() is as RunHandle::work() says, and finish() takes part
    // until the end.
    Status prepare_start(const scheduler::RunControl& control);
    void start(const scheduler::RunControl& control);
    bool work();
    Status finish();
    void cancel();
    // False: nothing ran, or the last run failed.
    bool has_results() const { return has_results_; }
    Result<std::vector<StepTime>> profile();
    PlacementReport placement_report() const;
    std::string trace_json(int shard) const;
    void trim();

    std::shared_ptr<CompiledGraph::Impl> compiled;
    std::vector<Value> inputs;         // by input
    std::vector<bool> bound;           // by input
    std::vector<Tensor> user_outputs;  // by output; undefined: in the arena
    std::vector<Value> results;        // by output, of the last run; see has_results()

    // That of a shard of the last run or prepare; null: there is none.
    const Instance* instance(int shard) const {
        return size_t(shard) < active_.size() ? parts_[size_t(active_[size_t(shard)])].current()
                                              : nullptr;
    }
    const Instance* current() const { return instance(0); }
    DivisionReport division_report() const;
    // Null: the graph is one segment.
    const ValuePool* pool() const { return pool_.get(); }

  private:
    Status prepare_values();
    Status run_segments(const scheduler::RunControl& control);
    Status prepare_segments(const std::vector<Shape>& shapes);
    Status take_segment_results(std::vector<Value> values);
    void add_pages_to(PlacementReport& report, NumaMaps& maps) const;
    bool is_divided() const { return division_ != nullptr && division_->is_divided(); }
    // With those of what is bound to inputs of which nothing else says the shape.
    InputShapes with_bound_shapes(InputShapes shapes) const;
    std::vector<Shape> wanted_shapes(std::span<const Shape> override_shapes) const;
    bool matches(const Plan& plan) const;
    Status select_division(std::span<const Shape> override_shapes,
                           const scheduler::RunControl& control);
    Status use_division();
    Result<Tensor> aligned_room(const std::string& input, const Tensor& tensor) const;
    void copy_unaligned();
    Status check_bound() const;
    Status check_user_outputs() const;
    // Where the program wants the output, if it does: it must have this shape.
    Status check_user_output(int output, DType dtype, const Shape& shape) const;
    Status check_overlaps();
    Status check_new_overlaps();
    bool uses_memory(const ByteRange& range) const;
    int64_t first_byte(const Tensor& whole, int part) const;
    Tensor* target_of(int output);
    Status bind_addresses();
    Status wait_for_parts(size_t begin, Status status);
    Status run_here(const scheduler::RunControl& control);
    Status time_steps(const Instance& instance,
                      std::map<const NodeData*, std::vector<StepTime>>& times);
    Status collect_results();
    void copy_output(int output, int part, Tensor& target);

    bool has_results_ = false;
    // Something was bound, or memory may be another, since overlaps were looked for.
    bool is_bound_anew_ = true;
    // By input; defined where what was bound is not aligned: `inputs` has room for a copy then.
    std::vector<Tensor> unaligned_;
    int unaligned_count_ = 0;
    std::vector<ByteRange> input_ranges_;  // by input, of addresses; empty: nothing is bound
    int home_;                             // part of the calling thread
    bool divides_batches_;
    std::vector<RequestPart> parts_;                         // by thread group
    std::vector<std::unique_ptr<BatchDivision>> divisions_;  // most recently used first
    BatchDivision* division_ = nullptr;                      // current; null: none was asked for
    std::vector<int> active_;  // parts with a current instance that run; the first by the caller
    size_t started_ = 0;       // of them, in the last run
    // Of a graph in segments.
    std::unique_ptr<ValuePool> pool_;
    std::unique_ptr<SegmentsRun> segments_;
};

struct Request::Impl {
    Impl(std::shared_ptr<CompiledGraph::Impl> graph, RequestPlace where);

    // What `function` returns, a Status or a Result, while nobody else uses the request; kBusy
    // where somebody does. `action`: as for catch_bad_alloc.
    template <class Function>
    std::invoke_result_t<Function> use_alone(const char* action, const Function& function) {
        return catch_bad_alloc(action, [&]() -> std::invoke_result_t<Function> {
            const Use use(users);
            if (!use.has_begun()) {
                return busy();
            }
            return function();
        });
    }
    Status busy() const;
    // An error if the memory limit does not cover this many requests.
    Status check_count() const;

    // Calls bind(state, index of the input). Where a default input is bound for the first time,
    // that is the state of another graph, which takes the place of this one's unless binding fails.
    template <class Bind>
    Status bind(std::string_view input, const Bind& bind);
    // As RequestState's. Default inputs that have shapes are opened, and have their defaults until
    // they are bound.
    Status prepare(const InputShapes& shapes);
    // As RequestState's; from start() to finish(), which comes once after each start() that was a
    // success, the request is in use.
    Status start(const scheduler::RunControl& control);
    Status finish();
    bool is_started() const { return is_started_.load(std::memory_order_relaxed); }

    UseFlag users;  // calls of the program, and a run from start() to finish()
    const std::shared_ptr<CompiledGraph::Impl> made_of;
    const RequestPlace place;
    // Whoever uses the request may look at it.
    std::unique_ptr<RequestState> state;

  private:
    // Counts among the requests of the graph, whichever default inputs they have open.
    struct Counted {
        explicit Counted(std::atomic<int>& requests)
            : count(requests), others(requests.fetch_add(1)) {}
        ~Counted() { count.fetch_sub(1); }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
        std::atomic<int>& count;
        const int others;  // that there were before
    };

    // With what is bound now, of the graph that has these default inputs open.
    Result<std::unique_ptr<RequestState>> with_open(const std::vector<std::string>& names) const;

    Counted counted_;
    std::vector<std::string> opened_;      // the default inputs that `state` has open, sorted
    std::atomic<bool> is_started_{false};  // and not finished
};

}  // namespace leat
