#include "session.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "interruption.h"
#include "machine.h"

namespace leat::bench {

namespace {

// A request that has run once on these inputs.
Result<Request> make_ready(const CompiledGraph& compiled,
                           const std::vector<NamedValue>& inputs,
                           const InputShapes& shapes,
                           Phases& phases,
                           bool& failed_at_run) {
    int64_t begin = now_ns();
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    for (const NamedValue& input : inputs) {
        LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
    }
    LEAT_RETURN_IF_ERROR(request.prepare(shapes));
    int64_t prepared_at = now_ns();
    if (Status status = request.run(); !status.ok()) {
        failed_at_run = true;
        return status;
    }
    phases.prepare_ns = prepared_at - begin;
    phases.first_run_ns = now_ns() - prepared_at;
    return request;
}

}  // namespace

Result<Session> open_session(const Runtime& runtime,
                             Target target,
                             CompileOptions compile,
                             std::vector<NamedValue> inputs,
                             bool* failed_at_run,
                             int streams) {
    bool ignored = false;
    bool& at_run = failed_at_run != nullptr ? *failed_at_run : ignored;
    at_run = false;
    compile.shapes = shapes_of(inputs);
    std::optional<Activity> activity(
        std::in_place,
        fmt::format("{} '{}'", target.is_compiled ? "loading" : "compiling", target.name));
    int64_t begin = now_ns();
    Result<CompiledGraph> compiled = compile_target(runtime, target, compile);
    if (!compiled.ok()) {
        return compiled.error();
    }
    Phases phases;
    const int64_t made_ns = now_ns() - begin;
    phases.load_ns = target.is_compiled ? made_ns : target.load_ns;
    phases.compile_ns = target.is_compiled ? 0 : made_ns;
    activity.reset();
    activity.emplace(fmt::format("running '{}' for the first time", target.name));
    LEAT_ASSIGN_OR_RETURN(Request request,
                          make_ready(*compiled, inputs, compile.shapes, phases, at_run));
    std::vector<Request> more;
    for (int stream = 1; stream < streams; ++stream) {
        Phases others;
        LEAT_ASSIGN_OR_RETURN(Request another,
                              make_ready(*compiled, inputs, compile.shapes, others, at_run));
        more.push_back(std::move(another));
    }
    Session session{target.name,
                    target.graph.parameter_count(),
                    target.graph.parameter_bytes(),
                    target.graph.node_count(),
                    target.file_bytes,
                    target.sha256,
                    target.peak_after_load_bytes,
                    phases,
                    std::move(inputs),
                    std::move(*compiled),
                    std::move(request),
                    std::move(more),
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
