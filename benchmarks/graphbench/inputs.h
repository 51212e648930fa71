// Elements for a graph's inputs: from files, patterns, or seeded random numbers that suit the
// input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "leat/graph.h"
#include "leat/runtime.h"
#include "leat/status.h"
#include "options.h"
#include "target.h"

namespace leat::bench {

struct NamedValue {
    std::string name;
    Value value;
};

// input_0.pb, input_1.pb, ... of a data set, for the graph's inputs in order; fewer files leave the
// last inputs out. Each file is parsed as the kind that the graph declares.
Result<std::vector<NamedValue>> load_inputs(const Graph& graph,
                                            const std::filesystem::path& data_set);
// output_0.pb, ... likewise.
Result<std::vector<NamedValue>> load_outputs(const Graph& graph,
                                             const std::filesystem::path& data_set);

// A value for every input of the target. Order of choice: --input; --inputs DIR; the first data set
// of a target that is a folder; random elements in the shape that the graph, --shape and --dim
// give. An unknown extent is an error that names the option to add.
Result<std::vector<NamedValue>> make_inputs(const Target& target,
                                            const Options& options,
                                            const CompileOptions& compile);

InputShapes shapes_of(const std::vector<NamedValue>& values);

// Writes input_N.pb / output_N.pb, or NAME.npy.
Status save_values(const std::vector<NamedValue>& values,
                   const std::filesystem::path& folder,
                   const std::string& stem,
                   bool as_npy);

// All names of inputs with declared types: "input f32[batch,3,224,224]".
std::string describe_info(const ValueInfo& info);

}  // namespace leat::bench
