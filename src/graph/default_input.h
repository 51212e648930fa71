// Default inputs (GraphData::default_inputs): the constants that are their values.
#pragma once

#include <cstddef>
#include <string_view>

#include "graph/graph_data.h"

namespace leat {

// By name; null: the graph has none.
const DefaultInput* find_default_input(const GraphData& graph, std::string_view name);

// Of the constant that is the input's value; their number: the graph has none of its name.
size_t index_of_default(const GraphData& graph, const DefaultInput& input);

// invalid_argument: a run could not bind this tensor to the input, because of the declared type.
Status check_default(const DefaultInput& input, const Tensor& value);

}  // namespace leat
