// OperatorSignature: what the time of an operator depends on, apart from the device: the operator
// with its attributes and epilogue, types, shapes and layouts of its operands, and which of them
// are constants.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// Equal for equal text, on every machine and in every version that writes the text alike.
uint64_t signature_hash(std::string_view text);

struct OperatorSignature {
    uint64_t hash = 0;
    // "Conv(f32[1,64,56,56] @channels_last, const f32[64,64,3,3], _) {pads=[1,1,1,1]} +Relu() ->
    // f32[1,64,56,56] @channels_last". Texts beyond a few hundred characters end in their hash.
    std::string text;

    friend bool operator==(const OperatorSignature&, const OperatorSignature&) = default;
};

// The operands of a node in one run.
struct NodeOperands {
    std::vector<TensorArg> inputs;  // not present where the node has none
    std::vector<const Tensor*>
        known;  // by input: elements that do not change; null: there are none
    std::vector<TensorArg> outputs;
};

// Elements of small known integers count: they say what the operator does (axes, starts, pads).
// Those of weights do not.
OperatorSignature signature_of(const NodeData& node, const NodeOperands& operands);

// facts: by value; empty: none but the types of the graph are known. Nullopt where some operand is
// no tensor of a fixed shape.
std::optional<NodeOperands> operands_of(const GraphData& graph,
                                        const NodeData& node,
                                        std::span<const std::shared_ptr<const ValueFact>> facts);

}  // namespace leat
