// Plan: what one set of input shapes fixes. Steps with prepared kernels, where every value lives,
// and the program that runs them. Immutable once made; shared by requests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "graph/inference.h"
#include "leat/runtime.h"
#include "leat/scheduler/program.h"
#include "machine/device_part.h"
#include "memory/domains/weight_store.h"
#include "memory/memory_planner.h"
#include "plan/constant_streams.h"
#include "plan/device_plan.h"
#include "plan/layout_choice.h"
#include "plan/memory_limit.h"
#include "plan/step_tasks.h"
#include "run/run_clock.h"

namespace leat {

// Where the elements of a value live.
struct Storage {
    enum class Kind : uint8_t {
        kNone,      // no elements: an absent operand, or a value that nobody needs
        kArena,     // index: buffer
        kStrings,   // index: string buffer
        kInput,     // index: graph input
        kConstant,  // index: constant of the plan
    };
    Kind kind = Kind::kNone;
    int32_t index = -1;
    int64_t offset_bytes = 0;  // in the buffer, input or constant
};

struct PlanStep {
    const NodeData* node = nullptr;
    const HostKernel* kernel = nullptr;  // of Plan::kernels
    const DeviceStep* device = nullptr;  // the kernel, if a device carries it out
    int32_t first_arg = 0;               // index of its inputs, then its outputs, in Plan::args
    int32_t input_count = 0;
    int32_t output_count = 0;
    int32_t device_use = -1;   // of DevicePlan::uses, if it has a device
    bool is_transfer = false;  // its node is one of DevicePlan::transfer_nodes
    double cost_ns = 0;        // of the whole step on one worker, as the program was made with
    int64_t virtual_ns = 0;    // on the host's lane of a virtual clock; 0 elsewhere
};

// A graph output: a tensor somewhere, or (sequences, optionals) a bound input as it is.
struct PlanOutput {
    DType dtype = DType::kUndefined;
    Shape shape;
    Storage storage;
    bool fills_buffer = false;  // the arena buffer holds nothing else
};

// A buffer of the arena, for reports.
struct PlacedBuffer {
    int32_t value = -1;  // of the graph: the largest of those in it
    int64_t size_bytes = 0;
    int64_t offset_bytes = 0;
    int32_t begin_step = 0;  // alive in [begin_step, end_step) where steps run one after the other
    int32_t end_step = 0;
};

// Identity of a plan: whose threads run it, the shapes of all inputs, and the elements of the
// inputs that decide shapes.
struct PlanKey {
    int group = 0;                  // as Runtime::Impl::plan_group says
    std::vector<Shape> shapes;      // by input; empty for non-tensors
    std::vector<std::byte> values;  // shape-deciding inputs' bytes, in input order
    friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

struct Plan {
    PlanKey key;
    std::vector<PlanStep> steps;
    std::vector<std::unique_ptr<const HostKernel>> kernels;  // steps may share them
    std::vector<TensorArg> args;                             // data is null unless constant
    std::vector<Storage> arg_storage;                        // by argument
    std::vector<Tensor> constants;
    std::vector<int64_t> string_counts;  // by string buffer, elements
    std::vector<PlanOutput> outputs;
    std::vector<PlacedBuffer> buffers;
    DevicePlan devices;
    int64_t arena_bytes = 0;
    int64_t scratch_bytes = 0;               // per worker, aligned
    int64_t largest_result_bytes = 0;        // of what steps compute
    int32_t copies_ahead = kCopiesAhead[0];  // of streamed constants, in parts
    // A plan for other shapes starts from these.
    SharedFacts facts;                            // by value of the graph
    std::vector<bool> known;                      // by value: no step computes it
    std::vector<bool> needed;                     // by node: some output needs it
    std::vector<int32_t> constant_of_value;       // index in `constants`; -1: none
    std::shared_ptr<const GraphData::Uses> uses;  // null: nobody has asked
    std::shared_ptr<const NodeTwins> twins;       // null: there was no former plan
    std::shared_ptr<const MemoryPlanner> planner;
    MemoryLayout layout;                        // buffers: those of the arena
    std::optional<scheduler::Program> program;  // set once the plan is made
    std::vector<StepTask> tasks;                // of the program
    bool is_traced = false;                     // runs record what ran where
    // Of the program; null: no device has a virtual clock.
    std::shared_ptr<const TaskReleases> releases;
    PlanReport report;
    std::vector<std::string>
        reference_kernels;  // "node 'x' (Op)" that fell back to the plain kernel

    const TensorArg& output_arg(const PlanStep& step, int32_t output) const {
        return args[size_t(step.first_arg) + size_t(step.input_count) + size_t(output)];
    }
    int64_t own_bytes() const;  // memory of this object, for the cache's byte cap
};

struct ForecastOrder;

struct PlanContext {
    const GraphData& graph;  // after the passes, in topological order; outlives the plan
    // The same before parts for devices were cut out of it: what is inferred. Values are the same.
    const GraphData& whole;
    const Backend& backend;
    std::span<const Backend* const> hosts;  // by node of `graph`; empty: `backend` has them all
    PlacedWeights weights;
    int workers;     // that a run may have
    bool is_serial;  // as CompileOptions::runs_serially
    int numa_node;   // whose threads they are; -1: any
    bool is_shared;  // they are those of several nodes
    // By node: measured over estimated time; empty: nothing was measured.
    std::span<const double> cost_factors;
    bool is_traced;  // the program
    MemoryLimit memory_limit;
    // By cluster.
    std::span<const std::shared_ptr<const DevicePart>> parts;
    bool has_host_steps;         // false: nothing may run on a host
    const ForecastOrder* order;  // null: there was no forecast; outlives make_plan
    bool overlaps_requests;      // several are in flight, of which threads take what is ready
    // By node of `whole`, in parts; outlive make_plan.
    const ConstantStreams& streams;
    std::span<const int> part_of_node;  // -1: none
    const Plan* former = nullptr;       // for other shapes; outlives make_plan
    // Facts of other inputs, by their shapes, for whose sizes memory is arranged as well: plans for
    // sizes between these find an arrangement that suits them.
    std::span<const std::vector<ValueFact>> further_facts = {};
    // What was found for these very shapes before, and is taken without searching; outlives
    // make_plan. Where it does not fit, kParse says so.
    const SolvedChoice* solved = nullptr;
};

// Makes the plan for these inputs: a fact for each graph input, of fixed shape, with the elements
// of the shape-deciding ones.
Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context,
                                              PlanKey key,
                                              std::span<const ValueFact> input_facts);

// The plans that make_plan may choose from, from the most parallel one on.
Result<std::vector<MemoryTradeOff>> trade_offs(const PlanContext& context,
                                               std::span<const ValueFact> input_facts);

}  // namespace leat
