// What one set of shapes makes of a graph: steps one after the other, and where each value is.
//
// What of that no size changes, the form, is made once and shared by the lowerings for all shapes.
#pragma once

#include <memory>
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

struct LoweredPlace {
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
    std::span<const TensorArg> inputs;  // data is set before each run
    std::span<const TensorArg> outputs;
};

struct LoweredTransient {
    int64_t bytes = 0;
    std::span<const int32_t> steps;  // of the form
};

struct LoweredOutput {
    int32_t value = -1;
    int64_t bytes = 0;        // the bound, if it depends on data
    bool is_bounded = false;  // its size depends on data
    bool is_copied = false;   // from where the value is, when all steps are done
};

// What sizes do not change as long as the same values are known before the run. Immutable.
struct LoweredForm {
    std::vector<bool> is_known;          // by value: an input that was given, or what follows
    std::vector<bool> is_own;            // by node: OwnOperators has it
    std::vector<NodeId> nodes;           // by step
    size_t arg_count = 0;                // of all steps
    std::vector<LoweredPlace> places;    // by value
    std::vector<ValueId> transients;     // by transient: the value that is there
    std::vector<LoweredOutput> outputs;  // by graph output, without bytes
    // Steps that use a transient or the memory that an input or output is bound to, ascending;
    // copies to outputs belong to the last step.
    std::vector<std::vector<int32_t>> transient_steps;  // by transient
    std::vector<std::vector<int32_t>> input_steps;      // by graph input
    std::vector<std::vector<int32_t>> output_steps;     // by graph output
};

struct LoweredGraph {
    LoweredGraph() = default;
    LoweredGraph(LoweredGraph&&) = default;
    LoweredGraph& operator=(LoweredGraph&&) = default;

    std::shared_ptr<const LoweredForm> form;
    std::vector<TensorArg> args;  // that steps refer to
    std::vector<LoweredStep> steps;
    std::vector<ValueFact> facts;  // by value
    std::vector<LoweredTransient> transients;
    std::vector<LoweredOutput> outputs;  // by graph output
};

struct LowerOptions {
    // Results that are other shapes of an operand (Reshape) lie where it does, and have no step.
    bool aliases_views = false;
};

// Throws an Error for shapes outside the symbols' bounds and what inference refuses. former: the
// form of another shape of the same graph, lowered with the same options, or null: the result
// shares it if it has the same.
LoweredGraph lower(const ImportedGraph& graph,
                   const OwnOperators& operators,
                   const LeatRunShape& shape,
                   LowerOptions options = {},
                   std::shared_ptr<const LoweredForm> former = nullptr);

}  // namespace leat::lowered
