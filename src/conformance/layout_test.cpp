#include "conformance/layout_test.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/json.h"
#include "base/monotonic_clock.h"
#include "conformance/data_sets.h"
#include "conformance/expected_error.h"
#include "leat/onnx.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

// A model that is ready to run.
struct Prepared {
    Graph graph;
    CompiledGraph compiled;
};

Result<Prepared> prepare(const Runtime& runtime,
                         const fs::path& folder,
                         const CompileOptions& compile) {
    LEAT_ASSIGN_OR_RETURN(Graph graph, load_onnx(folder / "model.onnx"));
    LEAT_ASSIGN_OR_RETURN(CompiledGraph compiled, runtime.compile(graph, compile));
    return Prepared{std::move(graph), std::move(compiled)};
}

// In a request of its own: one that has bound a default input does not give it up for the next set.
// `is_running`, where it is asked for, stays true after an error of the run itself.
Result<Request> run_inputs(const CompiledGraph& compiled,
                           const std::vector<NamedValue>& inputs,
                           bool* is_running = nullptr) {
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    for (const NamedValue& input : inputs) {
        LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
    }
    if (is_running != nullptr) {
        *is_running = true;
    }
    LEAT_RETURN_IF_ERROR(request.run());
    if (is_running != nullptr) {
        *is_running = false;
    }
    return request;
}

// Runs one data set; appends a check for each output.
Status run_data_set(const Prepared& prepared,
                    const fs::path& data_set,
                    Tolerance tolerance,
                    TestOutcome& outcome) {
    LEAT_ASSIGN_OR_RETURN(std::vector<NamedValue> inputs, load_inputs(prepared.graph, data_set));
    LEAT_ASSIGN_OR_RETURN(std::vector<NamedValue> wanted, load_outputs(prepared.graph, data_set));
    size_t output_count = prepared.graph.outputs().size();
    if (wanted.size() != output_count) {
        return invalid_argument("the graph has {} outputs, the data set {}", output_count,
                                wanted.size());
    }
    LEAT_ASSIGN_OR_RETURN(const Request request,
                          run_inputs(prepared.compiled, inputs, &outcome.failed_at_run));
    for (const NamedValue& want : wanted) {
        LEAT_ASSIGN_OR_RETURN(Value got, request.output(want.name));
        outcome.outputs.push_back(
            {data_set.filename().string(), want.name, compare_values(got, want.value, tolerance)});
    }
    return Status();
}

Status run_all(const Runtime& runtime,
               const fs::path& folder,
               const CompileOptions& compile,
               Tolerance tolerance,
               TestOutcome& outcome) {
    LEAT_ASSIGN_OR_RETURN(const Prepared prepared, prepare(runtime, folder, compile));
    for (const fs::path& data_set : data_sets_of(folder)) {
        LEAT_RETURN_IF_ERROR(
            run_data_set(prepared, data_set, tolerance, outcome).with_file(data_set.string()));
    }
    return Status();
}

bool is_unsupported(const Status& status) {
    return status.code() == StatusCode::kUnsupported || status.code() == StatusCode::kPlacement;
}

void run_comparing(const Runtime& runtime,
                   const fs::path& folder,
                   const CompileOptions& compile,
                   Tolerance tolerance,
                   TestOutcome& outcome) {
    const Status status = run_all(runtime, folder, compile, tolerance, outcome);
    if (!status.ok()) {
        outcome.error = status;
        outcome.verdict =
            is_unsupported(status) ? ConformanceVerdict::kUnsupported : ConformanceVerdict::kFailed;
        outcome.reason = status.message();
        return;
    }
    for (const OutputCheck& check : outcome.outputs) {
        if (!check.difference.matches) {
            outcome.reason = fmt::format("{}: output '{}': {}", check.data_set, check.output,
                                         check.difference.reason);
            return;
        }
    }
    outcome.verdict = ConformanceVerdict::kPassed;
}

// Each data set in turn: its error, or success; one of the model counts for all. Where a file of a
// data set cannot be read, an error of this function.
Result<std::vector<std::pair<std::string, Status>>> run_for_errors(const Runtime& runtime,
                                                                   const fs::path& folder,
                                                                   const CompileOptions& compile) {
    std::vector<std::pair<std::string, Status>> ends;
    const Result<Prepared> prepared = prepare(runtime, folder, compile);
    if (!prepared.ok()) {
        ends.emplace_back("the model", prepared.error());
        return ends;
    }
    for (const fs::path& data_set : data_sets_of(folder)) {
        Result<std::vector<NamedValue>> inputs = load_inputs(prepared->graph, data_set);
        if (!inputs.ok()) {
            return std::move(inputs).error().with_file(data_set.string());
        }
        ends.emplace_back(data_set.filename().string(),
                          run_inputs(prepared->compiled, *inputs).error());
    }
    if (ends.empty()) {
        ends.emplace_back("the model", Status());
    }
    return ends;
}

