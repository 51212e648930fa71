// What a Request owns: the bound inputs and outputs, and a part on each thread group that runs it.
// Used by one thread at a time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/batch_division.h"
#include "runtime/compiled_graph_impl.h"
#include "runtime/request_part.h"

namespace leat {

// A deadline counts from now on.
scheduler::RunControl control_of(const RunOptions& options);

struct Request::Impl {
    Impl(std::shared_ptr<CompiledGraph::Impl> compiled, RequestPlace place);
    ~Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    // An error if the memory limit does not cover this many requests.
    Status check_count() const;
    // Memory for the largest plan cached now; links the most recent plan.
    Status reserve();
    Status bind(int input, Value value);
    Status bind_output(int output, Tensor tensor);
    // Makes the instances for the bound inputs current; plans, links and grows slabs if it has to.
    // `override_shapes`: shapes to plan for instead of the bound inputs' (by input), or empty.
    Status select_instances(std::span<const Shape> override_shapes);
    Status run(const RunOptions& options);
    // The same in steps, for who keeps several runs going: start() lets helpers begin, work() is as
    // RunHandle::work() says, finish() takes part until the end, and comes once after each start()
    // that was a success. `takes_hold`: a hold of the
    // clock for the caller is taken before anything begins.
    Status start(const scheduler::RunControl& control, bool takes_hold);
    bool work();
    Status finish();
    // After work() has told the end: a run that failed lets time pass for the others.
    void abandon_clocks();
    void cancel();
    bool is_started() const { return is_started_; }
    RunClock* clock() { return parts_[size_t(active_[0])].current()->clock(); }
    Status check_not_started() const;
    Result<std::vector<StepTime>> profile();
    PlacementReport placement_report() const;
    void trim();

    // A request of the graph in which the default input is open, too, with all that is bound here.
    Result<std::unique_ptr<Impl>> with_open(std::string_view default_input) const;

    std::shared_ptr<CompiledGraph::Impl> compiled;
    // Where default inputs are bound: the graph that it was made of, and their names, sorted.
    std::shared_ptr<CompiledGraph::Impl> closed;
    std::vector<std::string> opened;
    std::vector<Value> inputs;         // by input
    std::vector<bool> bound;           // by input
    std::vector<Tensor> user_outputs;  // by output; undefined: in the arena
    std::vector<Value> results;        // by output, of the last run

    // That of a shard of the last run or prepare; null: there is none.
    const Instance* instance(int shard) const {
        return size_t(shard) < active_.size() ? parts_[size_t(active_[size_t(shard)])].current()
                                              : nullptr;
    }
    const Instance* current() const { return instance(0); }
    DivisionReport division_report() const;

  private:
    // Counts among the requests of its graph.
    struct Counted {
        explicit Counted(std::atomic<int>& requests)
            : count(requests), others(requests.fetch_add(1)) {}
        ~Counted() { count.fetch_sub(1); }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
        std::atomic<int>& count;
        const int others;  // that there were before
    };

    Counted counted_;
    bool is_divided() const { return division_ != nullptr && division_->is_divided(); }
    std::vector<Shape> wanted_shapes(std::span<const Shape> override_shapes) const;
    bool matches(const Plan& plan) const;
    Status select_division(std::span<const Shape> override_shapes);
    Status use_division();
    Status check_bound() const;
    Status check_user_outputs() const;
    int64_t first_byte(const Tensor& whole, int part) const;
    Tensor* target_of(int output);
    Status bind_addresses();
    Status wait_for_parts(size_t begin, Status status);
    Status run_here(const scheduler::RunControl& control);
    Status time_steps(const Instance& instance, std::map<const NodeData*, StepTime>& times);
    Status collect_results();
    void copy_output(int output, int part, Tensor& target);

    RequestPlace place_;
    int home_;  // part of the calling thread
    bool divides_batches_;
    std::vector<RequestPart> parts_;                         // by thread group
    std::vector<std::unique_ptr<BatchDivision>> divisions_;  // most recently used first
    BatchDivision* division_ = nullptr;                      // current; null: none was asked for
    std::vector<int> active_;  // parts with a current instance that run; the first by the caller
    size_t started_ = 0;       // of them, in the last run
    bool is_started_ = false;  // by start(), and not finished
};

}  // namespace leat
