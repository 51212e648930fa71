// What a Request owns: its memory, the bound inputs and outputs, and one linked instance for each
// plan it holds. Used by one thread at a time.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "leat/scheduler/thread_binding.h"
#include "runtime/compiled_graph_impl.h"
#include "runtime/request_memory.h"

namespace leat {

// A plan with addresses: everything that one run touches.
class Instance {
  public:
    Instance(std::shared_ptr<const Plan> plan, int worker_count);

    const Plan& plan() const { return *plan_; }
    // Sets every address: buffers in `arena`, scratch of each worker, inputs and outputs as bound.
    void link(std::shared_ptr<const Slab> arena, std::span<std::byte* const> scratch);
    void set_input(int input, const std::byte* data);
    // Lets the buffer of an output live in caller memory; null: in the arena again. False if the
    // output has no buffer of its own (it is an input or a constant): then it is copied after the
    // run.
    bool set_output(int output, std::byte* data);

    Status run(scheduler::Executor& executor, const scheduler::RunControl& control);
    Status run_step(int32_t step, int64_t tile_begin, int64_t tile_end, int worker) const;
    // The elements of a tensor output after a run.
    const std::byte* output_data(int output, std::span<const Value> inputs) const;
    const std::shared_ptr<const Slab>& arena() const { return arena_; }
    // Workers that ran a tile since the last call of run().
    int workers_used() const;
    scheduler::RunStats run_stats() const { return state_.run_stats(); }
    // Of the last run, with the names of the nodes.
    std::string trace_json() const;

  private:
    int64_t offset_bytes(int32_t arg) const { return plan_->arg_storage[size_t(arg)].offset_bytes; }

    std::shared_ptr<const Plan> plan_;
    std::vector<TensorArg> args_;
    std::vector<std::byte*> buffers_;                   // address of each arena buffer
    std::vector<std::vector<int32_t>> args_of_buffer_;  // arguments in each arena buffer
    std::vector<std::vector<int32_t>> args_of_input_;   // arguments in each graph input
    std::vector<std::vector<std::string>> strings_;     // by string buffer
    std::shared_ptr<const Slab> arena_;
    std::vector<std::byte*> scratch_;  // by worker
    // Which workers ran a tile: written once a run by each, so that the line stays shared.
    mutable std::vector<std::atomic<uint8_t>> worker_ran_;
    scheduler::ProgramState state_;
};

struct Request::Impl {
    explicit Impl(std::shared_ptr<CompiledGraph::Impl> compiled);
    ~Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    // An error if the memory limit does not cover this many requests.
    Status check_count() const;
    // Memory for the largest plan cached now; links the most recent plan.
    Status reserve();
    Status bind(int input, Value value);
    Status bind_output(int output, Tensor tensor);
    // Makes the instance for the bound inputs current; plans, links and grows the slab if it has
    // to. `override_shapes`: shapes to plan for instead of the bound inputs' (by input), or empty.
    Status select_instance(std::span<const Shape> override_shapes);
    Status run(const RunOptions& options);
    Result<std::vector<StepTime>> profile();
    PlacementReport placement_report() const;
    void trim();

    std::shared_ptr<CompiledGraph::Impl> compiled;
    std::vector<Value> inputs;                         // by input
    std::vector<bool> bound;                           // by input
    std::vector<Tensor> user_outputs;                  // by output; undefined: in the arena
    std::vector<Value> results;                        // by output, of the last run
    std::vector<std::unique_ptr<Instance>> instances;  // most recently used first
    Instance* current = nullptr;

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
    bool matches(const Plan& plan) const;
    // Makes the first held instance whose plan fulfils the predicate current; false if none does.
    template <class Predicate>
    bool use_instance(const Predicate& wanted);
    Status check_bound() const;
    Status add_instance(std::shared_ptr<const Plan> plan);
    // Memory for a plan of this size, and every instance linked to it.
    Status grow_memory(int64_t arena_bytes, int64_t scratch_bytes);
    Status bind_addresses();
    Status run_bound(const RunOptions& options);
    Status collect_results();

    // Where activations are, and the calling thread while it runs.
    MemoryDomainId home_;
    std::optional<scheduler::ThreadBinding> home_binding_;  // where there are several domains
    RequestMemory memory_;
};

}  // namespace leat
