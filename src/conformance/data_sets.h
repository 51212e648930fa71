// The data beside a model in the ONNX test layout: test_data_set_N/{input,output}_N.pb.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

// test_data_set_* in the folder, in numeric order.
std::vector<std::filesystem::path> data_sets_of(const std::filesystem::path& folder);

// The kind of values that an input or output of this type has.
Value::Kind kind_of(const TypeInfo& type);

struct NamedValue {
    std::string name;
    Value value;
};

// input_0.pb, input_1.pb, ... of a data set, for the graph's inputs in order and after them for its
// default inputs; fewer files leave the last ones out. An optional input without a file is empty.
// Where there are default inputs, and all files name their tensors after inputs, these names
// decide. Each file is parsed as the kind that the graph declares.
Result<std::vector<NamedValue>> load_inputs(const Graph& graph,
                                            const std::filesystem::path& data_set);
// output_0.pb, ... likewise.
Result<std::vector<NamedValue>> load_outputs(const Graph& graph,
                                             const std::filesystem::path& data_set);

}  // namespace leat
