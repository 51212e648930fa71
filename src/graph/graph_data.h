// The intermediate representation behind leat::Graph: SSA nodes and values in plain vectors.
//
// Ids are indices. Passes may add nodes and values and mark nodes dead; compact() then removes what
// is dead or unreachable and restores topological order, which renumbers everything.
//
// Copies, moves and destructors are defined in one file: each of them is some hundred instructions,
// which every file that includes this would compile again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/inline_vector.h"
#include "graph/device_configuration.h"
#include "leat/graph.h"

namespace leat {

struct OpDef;

struct NodeId {
    int32_t index = -1;
    bool valid() const { return index >= 0; }
    friend bool operator==(NodeId, NodeId) = default;
};

// Type of a value: what the graph declares or inference finds.
struct TypeInfo {
    enum class Kind : uint8_t { kTensor, kSequence, kOptional, kMap };

    Kind kind = Kind::kTensor;
    DType dtype = DType::kUndefined;
    std::optional<std::vector<DimSpec>> dims;  // nullopt: unknown rank
    std::shared_ptr<const TypeInfo> element;   // of sequences and optionals

    TypeInfo();
    TypeInfo(const TypeInfo&);
    TypeInfo(TypeInfo&&) noexcept;
    TypeInfo& operator=(const TypeInfo&);
    TypeInfo& operator=(TypeInfo&&) noexcept;
    ~TypeInfo();

    static TypeInfo tensor(DType dtype, const Shape& shape);
    static TypeInfo tensor(DType dtype, std::optional<std::vector<DimSpec>> dims);

    bool is_tensor() const { return kind == Kind::kTensor; }
    int rank() const { return dims ? int(dims->size()) : -1; }  // -1: unknown
    // The shape when every extent is fixed.
    std::optional<Shape> fixed_shape() const;
    // The same with 0 for each extent that is open.
    std::optional<Shape> least_shape() const;
    std::string to_string()
        const;  // "f32[batch,3,224,224]", "f32[*]" for unknown rank, "seq(f32[?])"
};

// Order of a tensor's elements in memory. Shapes, axes and attributes always speak of the logical
// order (n c ...); only strides change.
enum class Layout : uint8_t {
    kRowMajor,
    kChannelsLast,  // n ... c: axis 1 is innermost; rank >= 3
    kTransposed,    // the last two axes are exchanged; rank >= 2
};

struct ValueData {
    std::string name;
    TypeInfo type;
    NodeId producer;                 // invalid for graph inputs, constants and outer-scope values
    int32_t output_index = 0;        // which output of the producer
    std::optional<Tensor> constant;  // set for constants; may be unaligned (views of a file)
    Layout layout = Layout::kRowMajor;

    ValueData();
    ValueData(const ValueData&);
    ValueData(ValueData&&) noexcept;
    ValueData& operator=(const ValueData&);
    ValueData& operator=(ValueData&&) noexcept;
    ~ValueData();
};

// One element-wise step applied to a node's result before it is stored: y = op(y[, operand]).
struct EpilogueStep {
    const OpDef* op =
        nullptr;  // a unary or binary element-wise operator (Relu, Clip, Add, Mul, Gelu, ...)
    Attributes attributes;  // of that operator; Clip's bounds are "min" and "max" (floats) here
    int32_t operand_input = -1;  // binary: index into the node's inputs (appended after its own);
                                 // the operand broadcasts to the result by ONNX rules
    bool result_is_rhs = false;  // binary, not commutative: the node's result is the right operand

    EpilogueStep();
    EpilogueStep(const EpilogueStep&);
    EpilogueStep(EpilogueStep&&) noexcept;
    EpilogueStep& operator=(const EpilogueStep&);
    EpilogueStep& operator=(EpilogueStep&&) noexcept;
    ~EpilogueStep();
};

// An attribute that is a graph.
template <class Data>
struct NodeBody {
    std::string_view key;
    Data* graph = nullptr;
};

struct NodeData {
    std::string name;
    std::string domain;  // "" is ai.onnx, "leat" holds internal operators
    std::string op_type;
    const OpDef* def = nullptr;   // null: unknown operator, reported by verify()
    std::vector<ValueId> inputs;  // ValueId{} where an optional input is absent
    std::vector<ValueId> outputs;
    Attributes attributes;
    std::vector<EpilogueStep> epilogue;
    // Inputs of the operator itself, without the epilogue's operands and without what bodies
    // capture: see own_inputs(). A node has one of these at most.
    int32_t own_input_count = -1;  // -1: all
    bool dead = false;
    int32_t opset = 0;  // opset of the file it came from (0: canonical already); for messages
    std::vector<NodeDeviceConfiguration> device_configurations;

    NodeData();
    NodeData(const NodeData&);
    NodeData(NodeData&&) noexcept;
    NodeData& operator=(const NodeData&);
    NodeData& operator=(NodeData&&) noexcept;
    ~NodeData();

