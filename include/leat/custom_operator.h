// Custom operators: what leat does not have, described and implemented by a program.
//
// A CustomOperator is schema, inference, cost and kernels; an OperatorLibrary holds any number of
// them. Runtime::register_operator and Runtime::load_operators put one into the library of that
// Runtime alone: nothing is global. Graphs then use it as "DOMAIN.NAME" (Graph::add), and so do
// ONNX files whose nodes have that domain. As a shared object: operator_entry.h.
//
// Extents are in elements, sizes in bytes. An exception of a callback becomes a Status
// (kUserException, kOutOfMemory) that names the node; the Runtime stays usable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leat/dtype.h"
#include "leat/export.h"
#include "leat/graph.h"
#include "leat/shape.h"
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

class OperatorSource;

// In the order of AttributeValue's alternatives; none is a graph.
enum class AttributeType : uint8_t { kInt, kFloat, kString, kTensor, kInts, kFloats, kStrings };

struct AttributeSpec {
    std::string name = {};
    AttributeType type = AttributeType::kInt;
    std::optional<AttributeValue> default_value = {};  // of that type
    bool is_required = false;                          // then without a default
};

// An input or output.
struct OperandSpec {
    std::string name = {};
    std::vector<DType> dtypes = {};  // empty: any
    // Operands with the same name here have the same element type in a node; empty: no rule.
    std::string type_name = {};
    bool is_optional = false;
    bool is_variadic = false;  // any number of them, at least one unless optional; the last operand
    // Inputs only: elements, not only the shape, decide shapes of outputs. Inference sees them when
    // a plan is made, and other elements need another plan.
    bool decides_shape = false;
};

// A node of the operator. Valid during the call that it is passed to; reads are thread-safe.
class OperatorNode {
  public:
    OperatorNode() = default;
    OperatorNode(const OperatorNode&) = delete;
    OperatorNode& operator=(const OperatorNode&) = delete;
    virtual ~OperatorNode() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view domain() const = 0;
    virtual std::string_view op_type() const = 0;
    // What the node has, else the declared default; null where there is neither.
    virtual const AttributeValue* attribute(std::string_view attribute_name) const = 0;
    // The same with its type: int64_t, float, std::string, Tensor, or a vector of the first three.
    template <class T>
    const T* get(std::string_view attribute_name) const {
        return std::get_if<T>(attribute(attribute_name));
    }
};

// A tensor for a kernel: row-major, aligned to its elements. Outputs are written through `data`.
struct TensorView {
    // kUndefined: an optional operand that is absent, or an optional output that nobody reads.
    DType dtype = DType::kUndefined;
    Shape shape = {};
    void* data = nullptr;  // null in tile_count, scratch_bytes and cost, unless constant

    bool present() const { return dtype != DType::kUndefined; }
    int64_t element_count() const { return present() ? shape.element_count() : 0; }
    // Precondition: T matches dtype.
    template <class T>
    std::span<const T> elements() const {
        return {static_cast<const T*>(data), size_t(element_count())};
    }
    template <class T>
    std::span<T> mutable_elements() const {
        return {static_cast<T*>(data), size_t(element_count())};
    }
};

// Called for every node at compile time, when extents may be names or unknown, and again for every
// new set of input shapes, when all are numbers; then all of the outputs' must be, too.
class OperatorInference {
  public:
    OperatorInference() = default;
    OperatorInference(const OperatorInference&) = delete;
    OperatorInference& operator=(const OperatorInference&) = delete;
    virtual ~OperatorInference() = default;
    virtual const OperatorNode& node() const = 0;
    virtual int input_count() const = 0;
    virtual int output_count() const = 0;  // that the node has
    virtual bool has_input(int i) const = 0;
    // kUndefined for an absent input.
    virtual DType dtype(int i) const = 0;
    // nullopt: of unknown rank, or absent.
    virtual const std::optional<std::vector<DimSpec>>& dims(int i) const = 0;
    // The input's elements where they are known by now, else null.
    virtual const Tensor* value(int i) const = 0;
    // The same of an int32 or int64 input, as int64.
    virtual std::optional<std::vector<int64_t>> ints(int i) const = 0;
    // Needed once for each output that the node has. Where all inputs' extents are numbers, and all
    // elements that were asked for are known, `dims` must be numbers, too.
    virtual void set_output(int i, DType dtype, std::optional<std::vector<DimSpec>> dims) = 0;
};

