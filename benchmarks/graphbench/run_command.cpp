// graphbench run and check.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "commands.h"
#include "conformance/layout_test.h"
#include "conformance/values.h"
#include "device_options.h"
#include "exit_codes.h"
#include "inputs.h"
#include "interruption.h"
#include "output.h"
#include "result.h"
#include "saved/compiled_file.h"
#include "screen.h"
#include "session.h"
#include "target_names.h"
#include "worker.h"

namespace leat::bench {
namespace {

// What opening a session needs, with the exit code of whatever failed.
struct Opened {
    std::optional<Session> session;
    int exit_code = kExitOk;
};

Opened open_for(const Runtime& runtime,
                const Options& options,
                CompileOptions compile,
                const std::string& backends,
                const SessionLoad& load = {}) {
    if (const int code = report_backends(runtime, backends); code != kExitOk) {
        return {std::nullopt, code};
    }
    Result<Target> target = load_target(options.positional()[0]);
    if (!target.ok()) {
        return {std::nullopt, report_error(target.error())};
    }
    if (const Status status = check_options_of(*target, options); !status.ok()) {
        return {std::nullopt, usage_error(options, status)};
    }
    // Pins are of the devices that the command runs on, not of those that it compares with.
    if (backends != compile.devices) {
        compile.pins.clear();
    }
    compile.devices = backends;
    Result<std::vector<NamedValue>> inputs = make_inputs(*target, options, compile);
    if (!inputs.ok()) {
        return {std::nullopt, report_error(inputs.error())};
    }
    bool at_run = false;
    Result<Session> session = open_session(runtime, std::move(target).value(), std::move(compile),
                                           std::move(inputs).value(), &at_run, load);
    if (!session.ok()) {
        return {std::nullopt,
                report_error(session.error(),
                             exit_code_for_devices(runtime, backends, session.error(), at_run))};
    }
    return {std::move(session).value(), kExitOk};
}

Json value_json(const NamedValue& value) {
    Json json = Json::object();
    json.set("name", value.name).set("value", describe_value(value.value));
    return json;
}

class Checker {
  public:
    explicit Checker(const Options& options) : options_(options) {}

    // Tolerance for outputs computed twice: 1e-3 of each, 1e-5 of the largest.
    Tolerance tolerance_for(const Value& want) const {
        return {options_.number("rtol", 1e-3),
                options_.number("atol", 1e-5 * largest_magnitude(want))};
    }

    void add(const std::string& label, const std::string& output, const Difference& difference) {
        all_match_ = all_match_ && difference.matches;
        table_.add({label, output, difference.matches ? "yes" : "NO",
                    fmt::format("{:.3g}", difference.max_absolute),
                    fmt::format("{:.3g}", difference.max_relative),
                    fmt::format("{:.3g}", difference.largest), difference.reason});
        Json row = Json::object();
        row.set("what", label).set("output", output).set("matches", difference.matches);
        row.set("max_absolute", difference.max_absolute)
            .set("max_relative", difference.max_relative);
        row.set("largest", difference.largest).set("reason", difference.reason);
        rows_.push(std::move(row));
    }

    int finish() const {
        int exit_code = all_match_ ? kExitOk : kExitRegression;
        Json json = Json::object();
        json.set("schema", kSchema).set("passed", all_match_).set("outputs", rows_);
        if (!write_json(options_, json, &exit_code)) {
            print_out("{}{}\n", table_.to_string(), all_match_ ? "passed" : "FAILED");
        }
        return exit_code;
    }

