// GraphSignature: what a graph and its options say about inputs and outputs before a request binds
// any: their names, and which shapes inputs may have.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "plan/dim_bounds.h"

namespace leat {

// Immutable. Both arguments of the constructor outlive it.
class GraphSignature {
  public:
    GraphSignature(const GraphData& graph, const CompileOptions& options)
        : graph_(graph), options_(options) {}

    // The index; not_found with the names that exist. An input that has a default, and is not open
    // in this graph, is an error, too.
    Result<int> find_input(std::string_view name) const;
    Result<int> find_output(std::string_view name) const;

    std::optional<Shape> fixed_input_shape(int input) const {
        return leat::fixed_input_shape(graph_, options_, input);
    }
    std::optional<Shape> assumed_input_shape(int input) const {
        return leat::assumed_input_shape(graph_, options_, input);
    }
    // Checks shapes (by input; those of non-tensors are ignored) against the declarations: rank,
    // fixed extents, equal extents for equal names, and their bounds.
    Status check_shapes(std::span<const Shape> shapes) const;
    // The same of one tensor by itself.
    Status check_declared(const std::string& name, const TypeInfo& type, const Shape& shape) const;
    // Shapes of all inputs under `shapes`; an error names the input whose shape stays open.
    Result<std::vector<Shape>> complete_shapes(const InputShapes& shapes) const;

  private:
    const GraphData& graph_;
    const CompileOptions& options_;
};

}  // namespace leat
