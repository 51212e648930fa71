// What one set of shapes makes of a graph: steps one after the other, and where each value is.
#pragma once

#include <span>
#include <vector>

#include "backends/lowered/plugin_graph.h"
#include "graph/op_def.h"

namespace leat::lowered {

enum class Place : uint8_t {
    kNone,       // absent
    kKnown,      // a fact: known when the program is made
    kConstant,   // packed; index among the graph's constants
    kInput,      // bound; index among the graph's inputs
    kOutput,     // bound; index among the graph's outputs
    kTransient,  // index among the transients
};

struct ValuePlace {
    Place place = Place::kNone;
    int32_t index = -1;
};

// What a backend adds to leat's own operators, or treats in its own way.
class OwnOperators {
  public:
    virtual ~OwnOperators() = default;
    // True: `infer` tells the outputs' types, and the node is never computed at compile time.
    virtual bool has(const NodeData& node) const = 0;
    virtual void infer(const NodeData& node,
                       std::span<const TensorArg> inputs,
                       std::span<ValueFact> outputs) const = 0;
    // True: `infer` gives an upper bound, and the run tells the actual extents.
    virtual bool is_bounded(const NodeData& node) const = 0;
};

struct LoweredStep {
    NodeId node;
    std::vector<TensorArg> inputs;  // data is set before each run
    std::vector<TensorArg> outputs;
};

struct LoweredTransient {
    int64_t bytes = 0;
    std::vector<int32_t> steps;
};

struct LoweredOutput {
    int32_t value = -1;
    int64_t bytes = 0;        // the bound, if it depends on data
    bool is_bounded = false;  // its size depends on data
    bool is_copied = false;   // from where the value is, when all steps are done
};

struct LoweredGraph {
    std::vector<LoweredStep> steps;
    std::vector<ValueFact> facts;    // by value
    std::vector<ValuePlace> places;  // by value
    std::vector<LoweredTransient> transients;
    std::vector<LoweredOutput> outputs;  // by graph output
    // Steps that use the memory that an input or output is bound to, ascending; copies to outputs
    // belong to the last step.
    std::vector<std::vector<int32_t>> input_steps;   // by graph input
    std::vector<std::vector<int32_t>> output_steps;  // by graph output
};

struct LowerOptions {
    // Results that are other shapes of an operand (Reshape) lie where it does, and have no step.
    bool aliases_views = false;
};

// Throws an Error for shapes outside the symbols' bounds and what inference refuses.
LoweredGraph lower(const ImportedGraph& graph,
                   const OwnOperators& operators,
                   const LeatRunShape& shape,
                   LowerOptions options = {});

}  // namespace leat::lowered
