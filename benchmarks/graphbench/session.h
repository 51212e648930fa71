// A target made ready to run: compiled, its request made, inputs bound, first run done, each phase
// timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.h"
#include "leat/runtime.h"
#include "options.h"
#include "target.h"

namespace leat::bench {

struct Phases {
    int64_t load_ns = 0;  // of the model; of a compiled graph's file all of it
    int64_t compile_ns = 0;
    int64_t prepare_ns = 0;  // request made, inputs bound, plan linked
    int64_t first_run_ns = 0;
};

struct Session {
    std::string name;  // of the target, with the shapes when they were given
    int64_t parameter_count = 0;
    int64_t parameter_bytes = 0;
    int source_nodes = 0;  // before the passes
    int64_t file_bytes = 0;
    std::string sha256;  // of the model file; may be empty
    int64_t peak_after_load_bytes = 0;
    Phases phases;
    std::vector<NamedValue> inputs;  // bound to the request: must outlive it
    CompiledGraph compiled;
    Request request;
    std::vector<Request> more_requests;  // of the streams beyond the first, made alike
    std::vector<std::string> output_names;
};

// Compiles `target`, or loads what is compiled, and for each stream makes a request, binds the
// inputs and runs once; the phases are those of the first. `failed_at_run` (may be null) tells,
// after an error, running from compiling.
Result<Session> open_session(const Runtime& runtime,
                             Target target,
                             CompileOptions compile,
                             std::vector<NamedValue> inputs,
                             bool* failed_at_run = nullptr,
                             int streams = 1);

// Every output of the last run, as views of the request's memory.
Result<std::vector<NamedValue>> outputs_of(const Session& session);

}  // namespace leat::bench
