// OpDef: what leat knows about an operator apart from its kernels; one record for each, in a table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/run_stop.h"
#include "graph/attribute_schema.h"
#include "graph/graph_data.h"

namespace leat {

// What is known about a value during inference: its type, perhaps its elements, perhaps its
// elements as symbolic extents (a 0-D or 1-D integer tensor that holds a shape).
struct ValueFact {
    TypeInfo type;
    std::optional<Tensor> value;  // aligned, row-major
    std::optional<std::vector<DimSpec>>
        extents;  // symbolic elements of an integer tensor of rank <= 1

    ValueFact();
    explicit ValueFact(TypeInfo type, std::optional<Tensor> value = {});
    ValueFact(const ValueFact&);
    ValueFact(ValueFact&&) noexcept;
    ValueFact& operator=(const ValueFact&);
    ValueFact& operator=(ValueFact&&) noexcept;
    ~ValueFact();
};

// Facts of the inputs of a node's bodies, by attribute.
using BodyInputs = std::map<std::string, std::vector<ValueFact>, std::less<>>;

// Input and output of OpDef::infer for one node.
class InferContext {
  public:
    // body_inputs: where the last ones with which a body was inferred are kept; null: nowhere.
    InferContext(const NodeData& node,
                 std::span<const ValueFact* const> inputs,
                 std::span<ValueFact> outputs,
                 BodyInputs* body_inputs = nullptr)
        : node_(node), inputs_(inputs), outputs_(outputs), body_inputs_(body_inputs) {}

    const NodeData& node() const { return node_; }
    int input_count() const { return int(std::min(node_.own_inputs(), inputs_.size())); }
    // What the node's bodies capture.
    std::span<const ValueFact* const> captured() const {
        return inputs_.subspan(size_t(input_count()));
    }
    int output_count() const { return int(outputs_.size()); }
    bool has_input(int i) const { return i < input_count() && inputs_[size_t(i)] != nullptr; }
    // True if the node lists output i, be it without a name.
    bool has_output(int i) const { return i < output_count(); }
    // Precondition: has_input(i).
    const TypeInfo& input(int i) const { return inputs_[size_t(i)]->type; }
    const ValueFact& fact(int i) const { return *inputs_[size_t(i)]; }
    // The input's elements if known now, else null.
    const Tensor* value(int i) const;
    // Elements of an integer input as extents: from its value or from symbolic propagation.
    // nullopt: unknown.
    std::optional<std::vector<DimSpec>> extents(int i) const;
    // Elements of an integer input (int32 or int64, any rank) as int64; nullopt if the value is
    // unknown.
    std::optional<std::vector<int64_t>> ints(int i) const;

    void set_output(int i, TypeInfo type) { outputs_[size_t(i)].type = std::move(type); }
    void set_output(int i, DType dtype, std::optional<std::vector<DimSpec>> dims) {
        set_output(i, TypeInfo::tensor(dtype, std::move(dims)));
    }
    void set_fact(int i, ValueFact fact) { outputs_[size_t(i)] = std::move(fact); }
    void keep_body_inputs(std::string_view key, std::vector<ValueFact> inputs) const {
        if (body_inputs_ != nullptr) {
            body_inputs_->insert_or_assign(std::string(key), std::move(inputs));
        }
    }
    // Symbolic elements of output i, for shape arithmetic.
    void set_extents(int i, std::vector<DimSpec> extents) {
        outputs_[size_t(i)].extents = std::move(extents);
    }

  private:
    const NodeData& node_;
    std::span<const ValueFact* const> inputs_;
    std::span<ValueFact> outputs_;
    BodyInputs* body_inputs_;
};

// Arithmetic on extents; unknown operands give unknown results, names combine ("past+seq").
DimSpec add_dims(const DimSpec& a, const DimSpec& b);
DimSpec multiply_dims(const DimSpec& a, const DimSpec& b);
// True if both are the same number or the same name.
bool same_dim(const DimSpec& a, const DimSpec& b);
// Numpy broadcasting of two shapes; an error names both. Unknown ranks give an unknown rank.
Result<std::optional<std::vector<DimSpec>>> broadcast_dims(const TypeInfo& a, const TypeInfo& b);
// True if broadcasting `operand` with a tensor of `dims` gives `dims`, as far as is known.
bool broadcasts_into(const std::vector<DimSpec>& operand, const std::vector<DimSpec>& dims);
// Maps a negative axis; an error if it lies outside [-rank, rank).
Result<int> normalize_axis(int64_t axis, int rank);
// The same of the node's attribute `axis`.
inline Result<int> axis_of(const NodeData& node, int rank, int64_t default_axis = 0) {
    return normalize_axis(node.attr("axis", default_axis), rank);
}

// A tensor as a kernel sees it. Strides are in elements (packed types: row-major only).
using Strides = std::array<int64_t, kMaxRank>;
struct TensorArg {
    // kUndefined: an absent optional input, or an output that is not to be written, because nobody
    // reads it or it is known already. Such an output has its shape all the same, unless it is
    // optional and has no name: it may lie between others.
    DType dtype = DType::kUndefined;
    Shape shape;
    Strides strides{};
    std::byte* data = nullptr;  // null while planning, unless constant
    // True: an output of which only the run knows some extents, 0 here. Its data is a GrownTensor.
    bool grows = false;

