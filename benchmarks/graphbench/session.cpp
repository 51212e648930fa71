#include "session.h"

#include <utility>

#include "base/error.h"
#include "machine.h"

namespace leat::bench {

Result<Session> open_session(const Runtime& runtime,
                             Target target,
                             CompileOptions compile,
                             std::vector<NamedValue> inputs,
                             bool* failed_at_run) {
    if (failed_at_run != nullptr) {
        *failed_at_run = false;
    }
    compile.shapes = shapes_of(inputs);
    int64_t begin = now_ns();
    Result<CompiledGraph> compiled = runtime.compile(target.graph, compile);
    if (!compiled.ok()) {
        return compiled.error();
    }
    int64_t compiled_at = now_ns();
    LEAT_ASSIGN_OR_RETURN(Request request, compiled->make_request());
    for (const NamedValue& input : inputs) {
        LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
    }
    LEAT_RETURN_IF_ERROR(request.prepare(compile.shapes));
    int64_t prepared_at = now_ns();
    if (Status status = request.run(); !status.ok()) {
        if (failed_at_run != nullptr) {
            *failed_at_run = true;
        }
        return status;
    }
    int64_t ran_at = now_ns();
    Session session{
        target.name,
        target.graph.parameter_count(),
        target.graph.parameter_bytes(),
        target.graph.node_count(),
        target.file_bytes,
        target.sha256,
        target.peak_after_load_bytes,
        {target.load_ns, compiled_at - begin, prepared_at - compiled_at, ran_at - prepared_at},
        std::move(inputs),
        std::move(*compiled),
        std::move(request),
        {}};
    for (const ValueInfo& info : target.graph.outputs()) {
        session.output_names.push_back(info.name);
    }
    return session;
}

Result<std::vector<NamedValue>> outputs_of(const Session& session) {
    std::vector<NamedValue> values;
    for (const std::string& name : session.output_names) {
        LEAT_ASSIGN_OR_RETURN(Value value, session.request.output(name));
        values.push_back({name, std::move(value)});
    }
    return values;
}

}  // namespace leat::bench
