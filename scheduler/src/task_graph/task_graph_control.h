// Bodies of nodes that run sub-graphs: once, one of two, or again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "task_graph/task_graph_data.h"

namespace leat::scheduler::detail {

class InstanceData;

// A graph as a function of its sources.
struct SubgraphPart {
    std::shared_ptr<TaskGraphData> graph;
    std::vector<int32_t> sources;  // by argument
    int32_t result = -1;           // -1: none
};

class ControlBody : public NodeBody {
  public:
    ControlBody(std::vector<SubgraphPart> parts, const ValueType& type)
        : parts_(std::move(parts)), type_(type) {}

    const std::vector<SubgraphPart>& parts() const { return parts_; }
    // Inputs of the node before those that are arguments of every part.
    virtual int32_t leading_inputs() const { return 0; }
    // The state that a loop keeps belongs to it: its part may always take it.
    virtual bool owns_arguments() const { return false; }

  protected:
    // Runs a part on the arguments and moves its result, if any, to `output`.
    Status run_part(const NodeCall& call, int32_t part, void* output) const;
    InstanceData& child(const NodeCall& call, int32_t part) const;
    Status run_child(const NodeCall& call, int32_t part) const;
    // Only after a run: makes the value at `output`, which is uninitialised.
    void move_result(const NodeCall& call, int32_t part, void* output) const;
    const ValueType& type() const { return type_; }

  private:
    std::vector<SubgraphPart> parts_;
    ValueType type_;
};

class SubgraphBody final : public ControlBody {
  public:
    using ControlBody::ControlBody;
    Status call(const NodeCall& call) override { return run_part(call, 0, call.output); }
};

class IfBody final : public ControlBody {
  public:
    using ControlBody::ControlBody;
    int32_t leading_inputs() const override { return 1; }
    Status call(const NodeCall& call) override {
        return run_part(call, *static_cast<const bool*>(call.inputs[0].address) ? 0 : 1,
                        call.output);
    }
};

class LoopBody final : public ControlBody {
  public:
    using CopyFunction = void (*)(void* to, const void* from);

    // `condition` null: `count` times. `copy` null: the state cannot be copied.
    LoopBody(std::vector<SubgraphPart> parts,
             const ValueType& type,
             std::unique_ptr<NodeBody> condition,
             int64_t count,
             CopyFunction copy)
        : ControlBody(std::move(parts), type),
          condition_(std::move(condition)),
          count_(count),
          copy_(copy) {}
    bool owns_arguments() const override { return true; }
    Status call(const NodeCall& call) override;

  private:
    Result<bool> goes_on(const NodeCall& call, int64_t iteration);

    std::unique_ptr<NodeBody> condition_;
    int64_t count_;
    CopyFunction copy_;
};

}  // namespace leat::scheduler::detail