    bool present() const { return dtype != DType::kUndefined; }
    // Axes of extent 1 may have any stride, and all axes where there is no element.
    bool lies_as(Layout layout) const;
    bool is_row_major() const { return lies_as(Layout::kRowMajor); }
    // The bytes of its elements without gaps; 0: it is absent.
    int64_t byte_count() const { return storage_bytes(dtype, shape.element_count()).value_or(0); }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data);
    }
};
Strides row_major_strides(const Shape& shape);
Strides channels_last_strides(const Shape& shape);
Strides strides_of(Layout layout, const Shape& shape);
std::string_view name_of(Layout layout);  // "channels_last", as the text form has it
TensorArg row_major_arg(DType dtype, const Shape& shape, const void* data);
TensorArg arg_of(const Tensor& tensor);
// The same elements in memory of their own. Precondition: they are no strings.
Result<Tensor> copy_of(const Tensor& tensor);
// The tensor itself where typed access is allowed and it lies at a multiple of the alignment; else
// a copy. Inference and kernels read typed elements, and files have them anywhere.
Result<Tensor> aligned(const Tensor& tensor, int64_t alignment_bytes = 1);
// Operand i of a kernel, or null where it is absent. A negative i is that of an operand that the
// operator lacks.
inline const TensorArg* find_arg(std::span<const TensorArg> args, int i) {
    const bool is_there = i >= 0 && size_t(i) < args.size() && args[size_t(i)].present();
    return is_there ? &args[size_t(i)] : nullptr;
}

// Arguments of a reference kernel: everything row-major, aligned, of the types and shapes that
// infer gave.
struct ReferenceArgs {
    const NodeData& node;
    // Absent ones have present() == false. What bodies capture stands at the end.
    std::span<const TensorArg> inputs;
    std::span<const TensorArg> outputs;  // outputs never overlap inputs
    RunStop stop = {};                   // loops ask in each iteration
};
// Plain loops, double accumulation: the oracle. Errors are about values (an index out of range).
using ReferenceKernel = Status (*)(const ReferenceArgs& args);

// Arguments of an operator on whole values: sequences, optionals, and tensors that are elements.
struct ValueArgs {
    const NodeData& node;
    // By input, absent ones included. Whoever runs may move from them: what else is needed of a
    // value is somewhere else.
    std::span<Value> inputs;
    std::span<Value> outputs;
    // A tensor with elements that nobody has written.
    const std::function<Result<Tensor>(DType dtype, const Shape& shape)>& allocate;
};
using ValueKernel = Status (*)(const ValueArgs& args);

struct Cost {
    double flops = 0;
    int64_t bytes = 0;  // read and written
};

// Where one operand of a copy lies in another: part[i..] = whole[begin + i..].
struct CopiedBox {
    int input = 0;
    int output = 0;
    bool is_output_whole = false;           // the input is the part (Concat); else the output is
    std::array<int64_t, kMaxRank> begin{};  // by axis of the whole
};

// What a shard of a run, which computes a range of the batch, has of a value. Rows are indices of
// axis 0; as many of them belong to each index of the batch: several where a Reshape joined axes.
enum class ShardPart : uint8_t {
    kWhole,  // all of it, as every shard has
    kRows,   // the shard's rows
    kOwn,    // elements of its own, which are known: they come from the shard's extents (Shape)
};

// One node of a graph whose shapes are fixed, in the run of the whole batch.
struct ShardArgs {
    const NodeData& node;
    std::span<const TensorArg> inputs;  // without operands of the epilogue; known ones have data
    std::span<const TensorArg> outputs;
    std::span<const ShardPart> parts;  // by input
};

// True if what a shard has of a broadcast operand belongs to the shard's rows of the result.
bool broadcasts_to_rows(const TensorArg& operand, ShardPart part, const Shape& result);

// How an operator treats layouts other than row-major.
enum class LayoutRule : uint8_t {
    kRowMajorOnly,
    kChannelsLastPreferred,  // input 0 and output 0 (and epilogue operands of the same rank);
                             // others row-major
    kAgnostic,  // any layout, the same for all operands of the output's rank; strides say which
};

// What `infer` makes of the type of output 0 once it has found the element types and attributes
// right.
enum class TypeRule : uint8_t {
    kOwn,        // something of its own
    kFirst,      // that of input 0, if the others broadcast with it
    kBroadcast,  // that of input 0, broadcast with the other inputs
};

