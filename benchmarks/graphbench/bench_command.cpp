// graphbench bench and profile.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "baseline.h"
#include "calibration_view.h"
#include "commands.h"
#include "device_options.h"
#include "exit_codes.h"
#include "files.h"
#include "interruption.h"
#include "measure.h"
#include "output.h"
#include "repeat.h"
#include "result.h"
#include "screen.h"
#include "session.h"
#include "sha256.h"
#include "statistics.h"
#include "step_table.h"
#include "sweep.h"
#include "target_names.h"

namespace leat::bench {
namespace {

// What bench keeps between its phases.
struct BenchState {
    std::optional<std::vector<Json>> baseline;
    std::unique_ptr<Runtime> runtime;
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<Json> results;
    int exit_code = kExitOk;
    std::optional<InterruptGuard> guard;  // from the first measurement on
};

// Loads and compiles one target for one set of --shape values; traced, for Request::trace_json.
int open_case(BenchState& state,
              const std::string& spec,
              const Options& options,
              const SweepCase& sweep,
              const SessionLoad& load = {},
              bool is_traced = false) {
    Result<Target> target = load_target(spec);
    if (!target.ok()) {
        return report_error(target.error());
    }
    if (const Status status = check_options_of(*target, options); !status.ok()) {
        return usage_error(options, status);
    }
    Result<CompileOptions> compile = compile_options_of(*target, options);
    if (!compile.ok()) {
        return usage_error(options, compile.error());
    }
    for (auto& [input, shape] : compile->shapes) {
        const auto swept = sweep.shapes.find(input);
        shape = swept == sweep.shapes.end() ? shape : swept->second;
    }
    Result<std::vector<NamedValue>> inputs = make_inputs(*target, options, *compile);
    if (!inputs.ok()) {
        return report_error(inputs.error());
    }
    compile->is_traced = is_traced;
    target->name += sweep.label;
    if ((wants_json(options) || state.baseline) && !target->file.empty()) {
        Result<std::string> sum = sha256_of_file(target->file);
        if (!sum.ok()) {
            return report_error(sum.error());
        }
        target->sha256 = std::move(sum).value();
    }
    bool at_run = false;
    Result<Session> session =
        open_session(*state.runtime, std::move(target).value(), std::move(compile).value(),
                     std::move(inputs).value(), &at_run, load);
    if (!session.ok()) {
        return report_error(
            session.error(),
            exit_code_for_devices(*state.runtime, backends_of(options), session.error(), at_run));
    }
    state.sessions.push_back(std::make_unique<Session>(std::move(session).value()));
    return kExitOk;
}

// One little-endian int64 of nanoseconds for each run.
Status write_samples(const std::string& file, const std::vector<double>& samples_ns) {
    std::string bytes;
    bytes.reserve(samples_ns.size() * sizeof(int64_t));
    for (double sample : samples_ns) {
        auto ns = uint64_t(sample);
        for (int shift = 0; shift < 64; shift += 8) {
            bytes += char(ns >> shift);
        }
    }
    return write_text_file(file, bytes);
}

int measure_sessions(BenchState& state, const Options& options, const MeasureOptions& how) {
    std::vector<Session*> sessions;
    for (const auto& session : state.sessions) {
        sessions.push_back(session.get());
    }
    if (!state.guard) {
        state.guard.emplace();
    }
    std::vector<Measurement> measurements = measure(sessions, how);
    for (size_t i = 0; i < sessions.size(); ++i) {
        const Measurement& measurement = measurements[i];
        if (!measurement.error.ok()) {
            return report_error(measurement.error, true);
        }
        Json result = result_json(*sessions[i], measurement, state.runtime->host(), options);
        if (options.flag("per-node") && !measurement.interrupted) {
            constexpr int64_t kProfiledRuns = 10;
            Result<std::vector<StepTime>> steps =
                profile_steps(*sessions[i]->request, kProfiledRuns);
            if (!steps.ok()) {
                return report_error(steps.error(), true);
            }
            result.set("nodes", steps_json(*steps));
            if (options.text("format") == "table" && options.text("json") != "-") {
                print_out("{}", step_table(*steps, options.text("sort"), options.integer("top")));
            }
        }
        if (std::string file = options.text("samples"); !file.empty()) {
            file += sessions.size() > 1 ? fmt::format(".{}", i) : "";
            if (Status status = write_samples(file, measurement.samples_ns); !status.ok()) {
                return report_error(status);
            }
        }
        if (measurement.interrupted) {
            state.exit_code = interruption_exit_code();
        } else if (measurement.missed_deadlines > 0 && state.exit_code == kExitOk) {
            state.exit_code = kExitDeadline;
        } else if (options.flag("require-stable") && state.exit_code == kExitOk &&
                   !result["verdict"]["stable"].boolean()) {
            state.exit_code = kExitUnfit;
        }
        state.results.push_back(std::move(result));
    }
    return kExitOk;
}

// What means nothing where a stream keeps several requests in flight.
Status check_load(const Session& session, const MeasureOptions& how) {
    if (session.in_flight() == 1 || (how.rate_per_s <= 0 && !how.cold_cache)) {
        return {};
    }
    return invalid_argument(
        "{} with {} requests in flight: {}; needed: one of both",
        how.cold_cache ? "--cold-cache all" : "--rate", session.in_flight(),
        how.cold_cache ? "what is swept before one run hides in the others"
                       : "a result that has come is not taken before the next one is submitted");
}

// A case with what all streams of it need.
int open_measured_case(BenchState& state,
                       const std::string& spec,
                       const Options& options,
                       const MeasureOptions& how,
                       const SweepCase& sweep) {
    if (const int code = open_case(state, spec, options, sweep, {how.streams, /*in_flight=*/0});
        code != kExitOk) {
        return code;
    }
    const Status status = check_load(*state.sessions.back(), how);
    return status.ok() ? kExitOk : usage_error(options, status);
}

// Whether each name in the options is one of some target. One target is looked at when it is
// loaded.
int check_names_of_all(const Options& options) {
    if (options.positional().size() < 2 || !gives_names(options)) {
        return kExitOk;
    }
    std::vector<TargetNames> names;
    for (const std::string& spec : options.positional()) {
        const Result<Target> target = load_target(spec);
        if (!target.ok()) {
            return report_error(target.error());
        }
        names.push_back(names_of(*target));
    }
    const Status status = check_names(options, names);
    return status.ok() ? kExitOk : usage_error(options, status);
}

// Every target in every case of the sweep; in turns, or one after the other.
int measure_targets(BenchState& state, const Options& options, const OptionValues& values) {
    const MeasureOptions& how = values.measure;
    bool interleave = options.text("interleave") == "on";
    for (const std::string& spec : options.positional()) {
        for (const SweepCase& one : values.sweep) {
            if (!interleave && !state.results.empty()) {
                const Activity activity("cooling down");
                sleep_until_ns(now_ns() + how.cool_down_ns);
            }
            int code = interruption() == Interruption::kNone
                           ? open_measured_case(state, spec, options, how, one)
                           : kExitOk;
            if (interruption() != Interruption::kNone) {
                state.exit_code = interruption_exit_code();
                return kExitOk;  // with the results so far
            }
            if (code == kExitOk && !interleave) {
                code = measure_sessions(state, options, how);
                state.sessions.clear();
            }
            if (code != kExitOk) {
                return code;
            }
        }
    }
    return interleave ? measure_sessions(state, options, how) : kExitOk;
}

// A run of every target in every case, of programs that record it: measured ones do not.
int write_traces(BenchState& state, const Options& options, const std::vector<SweepCase>& sweep) {
    constexpr int kRuns = 10;  // the last one is written: caches and helpers are warm
    const size_t count = options.positional().size() * sweep.size();
    for (size_t i = 0; i < count; ++i) {
        state.sessions.clear();
        const std::string& spec = options.positional()[i / sweep.size()];
        if (int code = open_case(state, spec, options, sweep[i % sweep.size()], {}, true);
            code != kExitOk) {
            return code;
        }
        Request& request = *state.sessions[0]->request;
        Status status;
        for (int run = 0; run < kRuns && status.ok(); ++run) {
            status = request.run();
        }
        if (!status.ok()) {
            return report_error(status, true);
        }
        const std::string file = options.text("trace") + (count > 1 ? fmt::format(".{}", i) : "");
        status = write_text_file(file, request.trace_json());
        if (!status.ok()) {
            return report_error(status);
        }
    }
    return kExitOk;
}

void print_results(const BenchState& state, const Options& options) {
    std::string format = options.text("format");
    if (format == "md" || format == "csv" || state.results.size() > 1) {
        print_out("{}", rows_of(state.results, options.text("time-unit"), table_format(format)));
        return;
    }
    print_out("{}",
              screen_of(state.results[0], options.text("time-unit"), options.flag("histogram")));
}

}  // namespace

Result<int> bench_command(const Options& options, const OptionValues& values) {
    if (options.positional().empty()) {
        return usage_error(
            options,
            "needs a TARGET: model.onnx, a folder with one, a compiled graph, or gen:NAME");
    }
    Result<std::optional<std::vector<Json>>> baseline = read_baseline(options, values.sweep);
    if (!baseline.ok()) {
        return baseline.error().code() == StatusCode::kInvalidArgument
                   ? usage_error(options, baseline.error())
                   : report_error(baseline.error());
    }
    if (options.integer("repeat") > 1) {
        return options.given("samples") || options.given("trace")
                   ? usage_error(options,
                                 "writes --samples and --trace of one process: not with --repeat")
                   : bench_in_processes(options, *baseline);
    }
    BenchState state;
    state.baseline = *std::move(baseline);
    state.runtime = std::make_unique<Runtime>(values.runtime);
    if (const int code = report_backends(*state.runtime, backends_of(options)); code != kExitOk) {
        return code;
    }
    if (const int code = check_names_of_all(options); code != kExitOk) {
        return code;
    }
    if (int code = measure_targets(state, options, values); code != kExitOk) {
        return code;
    }
    if (options.given("trace") && interruption() == Interruption::kNone) {
        if (int code = write_traces(state, options, values.sweep); code != kExitOk) {
            return code;
        }
    }
    if (!write_json(options, results_document(state.results), &state.exit_code)) {
        print_results(state, options);
    }
    if (state.baseline && state.exit_code == kExitOk) {
        return compare_with_baseline(*state.baseline, state.results, options);
    }
    return state.exit_code;
}

namespace {

// Median of runs as they are, after one without a clock.
Result<double> median_run_ns(Request& request, int64_t runs) {
    std::vector<double> times;
    for (int64_t run = -1; run < std::max<int64_t>(1, runs); ++run) {
        const int64_t begin = now_ns();
        LEAT_RETURN_IF_ERROR(request.run());
        if (run >= 0) {
            times.push_back(double(now_ns() - begin));
        }
    }
    return median(times);
}

// What compile() measured of operators and links, and what runs of the whole graph take.
int print_calibration(Session& session, const Options& options, int64_t runs) {
    const CalibrationReport report = session.compiled.report().calibration;
    const Result<double> run_ns = median_run_ns(*session.request, runs);
    if (!run_ns.ok()) {
        return report_error(run_ns.error(), true);
    }
    Json json = Json::object();
    json.set("schema", kSchema);
    json.set("target", options.positional()[0]);
    json.set("run_ns", *run_ns);
    json.set("calibration", calibration_as_json(report));
    int exit_code = kExitOk;
    if (!write_json(options, json, &exit_code)) {
        print_out("{}a run of the whole graph as it is placed: {:.3f} us\n",
                  calibration_as_text(report, options.integer("top")), *run_ns * 1e-3);
    }
    return exit_code;
}

}  // namespace

Result<int> profile_command(const Options& options, const OptionValues& values) {
    if (options.flag("calibrate") && options.given("trace")) {
        return usage_error(options, "times operators alone with --calibrate: not with --trace");
    }
    BenchState state;
    state.runtime = std::make_unique<Runtime>(values.runtime);
    if (const int code = report_backends(*state.runtime, backends_of(options)); code != kExitOk) {
        return code;
    }
    if (int code = open_case(state, options.positional()[0], options, SweepCase{});
        code != kExitOk) {
        return code;
    }
    constexpr int64_t kRuns = 10;
    if (options.flag("calibrate")) {
        return print_calibration(*state.sessions[0], options, options.integer("runs", kRuns));
    }
    Result<std::vector<StepTime>> steps =
        profile_steps(*state.sessions[0]->request, options.integer("runs", kRuns));
    if (!steps.ok()) {
        return report_error(steps.error(), true);
    }
    if (std::string file = options.text("trace"); !file.empty()) {
        LEAT_RETURN_IF_ERROR(write_text_file(file, trace_json(*steps).dump(-1)));
    }
    Json json = Json::object();
    json.set("schema", kSchema);
    json.set("target", options.positional()[0]);
    json.set("nodes", steps_json(*steps));
    int exit_code = kExitOk;
    if (!write_json(options, json, &exit_code)) {
        print_out("{}", step_table(*steps, options.text("sort"), options.integer("top")));
    }
    return exit_code;
}

}  // namespace leat::bench