// A node with the shapes of one plan.
struct OperatorCall {
    const OperatorNode& node;
    std::span<const TensorView> inputs = {};
    std::span<const TensorView> outputs = {};
};

// Tiles [tile_begin, tile_end) of tile_count are to be computed, on the calling thread.
struct KernelCall {
    const OperatorNode& node;
    std::span<const TensorView> inputs = {};
    std::span<const TensorView> outputs = {};
    std::byte* scratch = nullptr;  // of this call alone, 64-byte aligned; null if it asked for none
    int64_t tile_begin = 0;
    int64_t tile_end = 1;
    int64_t tile_count = 1;
};

// A kernel on the host.
struct OperatorKernel {
    // Any thread, several threads in different tiles of one node at a time. Tiles write disjoint
    // elements, and results do not depend on how they are grouped. Errors are about values.
    std::function<Status(const KernelCall&)> run = {};
    // How many independent tiles the work has, in [1, kMostTiles]. Null: one.
    std::function<int64_t(const OperatorCall&)> tile_count = {};
    // Of each thread that runs tiles, in [0, kMostScratchBytes]. Null: none.
    std::function<int64_t(const OperatorCall&)> scratch_bytes = {};

    static constexpr int64_t kMostTiles = (int64_t{1} << 40) - 1;
    static constexpr int64_t kMostScratchBytes = int64_t{1} << 47;  // what a process can address
};

// Beyond these, or below 0, it is an error of compile(), prepare() or run() that names the node.
struct OperatorCost {
    static constexpr double kMostFlops = 1e18;
    static constexpr int64_t kMostBytes = int64_t{1} << 60;

    double flops = 0;
    int64_t bytes = 0;  // read and written
};

// Callbacks are called by any thread that compiles, prepares or runs, several at a time; they live
// as long as some Runtime, library or graph uses the operator.
struct CustomOperator {
    std::string domain = {};  // not one of ONNX ("", "ai.onnx", "ai.onnx.ml", ...) nor "leat"
    std::string name = {};
    // The first opset of the domain that has the operator like this. A file gets the newest version
    // that its import of the domain allows; a graph made in C++ the newest.
    int since_version = 1;
    std::vector<OperandSpec> inputs = {};
    std::vector<OperandSpec> outputs = {};
    std::vector<AttributeSpec> attributes = {};
    std::function<Status(OperatorInference&)> infer = {};
    // Null: a flop an element, and the bytes of all operands.
    std::function<OperatorCost(const OperatorCall&)> cost = {};
    // Output 0 may share memory with these inputs where shapes and element types agree: no tile
    // reads what another one writes.
    std::vector<int> in_place_inputs = {};
    // False (random numbers, a clock): equal nodes stay apart, and constant operands are not
    // folded.
    bool is_deterministic = true;
    // "cpu", "reference": each stands in for the other where it is missing.
    std::map<std::string, OperatorKernel, std::less<>> kernels = {};
    // By name of another backend ("sim", "vulkan"): bytes whose meaning is that backend's affair.
    // Its devices are offered the nodes; without an entry nodes stay on the host.
    std::map<std::string, std::string, std::less<>> device_kernels = {};
};

// Where a shared object puts its operators.
class OperatorRegistry {
  public:
    OperatorRegistry() = default;
    OperatorRegistry(const OperatorRegistry&) = delete;
    OperatorRegistry& operator=(const OperatorRegistry&) = delete;
    virtual ~OperatorRegistry() = default;
    virtual Status add(CustomOperator custom) = 0;
};

struct OperatorInfo {
    std::string domain;
    std::string name;
    int since_version = 1;
    std::string source;  // the shared object's file, or "the program"
};

// Copies are the same library. Thread-safe.
class LEAT_API OperatorLibrary {
  public:
    OperatorLibrary();

    // invalid_argument where the description contradicts itself, or the operator is there already:
    // the message names both.
    Status add(CustomOperator custom);
    // All operators of a shared object, or none of them. `file` is a path, relative to the current
    // folder, also where it has no slash. not_found, invalid_argument (not a regular file), parse
    // (it is no library of operators), version_mismatch, or what its registration says; each names
    // the file. It is closed when nothing uses its operators any more.
    Status load(const std::string& file);
    // By domain, name and version.
    std::vector<OperatorInfo> list() const;

    // For leat's own modules.
    const OperatorSource& source() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace leat