struct OpDef {
    std::string_view name;
    std::string_view domain = "";
    int min_inputs = 1;
    int max_inputs = 1;  // -1: any number
    int min_outputs = 1;
    int max_outputs = 1;  // -1: any number
    // Bit i: output i is not optional; a node that gives it no name is an error. Parts of a
    // variadic list may go without names.
    uint32_t named_outputs = 0b1;
    // Bit i: the elements of the inputs decide extents of output i, which infer leaves open. The
    // output `grows` in every run: the kernel says its shape, by GrownTensor::set_shape().
    uint32_t open_outputs = 0;
    // What a node may have, in every opset. An operator of another domain than ONNX's that lists
    // none is not checked.
    std::span<const AttributeSchema> attributes = {};
    Status (*infer)(InferContext& context) = nullptr;
    ReferenceKernel reference = nullptr;
    Cost (*cost)(const NodeData& node,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) =
        nullptr;  // null: bytes moved, a flop an element
    // Bit i: the values (not only the shape) of input i decide output shapes. See
    // shape_inputs_of().
    uint32_t shape_inputs = 0;
    // Bit i: output 0 may be written over input i if shape, dtype and strides match.
    uint32_t in_place_inputs = 0;
    // Bit i: kernels of the host read input i, if it is f32, as Layout::kTransposed has it, too.
    uint32_t transposed_inputs = 0;
    // Set where `open_outputs` holds for some nodes only.
    bool (*has_open_outputs)(const NodeData& node) = nullptr;
    // Set where `shape_inputs` holds for some nodes only.
    bool (*has_shape_inputs)(const NodeData& node) = nullptr;
    // Set where the operator only copies: its boxes, which cover all outputs that are present; none
    // if some output is no box (a slice with steps). Constant operands have data. Where a box is
    // contiguous memory the copy may be saved.
    std::vector<CopiedBox> (*copied_boxes)(const NodeData& node,
                                           std::span<const TensorArg> inputs,
                                           std::span<const TensorArg> outputs) = nullptr;
    // True if a shard that runs the node on these parts gets its rows of all outputs, bit for bit.
    // Precondition: the shard's outputs have as many rows as belong to it, and otherwise the
    // extents of the whole run. Null: never true.
    bool (*gives_rows)(const ShardArgs& args) = nullptr;
    // Set where values are more than tensors. No plan has such a node: it is a step of its own.
    ValueKernel run_values = nullptr;
    // Set for operators with bodies: how often these run, nullopt where that is not known. Folding
    // computes no node whose bodies run often.
    std::optional<int64_t> (*iterations)(const InferContext& context) = nullptr;
    // Output 0 is input 0 under another shape: no kernel runs (Reshape, Flatten, Squeeze, Identity,
    // ...).
    bool is_view = false;
    LayoutRule layout_rule = LayoutRule::kRowMajorOnly;
    TypeRule type_rule = TypeRule::kOwn;
    // Element-wise, may be an epilogue step of MatMul, Gemm and Conv (unary, or binary with one
    // operand).
    bool fusible_epilogue = false;
    // Depends on more than its inputs (random numbers): never folded.
    bool nondeterministic = false;
};

// Bit i: only a run of the node knows the extents of its output i.
uint32_t open_outputs_of(const NodeData& node);
// True if that bit is set.
bool is_open_output(const NodeData& node, int32_t output);

// True if a node of the operator has to give output i a name.
bool needs_name(const OpDef& def, int output);

// Bit i: the values of the node's own input i decide shapes of its outputs. Its bodies may read
// others for that: see shape_deciding_inputs().
uint32_t shape_inputs_of(const NodeData& node);

// The operator, or null. Domains "ai.onnx" and "" are the same. Defined by the generated table of
// src/ops.
const OpDef* find_op(std::string_view domain, std::string_view name);
// All operators, by table order.
std::span<const OpDef* const> all_ops();

// Infers one node: checks input count and calls def->infer. Errors carry the node's label.
// body_inputs: as of InferContext.
Status infer_node(const NodeData& node,
                  std::span<const ValueFact* const> inputs,
                  std::span<ValueFact> outputs,
                  BodyInputs* body_inputs = nullptr);

// Runs the reference kernel of the node's operator. Of results of packed types the bits behind the
// last element become zero.
Status run_reference(const ReferenceArgs& args);

// Runs the reference kernel on known inputs, giving the outputs' tensors; used to fold at compile
// and plan time. Inputs need not be aligned. types: what infer_node gave, all fixed. A view
// operator copies.
Result<std::vector<Tensor>> evaluate_node(const NodeData& node,
                                          std::span<const Tensor* const> inputs,
                                          std::span<const ValueFact> outputs,
                                          RunStop stop = {});

}  // namespace leat
