// What a Request owns: the bound inputs and outputs, and its part of a thread group. Used by one
// thread at a time.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "runtime/compiled_graph_impl.h"
#include "runtime/request_part.h"

namespace leat {

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
    // Makes the instance for the bound inputs current; plans, links and grows the slab if it has
    // to. `override_shapes`: shapes to plan for instead of the bound inputs' (by input), or empty.
    Status select_instance(std::span<const Shape> override_shapes);
    Status run(const RunOptions& options);
    Result<std::vector<StepTime>> profile();
    PlacementReport placement_report() const;
    void trim();

    std::shared_ptr<CompiledGraph::Impl> compiled;
    std::vector<Value> inputs;         // by input
    std::vector<bool> bound;           // by input
    std::vector<Tensor> user_outputs;  // by output; undefined: in the arena
    std::vector<Value> results;        // by output, of the last run

    const Instance* current() const { return part_.current(); }

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
    Status check_bound() const;
    Status bind_addresses();
    Status run_bound(const RunOptions& options);
    Status collect_results();

    int group_;
    RequestPart part_;
};

}  // namespace leat
