// What one set of shapes makes of a graph: steps one after the other, and where each value is.
#pragma once

#include <memory>
#include <vector>

#include "backends/sim/sim_graph.h"
#include "backends/sim/sim_operators.h"
#include "graph/op_def.h"

namespace leat::sim {

enum class Place : uint8_t {
    kNone,       // absent
    kKnown,      // a fact: known when the program is made
    kConstant,   // packed; index among the packed constants
    kInput,      // bound; index among the graph's inputs
    kOutput,     // bound; index among the graph's outputs
    kTransient,  // index among the transients
};

struct ValuePlace {
    Place place = Place::kNone;
    int32_t index = -1;
};

struct Step {
    NodeId node;
    std::vector<TensorArg> inputs;  // data is set before each run
    std::vector<TensorArg> outputs;
    std::shared_ptr<const CustomOperator> custom;  // null: one of leat's
};

struct Transient {
    int64_t bytes = 0;
    std::vector<int32_t> steps;
};

struct ProgramOutput {
    int32_t value = -1;
    int64_t bytes = 0;        // the bound, if it depends on data
    bool is_bounded = false;  // by NonZero: only then does the size depend on data
    bool is_copied = false;   // from where the value is, when all steps are done
};

struct Program {
    std::vector<Step> steps;
    std::vector<ValueFact> facts;    // by value
    std::vector<ValuePlace> places;  // by value
    std::vector<Transient> transients;
    std::vector<ProgramOutput> outputs;  // by graph output
};

// `constants`: by value, its index among the packed ones or -1. Throws an Error for shapes outside
// the symbols' bounds and what inference refuses.
Program make_program(const SimGraph& graph,
                     const Operators& operators,
                     const std::vector<int32_t>& constants,
                     const LeatRunShape& shape);

}  // namespace leat::sim