void run_expecting(const Runtime& runtime,
                   const fs::path& folder,
                   const CompileOptions& compile,
                   const ExpectedError& expected,
                   TestOutcome& outcome) {
    const auto ends = run_for_errors(runtime, folder, compile);
    if (!ends.ok()) {
        outcome.reason = ends.error().message();
        return;
    }
    for (const auto& [what, status] : *ends) {
        if (status.ok()) {
            outcome.reason = fmt::format("{} gives no error; needed one that matches {}", what,
                                         expected.patterns());
            return;
        }
        if (const std::string pattern = expected.unmatched(status, folder); !pattern.empty()) {
            outcome.reason = fmt::format("the error of {} does not match {}: {}", what, pattern,
                                         status.message());
            return;
        }
    }
    outcome.verdict = ConformanceVerdict::kPassed;
}

// What expected.txt says can be judged by a reader only, but the model has to survive it.
void run_uncompared(const Runtime& runtime,
                    const fs::path& folder,
                    const CompileOptions& compile,
                    TestOutcome& outcome) {
    const auto ends = run_for_errors(runtime, folder, compile);
    if (!ends.ok()) {
        outcome.error = ends.error();
        outcome.reason = outcome.error.message();
        return;
    }
    const std::string words =
        read_first_line((folder / "expected.txt").string()).value_or(std::string());
    outcome.verdict = ConformanceVerdict::kNotCompared;
    outcome.reason = fmt::format(
        "there are no outputs to compare with; expected.txt says in words what is right: \"{}\"",
        words);
    for (const auto& [what, status] : *ends) {
        outcome.reason += status.ok()
                              ? fmt::format("; {} ran to its end", what)
                              : fmt::format("; {} ended with an error: {}", what, status.message());
    }
}

bool has_outputs(const fs::path& data_set) {
    std::error_code error;
    return fs::exists(data_set / "output_0.pb", error);
}

// Without outputs, where words stand for them.
bool is_in_words(const fs::path& folder) {
    const std::vector<fs::path> sets = data_sets_of(folder);
    std::error_code error;
    return fs::exists(folder / "expected.txt", error) &&
           std::none_of(sets.begin(), sets.end(), has_outputs);
}

}  // namespace

Tolerance tolerance_of(const fs::path& folder) {
    Tolerance tolerance;
    const OpenTextFile file((folder / "data.json").string());
    const std::optional<std::string> text = file.read_all();
    if (!text) {
        return tolerance;
    }
    Result<Json> json = Json::parse(*text);
    if (json.ok()) {
        tolerance.relative = (*json)["rtol"].number(tolerance.relative);
        tolerance.absolute = (*json)["atol"].number(tolerance.absolute);
    }
    return tolerance;
}

TestOutcome run_layout_test(const Runtime& runtime,
                            const fs::path& folder,
                            const CompileOptions& compile,
                            Tolerance tolerance) {
    TestOutcome outcome;
    const int64_t begin = monotonic_ns();
    const Result<std::optional<ExpectedError>> expected = ExpectedError::read(folder);
    outcome.expects_error = !expected.ok() || expected->has_value();
    if (!expected.ok()) {
        outcome.reason = expected.error().message();
    } else if (*expected) {
        run_expecting(runtime, folder, compile, **expected, outcome);
    } else if (is_in_words(folder)) {
        run_uncompared(runtime, folder, compile, outcome);
    } else {
        run_comparing(runtime, folder, compile, tolerance, outcome);
    }
    outcome.time_ns = monotonic_ns() - begin;
    return outcome;
}

ConformanceTest run_conformance_test(const Runtime& runtime,
                                     const TestFolder& test,
                                     const ConformanceOptions& options) {
    Tolerance tolerance = tolerance_of(test.folder);
    tolerance.relative = options.relative_tolerance.value_or(tolerance.relative);
    tolerance.absolute = options.absolute_tolerance.value_or(tolerance.absolute);
    CompileOptions compile = options.compile;
    compile.fallback = Fallback::kForbid;
    TestOutcome outcome = run_layout_test(runtime, test.folder, compile, tolerance);
    return {test.name, outcome.verdict, std::move(outcome.reason), outcome.time_ns};
}

bool is_selected(const std::string& name, const std::vector<std::string>& filters) {
    return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const auto& filter) {
               return name.find(filter) != std::string::npos;
           });
}

bool is_runnable(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / "model.onnx", error) &&
           (!data_sets_of(folder).empty() || fs::exists(folder / "expected_error.txt", error));
}

Result<FoundTests> find_layout_tests(const fs::path& root) {
    FoundTests found;
    std::error_code error;
    auto consider = [&](const fs::path& folder) {
        if (!fs::exists(folder / "model.onnx", error) && !fs::exists(folder / "data.json", error)) {
            return;
        }
        std::string name = folder.lexically_relative(root).generic_string();
        TestFolder test{name == "." ? folder.filename().string() : name, folder};
        (is_runnable(folder) ? found.runnable : found.without_data).push_back(std::move(test));
    };
    consider(root);
    fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
        std::error_code ignored;
        if (it->is_directory(ignored)) {
            consider(it->path());
        }
    }
    if (found.runnable.empty()) {
        return not_found(
                   "no folder with model.onnx and test_data_set_* or expected_error.txt in it")
            .with_file(root.string());
    }
    auto by_name = [](const TestFolder& a, const TestFolder& b) { return a.name < b.name; };
    std::sort(found.runnable.begin(), found.runnable.end(), by_name);
    std::sort(found.without_data.begin(), found.without_data.end(), by_name);
    return found;
}

}  // namespace leat