    std::string label() const;  // "node 'name' (Op)", for messages
    size_t own_inputs() const {
        return own_input_count < 0 ? inputs.size() : size_t(own_input_count);
    }
    // Attribute access with a default, also in place of another type: verify() refuses those.
    int64_t attr(std::string_view key, int64_t fallback) const;
    float attr(std::string_view key, float fallback) const;
    std::string attr(std::string_view key, const char* fallback) const;
    // nullptr when absent or of another type.
    const std::vector<int64_t>* ints(std::string_view key) const;
    const std::vector<float>* floats(std::string_view key) const;
    const std::vector<std::string>* strings(std::string_view key) const;
    const Tensor* tensor(std::string_view key) const;
    bool has_attr(std::string_view key) const { return attributes.find(key) != attributes.end(); }
    // Attributes that are graphs. Each of them ends its inputs with one for each captured value,
    // whether it reads that or not: the k-th of these is inputs[own_inputs() + k] of the node.
    bool has_bodies() const;
    // nullptr when absent or of another type.
    const GraphData* body(std::string_view key) const;
    std::vector<NodeBody<const GraphData>> bodies() const;
    std::vector<NodeBody<GraphData>> bodies();
    // Inputs that a kernel of the operator reads: all but the epilogue's operands.
    size_t operand_count() const { return epilogue.empty() ? inputs.size() : own_inputs(); }
    size_t captured_count() const { return operand_count() - own_inputs(); }
};

// Bodies in bodies: what walks them recurses, so nobody may make a graph that nests them deeper.
inline constexpr int kMaxBodyNesting = 100;

// A value of the graph around that a graph reads which is to become a body there.
struct Capture {
    ValueId inside;  // has no producer, and is no input before the node has the body
    ValueId outside;
};

// A constant of this name that a request may bind another value to, of this type. The passes treat
// the constant as any other: the name outlives the value.
struct DefaultInput {
    std::string name;
    TypeInfo type;
};

// Drops optional outputs without a name from the end of the node's list. Unknown operators and
// variadic lists keep theirs: their number counts.
void drop_absent_outputs(NodeData& node);

class GraphData {
  public:
    std::string name;
    std::string file;  // where it was loaded from, for messages
    std::vector<NodeData> nodes;
    std::vector<ValueData> values;
    std::vector<ValueId> inputs;
    std::vector<DefaultInput> default_inputs;
    std::vector<ValueId> outputs;
    std::vector<std::string> output_names;  // names of the outputs; a value may be several outputs
    std::map<std::string, int64_t> opset_imports;
    std::vector<DeviceConfiguration> device_configurations;
    std::vector<std::string> warnings;
    std::vector<Status> build_errors;  // collected by the building calls, reported by verify()
    std::vector<Capture> captures;     // of a body to be; empty once a node has it

    GraphData();
    GraphData(const GraphData&);
    GraphData(GraphData&&) noexcept;
    GraphData& operator=(const GraphData&);
    GraphData& operator=(GraphData&&) noexcept;
    ~GraphData();

    NodeData& node(NodeId id) { return nodes[size_t(id.index)]; }
    const NodeData& node(NodeId id) const { return nodes[size_t(id.index)]; }
    ValueData& value(ValueId id) { return values[size_t(id.index)]; }
    const ValueData& value(ValueId id) const { return values[size_t(id.index)]; }
    int node_count() const { return int(nodes.size()); }
    int value_count() const { return int(values.size()); }

    ValueId add_value(std::string value_name, TypeInfo type);
    ValueId add_constant(std::string value_name, Tensor tensor);
    // Adds a node with `output_count` fresh outputs named after it; looks up its OpDef.
    NodeId add_node(std::string domain,
                    std::string op_type,
                    std::vector<ValueId> node_inputs,
                    int output_count,
                    Attributes attributes = {},
                    std::string node_name = {});
    // Drops optional outputs without a name from the ends of the nodes' lists, and gives values to
    // nameless parts of variadic lists: by their shapes kernels know where the other parts lie.
    void settle_outputs();
    // A name that no value has yet, beginning with `stem`.
    std::string fresh_name(std::string_view stem);
    // What bodies of the node, if it has any, capture from this graph becomes operands of the node
    // and inputs of all its bodies.
    void close_bodies(NodeData& node);

    // Nodes that read each value (an entry per use), and whether it is a graph output.
    struct Uses {
        std::vector<InlineVector<NodeId, 2>> readers;  // by value index
        std::vector<int> output_uses;                  // by value index
    };
    Uses uses() const;

    // Live nodes in topological order; an error names the nodes of a cycle.
    Result<std::vector<NodeId>> topological_order() const;
    // Removes dead nodes, nodes whose results nobody uses, and unused values (inputs and outputs
    // stay); sorts nodes topologically; first in bodies. Returns true if anything was removed from
    // the graph itself.
    bool compact();

    int64_t parameter_bytes() const;
    // The most bodies that stand in each other in this graph.
    int body_nesting() const;

  private:
    // The second half of compact(): keeps the marked nodes, in this order, and the marked values.
    bool renumber(const std::vector<NodeId>& order,
                  const std::vector<bool>& keep_nodes,
                  std::vector<bool>& keep_values);

    // Names of values[0, indexed_values_), each with the last number that fresh_name() appended to
    // it.
    std::map<std::string, int> names_;
    size_t indexed_values_ = 0;
};

}  // namespace leat
