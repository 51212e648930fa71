// Graph: operators, values, attributes and constants of one data-flow graph, in SSA form.
//
// Build it with the calls below, or load it with load_onnx(). A Graph is cheap to move; copies
// share constants. compile() verifies it; verify() does so earlier, with every problem in one
// message. Thread safety: a graph that nobody modifies may be read by any number of threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "leat/dtype.h"
#include "leat/export.h"
#include "leat/shape.h"
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

class GraphData;
struct DimSymbol;

// A value (an edge) of one Graph. The default is "absent", for optional inputs left out.
struct ValueId {
    int32_t index = -1;
    bool valid() const { return index >= 0; }
    friend bool operator==(ValueId, ValueId) = default;
};

// An extent as written in a model: a number, a name ("batch"), or unknown. A name may be any text,
// also "2" or "2*n": it is a name and nothing else. Extents that leat computed have such texts too,
// and are other extents than those of which a model gives the same text as a name.
class LEAT_API DimSpec {
  public:
    DimSpec(int64_t extent) : extent_(extent) {}  // NOLINT(google-explicit-constructor)
    DimSpec(int extent) : extent_(extent) {}      // NOLINT(google-explicit-constructor)
    DimSpec(std::string_view name);               // NOLINT(google-explicit-constructor)
    DimSpec(const char* name)                     // NOLINT(google-explicit-constructor)
        : DimSpec(std::string_view(name)) {}
    static DimSpec unknown() { return DimSpec(int64_t{-1}); }

    bool is_fixed() const { return extent_ >= 0; }
    int64_t extent() const { return extent_; }  // -1 when not fixed
    const std::string& name() const;            // empty when fixed or unknown

    // For leat's own modules; null where there is no name.
    const DimSymbol* symbol() const { return symbol_.get(); }
    explicit DimSpec(std::shared_ptr<const DimSymbol> symbol) : symbol_(std::move(symbol)) {}

  private:
    int64_t extent_ = -1;
    std::shared_ptr<const DimSymbol> symbol_;  // shared: inference copies extents all the time
};

class Graph;
// A Graph is the body of an If, a Loop or a Scan: the node has a copy of its own.
using AttributeValue = std::variant<int64_t,
                                    float,
                                    std::string,
                                    Tensor,
                                    std::vector<int64_t>,
                                    std::vector<float>,
                                    std::vector<std::string>,
                                    Graph>;
using Attributes = std::map<std::string, AttributeValue, std::less<>>;

// Description of a graph input or output.
struct ValueInfo {
    std::string name;
    DType dtype = DType::kUndefined;
    std::vector<DimSpec> dims;  // meaningful only if has_shape
    bool has_shape = false;
    bool is_tensor = true;  // false for sequences and optionals
};

class LEAT_API Graph {
  public:
    explicit Graph(std::string name = "graph");
    ~Graph();
    Graph(Graph&&) noexcept;
    Graph& operator=(Graph&&) noexcept;
    Graph(const Graph&);
    Graph& operator=(const Graph&);

    // ---- building. Errors (duplicate names, unknown operators, unknown element types, negative
    // extents) are kept and come back from verify(). ----
    // kUndefined, no dims: of a body, which takes the type that the node hands it, a sequence's or
    // an optional's, too. The graph itself cannot declare such inputs here; parse_graph can.
    ValueId input(std::string_view name, DType dtype, std::vector<DimSpec> dims);
    ValueId constant(std::string_view name, Tensor value);
    // Adds an operator of ONNX's default domain in its newest form, or "DOMAIN.NAME", a custom one;
    // returns its first output. `name` may be empty. Unused optional inputs are ValueId{}.
    ValueId add(std::string_view op_type,
                std::vector<ValueId> inputs,
                Attributes attributes = {},
                std::string_view name = {});
    // The same for operators with several outputs.
    std::vector<ValueId> add_multi(std::string_view op_type,
                                   std::vector<ValueId> inputs,
                                   int output_count,
                                   Attributes attributes = {},
                                   std::string_view name = {});
    void output(std::string_view name, ValueId value);

    // ---- bodies (ONNX: If, Loop, Scan) ----
    // Bodies are built before the node that takes them. A ValueId is of one graph: that of another
    // is some other value here, and nothing can tell.
    //
    // A value of the graph around, for this graph as a body of one of its nodes; constants are
    // shared. A body in a body captures what the body around it has captured. `outer` has to be
    // the graph that takes this one.
    ValueId capture(const Graph& outer, ValueId value);
    // The outputs of one of the branches, which have no inputs and equally many outputs.
    // `condition`: a bool of one element.
    std::vector<ValueId> if_(ValueId condition,  // NOLINT(readability-identifier-naming)
                             Graph then_branch,
                             Graph else_branch,
                             std::string_view name = {});
    // The body's inputs are the number of the iteration (i64[]), the condition (bool[]) and one for
    // each of `initial`; its outputs are the next condition, the carried values, and what is
    // stacked along a new first axis. Returns the last carried values and the stacks. Without
    // `trip_count` or `condition` (ValueId{}) that one does not end the loop: without `condition`
    // the body's is ignored, too. A loop that only its body ends has a constant true condition.
    std::vector<ValueId> loop(ValueId trip_count,
                              ValueId condition,
                              const std::vector<ValueId>& initial,
                              Graph body,
                              std::string_view name = {});
    // The body's inputs are one for each of `initial` and a slice of each of `scanned`; its outputs
    // are the carried values and what is stacked. `attributes`: scan_input_axes and so on, as of
    // ONNX; num_scan_inputs is set here.
    std::vector<ValueId> scan(const std::vector<ValueId>& initial,
                              const std::vector<ValueId>& scanned,
                              Graph body,
                              Attributes attributes = {},
                              std::string_view name = {});

    // ---- reading ----
    const std::string& name() const;
    std::vector<ValueInfo> inputs() const;
    std::vector<ValueInfo> outputs() const;
    // Constants that a request may bind another value to (Request::bind): in an ONNX file of IR
    // version 4 or newer, initializers that are graph inputs too. They are not among inputs().
    std::vector<ValueInfo> default_inputs() const;
    int node_count() const;
    int64_t parameter_count() const;  // elements of all constants
    int64_t parameter_bytes() const;
    // Non-fatal remarks of the loader, for example an initializer that is also an input of a file
    // before IR version 4, and thus no default input.
    std::span<const std::string> warnings() const;

    // Checks structure, attributes, types and shapes; lists every unknown operator at once, and
    // every node that has an attribute which its operator does not know or has with another type.
    // It knows no operators of programs, and reports them as unknown: compile() knows those of its
    // Runtime.
    Status verify() const;

    // Text form: parse_graph(to_text()) gives an equal graph.
    std::string to_text() const;

    // For leat's own modules.
    GraphData& data() { return *data_; }
    const GraphData& data() const { return *data_; }
    explicit Graph(std::unique_ptr<GraphData> data);

  private:
    std::unique_ptr<GraphData> data_;
};

// Parses the text form. Constants written with their elements come back; elided ones are an error.
LEAT_API Result<Graph> parse_graph(std::string_view text);

}  // namespace leat
