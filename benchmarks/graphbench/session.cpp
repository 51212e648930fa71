#include "session.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "interruption.h"
#include "machine.h"

namespace leat::bench {

namespace {

// What submit() would start next, one after the other until all have been prepared.
Status prepare_all(RequestQueue& stream,
                   const std::vector<NamedValue>& inputs,
                   const InputShapes& shapes,
                   const RunOptions& first_run,
                   Phases& phases,
                   bool& failed_at_run) {
    for (int i = 0; i < stream.depth(); ++i) {
        int64_t begin = now_ns();
        Request& request = stream.next();
        for (const NamedValue& input : inputs) {
            LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
        }
        LEAT_RETURN_IF_ERROR(request.prepare(shapes));
        phases.prepare_ns += now_ns() - begin;
        begin = now_ns();
        failed_at_run = true;
        LEAT_RETURN_IF_ERROR(stream.submit(first_run));
        LEAT_RETURN_IF_ERROR(stream.take().error());
        failed_at_run = false;
        phases.first_run_ns = i == 0 ? now_ns() - begin : phases.first_run_ns;
    }
    return {};
}

// Requests that have run once on these inputs.
Result<RequestQueue> make_ready(const CompiledGraph& compiled,
                                const std::vector<NamedValue>& inputs,
                                const InputShapes& shapes,
                                const SessionLoad& load,
                                Phases& phases,
                                bool& failed_at_run) {
    const int64_t begin = now_ns();
    RequestQueueOptions options;
    options.depth = load.in_flight;
    LEAT_ASSIGN_OR_RETURN(RequestQueue stream, RequestQueue::make(compiled, options));
    phases.prepare_ns = now_ns() - begin;
    LEAT_RETURN_IF_ERROR(
        prepare_all(stream, inputs, shapes, load.first_run, phases, failed_at_run));
    return stream;
}

}  // namespace

Result<Session> open_session(const Runtime& runtime,
                             Target target,
                             CompileOptions compile,
                             std::vector<NamedValue> inputs,
                             bool* failed_at_run,
                             const SessionLoad& load) {
    bool ignored = false;
    bool& at_run = failed_at_run != nullptr ? *failed_at_run : ignored;
    at_run = false;
    compile.shapes = shapes_of(inputs);
    const int in_flight = load.in_flight > 0 ? load.in_flight : compile.requests_in_flight;
    compile.max_requests = std::max(compile.requests_in_flight, load.streams * in_flight);
    std::optional<Activity> activity(
        std::in_place,
        fmt::format("{} '{}'", target.is_compiled ? "loading" : "compiling", target.name));
    int64_t begin = now_ns();
    LEAT_ASSIGN_OR_RETURN(CompiledGraph compiled, compile_target(runtime, target, compile));
    Phases phases;
    const int64_t made_ns = now_ns() - begin;
    phases.load_ns = target.is_compiled ? made_ns : target.load_ns;
    phases.compile_ns = target.is_compiled ? 0 : made_ns;
    activity.reset();
    activity.emplace(fmt::format("running '{}' for the first time", target.name));
    std::vector<RequestQueue> streams;
    for (int i = 0; i < load.streams; ++i) {
        Phases others;
        LEAT_ASSIGN_OR_RETURN(
            RequestQueue stream,
            make_ready(compiled, inputs, compile.shapes, load, i == 0 ? phases : others, at_run));
        streams.push_back(std::move(stream));
    }
    Request* const request = &streams.front().next();
    Session session{target.name,
                    target.graph.parameter_count(),
                    target.graph.parameter_bytes(),
                    target.graph.node_count(),
                    target.file_bytes,
                    target.sha256,
                    target.peak_after_load_bytes,
                    phases,
                    std::move(inputs),
                    std::move(compiled),
                    std::move(streams),
                    request,
                    {}};
    for (const ValueInfo& info : target.graph.outputs()) {
        session.output_names.push_back(info.name);
    }
    return session;
}

Result<std::vector<NamedValue>> outputs_of(const Session& session) {
    std::vector<NamedValue> values;
    for (const std::string& name : session.output_names) {
        LEAT_ASSIGN_OR_RETURN(Value value, session.request->output(name));
        values.push_back({name, std::move(value)});
    }
    return values;
}

}  // namespace leat::bench
