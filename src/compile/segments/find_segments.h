// find_segments: where a graph has to be cut, because only a run tells what the next plan needs.
//
//   x --> NonZero --> |cut| --> Gather, Reshape, ... --> |cut| --> ...
//
// A segment is planned and run as a whole; the next one is planned when the results of those before
// it are there. Decided once, from types in which extents may have names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id_vector.h"
#include "graph/op_def.h"

namespace leat {

// Why a segment begins.
struct SegmentCut {
    NodeId node;         // the first one that needs the cut
    ValueId value;       // what it reads, and no plan before the run of its producer can know
    std::string reason;  // "the shape of 'y' is known when node 'n' (NonZero) has run"
};

struct GraphSegments {
    // By node. A segment: 0 and up. A node that is a step of its own runs behind that segment, -1:
    // before the first one.
    IdVector<NodeId, int32_t> segment_of_node;
    IdVector<NodeId, bool> is_own_step;
    std::vector<SegmentCut> cuts;  // by segment but the first
    // Results of the graph of which only a run knows the shape, or that are no tensors.
    bool has_open_outputs = false;
    std::vector<ValueFact> facts;  // by value: what types say, where the inputs have those given

    int32_t count() const { return int32_t(cuts.size()) + 1; }
    // One plan has everything.
    bool is_whole() const;
};

// What is known of the inputs of a graph when it is planned.
struct GivenInput {
    ValueFact fact;         // kUndefined: what the graph declares
    bool is_known = false;  // its elements will be part of the plan's key
};

// False: the graph is one segment, without open results. Cheap.
bool may_have_segments(const GraphData& graph);

// Precondition: nodes in topological order. given: by input; empty: of a graph that is no body.
// The error is that of inference.
Result<GraphSegments> find_segments(const GraphData& graph,
                                    const std::vector<GivenInput>& given = {});

}  // namespace leat
