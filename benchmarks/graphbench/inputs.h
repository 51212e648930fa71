// Elements for a graph's inputs: from files, patterns, or seeded random numbers that suit the
// input.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/data_sets.h"
#include "leat/graph.h"
#include "leat/runtime.h"
#include "leat/status.h"
#include "options.h"
#include "target.h"

namespace leat::bench {

// A value for every input of the target, and for those with defaults that --input, --shape or a
// data set names. Order of choice: --input; --inputs DIR; the first data set of a target that is a
// folder; random elements in the shape that the graph, --shape and --dim give. An unknown extent is
// an error that names the option to add. Names in options that the target lacks are not looked at:
// check_options_of() does.
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
