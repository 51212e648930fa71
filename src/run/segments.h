// Segments: a graph that takes several plans, as what one computes decides shapes of the next. Its
// steps run one after the other and hand values on in slots.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"

namespace leat {

struct Segments;

// Either a segment of the graph, which has plans as a graph by itself has; or a node that works on
// whole values, or drives bodies of which one plan is not enough.
struct SegmentStep {
    std::shared_ptr<CompiledGraph::Impl> segment;  // null: `node`
    NodeData node;
    std::map<std::string, std::shared_ptr<const Segments>, std::less<>> bodies;  // of the node
    // Slots. Of a node that lacks an optional operand: -1.
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;        // -1: nobody reads it
    std::vector<TypeInfo> output_types;  // of the node, as far as inference knows them
    std::vector<bool> is_last_use;       // by input: nothing needs the slot's value afterwards
    std::string reason;                  // why the segment begins; empty: it is the first one
};

// Immutable.
struct Segments {
    struct Slot {
        std::string name;
        std::optional<Tensor> constant;
    };
    std::vector<Slot> slots;
    std::vector<SegmentStep> steps;
    std::vector<int32_t> inputs;   // slots of the graph's inputs
    std::vector<int32_t> outputs;  // slots of its outputs
    bool is_traced = false;        // CompileOptions::is_traced

    // The step whose plan the shapes of the graph's inputs make, if there is one.
    std::optional<size_t> known_step() const;
    // Of the inputs of that step; shapes: of the graph's inputs.
    std::vector<Shape> shapes_of_known_step(std::span<const Shape> shapes) const;
    Status prepare(std::span<const Shape> shapes) const;
    // Why it is not one segment.
    std::string first_reason() const {
        for (const SegmentStep& step : steps) {
            if (step.segment == nullptr) {
                return step.node.label() + " has no plan";
            }
            if (!step.reason.empty()) {
                return step.reason;
            }
        }
        return {};
    }
};

}  // namespace leat
