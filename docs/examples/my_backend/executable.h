// A compiled graph, and an instance of it: steps one after the other, each on whole tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels.h"
#include "leat/plugin_backend.h"

namespace my {

// Why the node cannot be run; empty if it can.
std::string refusal(const LeatGraphView& graph, const LeatNodeView& node);

enum class Place { kNone, kInput, kOutput, kTransient };

// A value of the graph: what its size is made of, and where it lies.
struct Value {
    std::vector<LeatDim> dims;
    Place place = Place::kNone;
    int32_t index = -1;  // among the inputs, outputs or transients
};

struct Bounds {
    int64_t min_extent = 0;
    int64_t max_extent = -1;  // -1: none
};

struct Step {
    const Kernel* kernel = nullptr;
    int32_t from = -1;  // values
    int32_t to = -1;
};

// All that is kept of the host's graph, whose view ends with compile().
struct Program {
    explicit Program(const LeatGraphView& graph);

    // Throws for extents outside the symbols' bounds.
    void check(const LeatRunShape& shape) const;
    int64_t elements(int32_t value, const LeatRunShape& shape) const;

    std::vector<Value> values;
    std::vector<Step> steps;
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    std::vector<Bounds> symbols;
    int32_t transient_count = 0;
};

class Executable final : public leat::plugin::Executable {
  public:
    explicit Executable(const LeatGraphView& graph);

    const LeatExecutableInfo& info() const override { return info_; }
    std::unique_ptr<leat::plugin::Requirements> requirements(const LeatRunShape& shape) override;
    std::unique_ptr<leat::plugin::Instance> link(const LeatRunShape& shape,
                                                 const LeatLinkage& linkage) override;

  private:
    Program program_;
    LeatExecutableInfo info_;
};

class Instance final : public leat::plugin::Instance {
  public:
    Instance(const Program& program, const LeatRunShape& shape, const LeatLinkage& linkage);

    // The addresses of all values in a run with these bindings. Throws for ranges that are too
    // small.
    std::vector<float*> addresses(const LeatBinding* inputs, const LeatBinding* outputs) const;
    void run(const std::vector<float*>& addresses) const;

  private:
    const Program& program_;  // the executable outlives its instances
    std::vector<int64_t> elements_;
    std::vector<LeatPlacement> transients_;
};

}  // namespace my
