#include "conformance/layout_test.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "base/monotonic_clock.h"
#include "base/text_file.h"
#include "conformance/data_sets.h"
#include "leat/onnx.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

// Runs one data set; appends a check for each output.
Status run_data_set(const Graph& graph,
                    Request& request,
                    const fs::path& data_set,
                    Tolerance tolerance,
                    std::vector<OutputCheck>& checks) {
    LEAT_ASSIGN_OR_RETURN(std::vector<NamedValue> inputs, load_inputs(graph, data_set));
    LEAT_ASSIGN_OR_RETURN(std::vector<NamedValue> wanted, load_outputs(graph, data_set));
    size_t output_count = graph.outputs().size();
    if (wanted.size() != output_count) {
        return invalid_argument("the graph has {} outputs, the data set {}", output_count,
                                wanted.size());
    }
    for (const NamedValue& input : inputs) {
        LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
    }
    LEAT_RETURN_IF_ERROR(request.run());
    for (const NamedValue& want : wanted) {
        LEAT_ASSIGN_OR_RETURN(Value got, request.output(want.name));
        checks.push_back(
            {data_set.filename().string(), want.name, compare_values(got, want.value, tolerance)});
    }
    return Status();
}

Status run_all(const Runtime& runtime,
               const fs::path& folder,
               const CompileOptions& compile,
               Tolerance tolerance,
               std::vector<OutputCheck>& checks) {
    LEAT_ASSIGN_OR_RETURN(Graph graph, load_onnx(folder / "model.onnx"));
    LEAT_ASSIGN_OR_RETURN(CompiledGraph compiled, runtime.compile(graph, compile));
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    for (const fs::path& data_set : data_sets_of(folder)) {
        Status status = run_data_set(graph, request, data_set, tolerance, checks);
        if (!status.ok()) {
            return std::move(status).with_file(data_set.string());
        }
    }
    return Status();
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
    int64_t begin = monotonic_ns();
    Status status = run_all(runtime, folder, compile, tolerance, outcome.outputs);
    outcome.time_ns = monotonic_ns() - begin;
    if (!status.ok()) {
        outcome.unsupported =
            status.code() == StatusCode::kUnsupported || status.code() == StatusCode::kPlacement;
        outcome.reason = status.message();
        return outcome;
    }
    for (const OutputCheck& check : outcome.outputs) {
        if (!check.difference.matches) {
            outcome.reason = fmt::format("{}: output '{}': {}", check.data_set, check.output,
                                         check.difference.reason);
            return outcome;
        }
    }
    outcome.passed = true;
    return outcome;
}

FoundTests find_layout_tests(const fs::path& root) {
    FoundTests found;
    std::error_code error;
    auto consider = [&](const fs::path& folder) {
        bool has_model = fs::exists(folder / "model.onnx", error);
        if (!has_model && !fs::exists(folder / "data.json", error)) {
            return;
        }
        std::string name = folder.lexically_relative(root).generic_string();
        TestFolder test{name == "." ? folder.filename().string() : name, folder};
        bool runnable = has_model && !data_sets_of(folder).empty();
        (runnable ? found.runnable : found.without_data).push_back(std::move(test));
    };
    consider(root);
    fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
        std::error_code ignored;
        if (it->is_directory(ignored)) {
            consider(it->path());
        }
    }
    auto by_name = [](const TestFolder& a, const TestFolder& b) { return a.name < b.name; };
    std::sort(found.runnable.begin(), found.runnable.end(), by_name);
    std::sort(found.without_data.begin(), found.without_data.end(), by_name);
    return found;
}

}  // namespace leat
