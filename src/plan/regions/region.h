// Region: a node with bodies as one step of a plan: a plan for each body, and the places of what
// a run of the step needs in its shared memory, which is part of the arena of the plan.
//
//   number, condition | slices | carried values, twice | scratch | arena of whichever body runs
//
// Iterations take turns with two sets of addresses, between which carried values change places:
// what one writes is where the other one reads. All else is the same for both, so that both use the
// same arena, and bodies in bodies need nothing twice.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "leat/scheduler/executor.h"
#include "ops/axis_split.h"
#include "plan/plan.h"

namespace leat {

// What one instance of a plan has for a region; implemented where plans are run.
class RegionState : public KernelState {
  public:
    // Lets it work in the region's shared_bytes from here on.
    virtual void link(std::byte* memory) = 0;
    // `scope`: of the task; null: nobody can stop the run, and nobody helps.
    virtual Status run(const KernelArgs& args, scheduler::TaskScope* scope) = 0;
    // True: from here on, with all times 0, runs take the time of each step in the bodies, which
    // one thread runs in turn.
    virtual void set_timing(bool is_on) noexcept = 0;
    // A row for each of those steps, those of bodies in bodies behind their node.
    virtual Status add_times(const std::string& around, std::vector<StepTime>& rows) const = 0;
    // Of plans that are traced: the runs of bodies and of steps in them since the last clear, the
    // first some thousand of each body.
    virtual void clear_trace() noexcept = 0;
    virtual void add_trace(const std::string& around,
                           std::vector<scheduler::TraceRow>& rows) const = 0;
};

// A plan of a body.
struct BodyPlan {
    std::string_view key;  // the attribute
    std::shared_ptr<const Plan> plan;
    // True: one worker carries out all steps in turn, because others would help for less than it
    // takes to ask them.
    bool is_inline = true;
    bool is_new = true;  // made for this region, not taken over from a former one
    // By output: it may live wherever the region wants it. Else it is copied there.
    std::vector<bool> moves;
};

// A sequence or a stack, of which each iteration has a part: an index of an axis.
struct PartsOfWhole {
    int32_t whole = 0;  // operand or result of the node
    int32_t part = 0;   // input or output of the body
    AxisSplit split;
    int64_t inner_bytes = 0;
    bool is_reversed = false;
    bool grows = false;   // a stack whose length only the run knows: a GrownTensor
    int64_t memory = -1;  // of a part that is copied; -1: it is read or written in the whole

    // Of an iteration, along the axis.
    int64_t index_of(int64_t iteration) const {
        return is_reversed ? split.extent - 1 - iteration : iteration;
    }
    int64_t part_bytes() const { return split.outer * inner_bytes; }
};

// A value that the next iteration gets from this one.
struct CarriedValue {
    int32_t operand = 0;  // of the node: what the first iteration gets
    int32_t result = -1;  // of the node; -1: nobody wants it
    int32_t input = 0;    // of the body
    int32_t output = 0;   // of the body
    int64_t bytes = 0;
    // Of the two that take turns; the first is -1 where the result of the node is one of them.
    std::array<int64_t, 2> memory = {-1, -1};
};

// How a Loop or a Scan drives its body. -1: there is none.
struct LoopPlan {
    int32_t trip_count = -1;  // operands of the node
    int32_t first_condition = -1;
    int32_t number_input = -1;  // inputs of the body
    int32_t condition_input = -1;
    int32_t condition_output = -1;  // of the body
    int64_t scan_length = -1;
    std::vector<CarriedValue> carried;
    std::vector<PartsOfWhole> sequences;
    std::vector<PartsOfWhole> stacks;
};

// Immutable. What it runs changes nothing but the state.
class Region : public HostKernel {
  public:
    // For nodes with operands of these facts. Null: what a body computes has no fixed size, or its
    // elements are no plain bytes, so that a kernel of the node has to run it. `host` prepares the
    // nodes of the bodies. former: null, or the region that the node had in an earlier plan.
    static Result<std::unique_ptr<Region>> make(const PlanContext& context,
                                                const PrepareContext& prepare,
                                                std::span<const ValueFact* const> facts,
                                                const Backend& host,
                                                const Region* former);

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

    const NodeData& node() const { return *node_; }
    // then_branch and else_branch, or the one of a loop.
    const std::vector<BodyPlan>& bodies() const { return bodies_; }
    const LoopPlan& loop() const { return loop_; }
    bool is_loop() const { return bodies_.size() == 1; }
    int32_t own_inputs() const { return int32_t(node_->own_inputs()); }

    // An estimate for the longest run of a body, if runs differ, because bodies are in it; else 0.
    double longest_body_ns() const { return longest_body_ns_; }
    // In its shared memory.
    int64_t number_offset() const { return number_offset_; }
    int64_t condition_offset() const { return number_offset_ + int64_t(sizeof(int64_t)); }
    int64_t scratch_offset() const { return scratch_offset_; }
    int64_t scratch_bytes_of(const BodyPlan& body) const;  // of each worker
    int64_t arena_offset() const { return arena_offset_; }

    static RegionState& state_of(KernelState& state) { return static_cast<RegionState&>(state); }

  private:
    friend class RegionMaker;
    explicit Region(const NodeData& node) : node_(&node) {}

    const NodeData* node_;
    std::vector<BodyPlan> bodies_;
    LoopPlan loop_;
    double longest_body_ns_ = 0;
    int64_t number_offset_ = 0;
    int64_t scratch_offset_ = 0;
    int64_t arena_offset_ = 0;
};

// Of the step's node; none where no region runs it.
inline std::span<const BodyPlan> plans_of_bodies(const PlanStep& step) {
    return step.region == nullptr ? std::span<const BodyPlan>() : step.region->bodies();
}

}  // namespace leat
