// A target made ready to run: compiled, its requests made, inputs bound, first runs done, each
// phase timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.h"
#include "leat/request_queue.h"
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
    std::vector<NamedValue> inputs;  // bound to the requests: must outlive them
    CompiledGraph compiled;
    std::vector<RequestQueue> streams;  // at least one, each used by one thread at a time
    Request* request = nullptr;  // of the first stream; its own while none of it is in flight
    std::vector<std::string> output_names;

    // That each stream keeps in flight.
    int in_flight() const { return streams.front().depth(); }
};

// Who runs a session's requests.
struct SessionLoad {
    int streams = 1;
    int in_flight = 1;          // of each stream; 0: as many as the graph is compiled for
    RunOptions first_run = {};  // its limits
};

// Compiles `target`, or loads what is compiled, and for each stream makes its requests, binds the
// inputs and runs each once; the phases are those of the first stream and its first run. A memory
// limit is one for them all. `failed_at_run` (may be null) tells, after an error, running from
// compiling.
Result<Session> open_session(const Runtime& runtime,
                             Target target,
                             CompileOptions compile,
                             std::vector<NamedValue> inputs,
                             bool* failed_at_run = nullptr,
                             const SessionLoad& load = {});

// Every output of the last run, as views of the request's memory.
Result<std::vector<NamedValue>> outputs_of(const Session& session);

}  // namespace leat::bench