  private:
    const Options& options_;
    Table table_{
        {"against", "output", "matches", "max abs", "max rel", "largest", "first mismatch"}};
    Json rows_ = Json::array();
    bool all_match_ = true;
};

// What a check says that has no table: one that did not pass, or has nothing to compare.
int report_check(const Options& options, Json passed, const std::string& reason, int exit_code) {
    Json json = Json::object();
    json.set("schema", kSchema).set("passed", std::move(passed));
    json.set("outputs", Json::array()).set("reason", reason);
    if (!write_json(options, json, &exit_code)) {
        print_out("{}\n", reason);
    }
    return exit_code;
}

int check_stored(const Options& options,
                 const Runtime& runtime,
                 const CompileOptions& compile,
                 const std::filesystem::path& folder) {
    if (gives_names(options)) {
        const Result<Target> target = load_target(folder.string());
        if (!target.ok()) {
            return report_error(target.error());
        }
        if (const Status status = check_options_of(*target, options); !status.ok()) {
            return usage_error(options, status);
        }
    }
    Tolerance tolerance = tolerance_of(folder);
    tolerance.relative = options.number("rtol", tolerance.relative);
    tolerance.absolute = options.number("atol", tolerance.absolute);
    TestOutcome outcome = run_layout_test(runtime, folder, compile, tolerance);
    const bool has_passed = outcome.verdict == ConformanceVerdict::kPassed;
    if (outcome.verdict == ConformanceVerdict::kNotCompared) {
        return report_check(options, Json(), "not compared: " + outcome.reason, kExitOk);
    }
    Checker checker(options);
    if (outcome.expects_error) {
        checker.add("expected_error.txt", "error", {has_passed, outcome.reason});
        return checker.finish();
    }
    const int error_code =
        exit_code_for_devices(runtime, compile.devices, outcome.error, outcome.failed_at_run);
    if (!has_passed && outcome.outputs.empty()) {
        print_err("graphbench: {}\n", outcome.reason);
        return error_code == kExitOk ? kExitRegression : error_code;
    }
    for (const OutputCheck& check : outcome.outputs) {
        checker.add(check.data_set, check.output, check.difference);
    }
    int exit_code = checker.finish();
    if (!has_passed && exit_code == kExitOk) {  // a later data set could not run
        print_err("graphbench: {}\n", outcome.reason);
        return error_code;
    }
    return exit_code;
}

// In a process of its own: one that crashes or hangs is a check that failed.
int check_in_worker(const Options& options,
                    const OptionValues& values,
                    const std::filesystem::path& folder) {
    int exit_code = kExitOk;
    std::optional<Activity> activity;
    WorkerJobs jobs;
    jobs.count = 1;
    jobs.on_begin = [&](size_t) {
        activity.emplace(fmt::format("checking '{}'", folder.string()));
    };
    jobs.on_end = [&](size_t, const JobEnd& end) {
        exit_code =
            end.failure.empty()
                ? int(parse_integer(end.result).value_or(kExitInternal))
                : report_check(options, false, "FAILED: the check " + end.failure, kExitRegression);
    };
    const int ended =
        run_isolated(options, values.runtime, std::move(jobs), [&](const Runtime& runtime, size_t) {
            // The worker's own output: nobody else hears of its errors.
            const int code = check_stored(options, runtime, values.compile, folder);
            return std::to_string(check_printed(code, /*is_end=*/false));
        });
    return ended == kExitOk ? exit_code : ended;
}

int check_against(const Options& options, const OptionValues& values, const std::string& other) {
    const Runtime runtime(values.runtime);
    Opened ours = open_for(runtime, options, values.compile, backends_of(options));
    if (!ours.session) {
        return ours.exit_code;
    }
    Opened theirs = open_for(runtime, options, values.compile, other);
    if (!theirs.session) {
        return theirs.exit_code;
    }
    Result<std::vector<NamedValue>> got = outputs_of(*ours.session);
    Result<std::vector<NamedValue>> want = outputs_of(*theirs.session);
    if (!got.ok() || !want.ok()) {
        return report_error(got.ok() ? want.error() : got.error(), true);
    }
    const Activity activity(fmt::format("comparing with '{}'", other));
    Checker checker(options);
    for (size_t i = 0; i < want->size(); ++i) {
        const Value& value = (*want)[i].value;
        checker.add(other, (*want)[i].name,
                    compare_values((*got)[i].value, value, checker.tolerance_for(value)));
    }
    return checker.finish();
}

// Outputs with each number of threads must be those of the first, bit for bit.
int check_threads(const Options& options, const OptionValues& values) {
    std::vector<int64_t> counts;
    const std::string list = options.text("threads-sweep");
    for (const std::string& part : parts_of(list, ',')) {
        std::optional<int64_t> count = parse_integer(part);
        if (!count || *count < 1 || *count > kMostThreads) {
            return usage_error(
                options,
                fmt::format(
                    "--threads-sweep is '{}'; needed: numbers from 1 to {} with commas between",
                    list, kMostThreads));
        }
        counts.push_back(*count);
    }
    Checker checker(options);
    std::optional<Session> first;
    for (int64_t count : counts) {
        RuntimeOptions wanted = values.runtime;
        wanted.threads = int(count);
        Runtime runtime(wanted);
        Opened opened = open_for(runtime, options, values.compile, backends_of(options));
        if (!opened.session) {
            return opened.exit_code;
        }
        if (!first) {
            first = std::move(opened.session);
            continue;
        }
        Result<std::vector<NamedValue>> want = outputs_of(*first);
        Result<std::vector<NamedValue>> got = outputs_of(*opened.session);
        if (!got.ok() || !want.ok()) {
            return report_error(got.ok() ? want.error() : got.error(), true);
        }
        for (size_t i = 0; i < want->size(); ++i) {
            Difference difference = compare_values((*got)[i].value, (*want)[i].value, {0, 0});
            difference.matches = same_bits((*got)[i].value, (*want)[i].value);
            checker.add(fmt::format("{} and {} threads", counts[0], count), (*want)[i].name,
                        difference);
        }
    }
    return checker.finish();
}

}  // namespace

Result<int> run_command(const Options& options, const OptionValues& values) {
    Runtime runtime(values.runtime);
    SessionLoad load;
    if (options.given("deadline")) {
        load.first_run.deadline = std::chrono::nanoseconds(options.nanoseconds("deadline", 1e6));
    }
    Opened opened = open_for(runtime, options, values.compile, backends_of(options), load);
    if (!opened.session) {
        return opened.exit_code;
    }
    const Session& session = *opened.session;
    Result<std::vector<NamedValue>> outputs = outputs_of(session);
    if (!outputs.ok()) {
        return report_error(outputs.error(), true);
    }
    if (std::string folder = options.text("save"); !folder.empty()) {
        bool as_npy = options.text("save-format") == "npy";
        LEAT_RETURN_IF_ERROR(save_values(session.inputs, folder, "input", as_npy));
        LEAT_RETURN_IF_ERROR(save_values(*outputs, folder, "output", as_npy));
    }
    Json json = Json::object();
    std::string text = fmt::format("{}  {}\n", session.name, session.compiled.report().summary());
    for (const NamedValue& input : session.inputs) {
        text += fmt::format("input  {}  {}\n", input.name, describe_value(input.value));
    }
    for (const NamedValue& output : *outputs) {
        text += fmt::format("output {}  {}\n", output.name, describe_value(output.value));
    }
    json.set("schema", kSchema).set("target", session.name);
    json.set("pages", pages_json(session.request->placement_report()));
    json.set("inputs", json_list(session.inputs, value_json));
    json.set("outputs", json_list(*outputs, value_json));
    int exit_code = kExitOk;
    if (!write_json(options, json, &exit_code)) {
        print_out("{}", text);
    }
    return exit_code;
}

Result<int> check_command(const Options& options, const OptionValues& values) {
    if (is_compiled_file(options.positional()[0])) {
        return usage_error(options, "compiles the model that it checks; the target is compiled");
    }
    if (options.given("threads-sweep") && options.given("against")) {
        return usage_error(options, "compares one way at a time: --against or --threads-sweep");
    }
    if (options.given("threads-sweep")) {
        return check_threads(options, values);
    }
    if (options.given("against")) {
        return check_against(options, values, options.text("against"));
    }
    for (const std::string_view name : {"input", "inputs"}) {
        if (options.given(name)) {
            return usage_error(options,
                               fmt::format("--{} is for --against and --threads-sweep: stored "
                                           "outputs are of stored inputs",
                                           name));
        }
    }
    std::filesystem::path folder = options.positional()[0];
    if (!is_runnable(folder)) {
        folder = folder.parent_path();
    }
    if (!is_runnable(folder)) {
        return usage_error(options,
                           "the target has no test_data_set_* or expected_error.txt beside it; use "
                           "--against BACKEND or --threads-sweep LIST");
    }
    return check_in_worker(options, values, folder);
}

}  // namespace leat::bench
