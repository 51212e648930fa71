// A target of graphbench: what it names, loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "leat/graph.h"
#include "leat/onnx.h"
#include "leat/runtime.h"
#include "leat/status.h"
#include "options.h"

namespace leat::bench {

struct Target {
    std::string name;  // as given: "gen:resnet50", "models/mnist"
    // After the passes, where `is_compiled`.
    Graph graph;
    bool is_compiled = false;      // `file` is what CompiledGraph::save wrote
    std::filesystem::path folder;  // in the ONNX test layout; empty when the target is not one
    std::filesystem::path file;    // empty for gen:
    int64_t file_bytes = 0;
    std::string sha256;                 // of the file; empty unless the caller fills it
    int64_t load_ns = 0;                // reading the file, or building the network
    int64_t peak_after_load_bytes = 0;  // VmHWM then
};

// The file that `spec` names: itself, or the model.onnx of a folder. Empty for gen:NAME.
std::filesystem::path file_of(const std::string& spec);

// `spec` is a model file, a folder with a model.onnx, a compiled graph's file (by its content), or
// gen:NAME?... . Resets VmHWM before it loads.
Result<Target> load_target(const std::string& spec);

// The target's graph compiled, or loaded if it is a file of a compiled graph.
Result<CompiledGraph> compile_target(const Runtime& runtime,
                                     const Target& target,
                                     const CompileOptions& options);
// invalid_argument: the target is compiled, and an option that is given says how to compile; or it
// is the only one, and lacks a name in the options (target_names.h).
Status check_options_of(const Target& target, const Options& options);
// compile_options() without what is of other targets.
Result<CompileOptions> compile_options_of(const Target& target, const Options& options);

// What --threads and --threads-sweep take.
inline constexpr int64_t kMostThreads = 4096;

Result<RuntimeOptions> runtime_options(const Options& options);
Result<CompileOptions> compile_options(const Options& options);
}  // namespace leat::bench
