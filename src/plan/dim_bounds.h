// Bounds of symbolic extents (CompileOptions::dim_bounds): what is assumed where an extent is open,
// and the check of shapes against them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"

namespace leat {

// Numbers of `dims` and `dim_bounds` are of extents that the inputs of the graph have, also those
// with defaults, none is negative, also in `shapes`, and no extent is fixed beyond its bounds.
Status check_dim_bounds(const GraphData& graph, const CompileOptions& options);

// The shape that the declaration, CompileOptions::shapes and ::dims fix for an input; nullopt
// if some extent stays open.
std::optional<Shape> fixed_input_shape(const GraphData& graph,
                                       const CompileOptions& options,
                                       int input);

// What an extent of that name counts as until a run says more: `dims`, else its upper bound.
std::optional<int64_t> assumed_extent(const CompileOptions& options, std::string_view name);

// fixed_input_shape() where extents with bounds count as their upper ones.
std::optional<Shape> assumed_input_shape(const GraphData& graph,
                                         const CompileOptions& options,
                                         int input);
// Of all inputs, where bounds decide some of them; empty: no input has any.
std::vector<Shape> shapes_at_bounds(const GraphData& graph, const CompileOptions& options);
// Shapes of all inputs that may follow on `first`, the smallest first. Where there are bounds: with
// the lower ones, of extents that may be 0 one, and with two to four times these, below the upper
// ones: there what grows and what does not changes most beside each other. Else with multiples of
// the extents that nothing fixes.
std::vector<std::vector<Shape>> likely_shapes(const GraphData& graph,
                                              const CompileOptions& options,
                                              std::span<const Shape> first);

// An error names the input, its extent, and the bounds.
Status check_within_bounds(const GraphData& graph,
                           const CompileOptions& options,
                           std::span<const Shape> shapes);

}  // namespace leat
