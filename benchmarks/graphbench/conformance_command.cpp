// graphbench conformance: the strict official rule on folders of tests.
#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "commands.h"
#include "exit_codes.h"
#include "files.h"
#include "interruption.h"
#include "layout_test.h"
#include "progress.h"
#include "result.h"
#include "target.h"

namespace leat::bench {
namespace {

struct Tally {
    int64_t passed = 0;
    int64_t failed = 0;  // with the unsupported ones
    int64_t unsupported = 0;
    int64_t without_data = 0;
    std::set<std::string> passed_names;
    Json tests = Json::array();
    std::string report;  // a line for each failing test
};

bool is_selected(const std::string& name, const Options& options) {
    const std::vector<std::string>& filters = options.list("filter");
    for (const std::string& filter : filters) {
        if (name.find(filter) != std::string::npos) {
            return true;
        }
    }
    return filters.empty();
}

void count_outcome(Tally& tally, const std::string& name, const TestOutcome& outcome) {
    const char* status = outcome.passed ? "passed" : outcome.unsupported ? "unsupported" : "failed";
    Json entry = Json::object();
    entry.set("name", name).set("status", status).set("time_ns", outcome.time_ns);
    if (outcome.passed) {
        ++tally.passed;
        tally.passed_names.insert(name);
    } else {
        ++tally.failed;
        tally.unsupported += outcome.unsupported ? 1 : 0;
        tally.report += fmt::format("{} {}: {}\n", outcome.unsupported ? "UNSUPPORTED" : "FAILED",
                                    name, outcome.reason);
        entry.set("reason", outcome.reason);
    }
    tally.tests.push(std::move(entry));
}

// Names in the file of --expected, one a line; '#' begins a comment.
Result<std::vector<std::string>> read_names(const std::string& file) {
    Result<std::string> text = read_text_file(file);
    if (!text.ok()) {
        return text.error();
    }
    std::vector<std::string> names;
    std::istringstream lines(*text);
    std::string line;
    while (std::getline(lines, line)) {
        line = line.substr(0, line.find('#'));
        line = line.substr(0, line.find_last_not_of(" \r\t") + 1);
        if (!line.empty()) {
            names.push_back(line);
        }
    }
    return names;
}

// Exit code by the list of tests that must pass. Listed tests that the folder lacks (another
// version of the suite) do not count.
int check_expected(const Tally& tally,
                   const std::set<std::string>& present,
                   const std::string& file) {
    Result<std::vector<std::string>> names = read_names(file);
    if (!names.ok()) {
        return report_error(names.error());
    }
    int64_t absent = 0;
    int64_t broken = 0;
    for (const std::string& name : *names) {
        if (present.count(name) == 0) {
            ++absent;
        } else if (tally.passed_names.count(name) == 0) {
            ++broken;
            fmt::print(stderr, "graphbench: expected to pass: {}\n", name);
        }
    }
    fmt::print(
        stderr,
        "expected {}: {} of them passed, {} failed, {} not in this folder; {} passed beside\n",
        names->size(), int64_t(names->size()) - absent - broken, broken, absent,
        tally.passed - (int64_t(names->size()) - absent - broken));
    return broken == 0 ? kExitOk : kExitRegression;
}

Status write_passed(const Tally& tally, const std::string& file) {
    std::string text;
    for (const std::string& name : tally.passed_names) {
        text += name + "\n";
    }
    return write_text_file(file, text);
}

int report_tally(const Tally& tally, const std::set<std::string>& present, const Options& options) {
    int exit_code = tally.failed == 0 ? kExitOk : kExitRegression;
    Json json = Json::object();
    json.set("schema", kSchema);
    json.set("backend", backends_of(options));
    json.set("total", tally.passed + tally.failed);
    json.set("passed", tally.passed).set("failed", tally.failed);
    json.set("unsupported", tally.unsupported).set("without_data", tally.without_data);
    json.set("tests", tally.tests);
    if (!write_json(options, json, &exit_code)) {
        fmt::print("{}", tally.report);
        fmt::print("total {}  passed {}  failed {}  (unsupported {} of them)  backend {}\n",
                   tally.passed + tally.failed, tally.passed, tally.failed, tally.unsupported,
                   backends_of(options));
        if (tally.without_data > 0) {
            fmt::print("{} more are not runnable: no model or no data beside it\n",
                       tally.without_data);
        }
    }
    if (std::string file = options.text("list-passed"); !file.empty()) {
        if (Status status = write_passed(tally, file); !status.ok()) {
            return report_error(status);
        }
    }
    if (std::string file = options.text("expected"); !file.empty()) {
        return check_expected(tally, present, file);
    }
    return exit_code;
}

}  // namespace

int conformance_command(const Options& options) {
    if (options.positional().empty()) {
        return usage_error(options,
                           "needs a DIR with folders that hold model.onnx and test_data_set_*");
    }
    Result<RuntimeOptions> wanted = runtime_options(options);
    Result<CompileOptions> compile = compile_options(options);
    if (!wanted.ok() || !compile.ok()) {
        return usage_error(options, wanted.ok() ? compile.error().text() : wanted.error().text());
    }
    // A test counts for the backend that runs it alone.
    compile->fallback = Fallback::kForbid;
    Runtime runtime(*wanted);
    if (Status status = check_backends(runtime, backends_of(options)); !status.ok()) {
        report_error(status);
        return kExitDevice;
    }
    std::vector<TestFolder> tests;
    Tally tally;
    for (const std::string& root : options.positional()) {
        FoundTests found = find_layout_tests(root);
        // Roots may hold tests of the same name.
        std::filesystem::path stem = std::filesystem::path(root).lexically_normal();
        std::string prefix =
            (stem.has_filename() ? stem : stem.parent_path()).filename().string() + "/";
        for (TestFolder& test : found.runnable) {
            test.name = options.positional().size() > 1 ? prefix + test.name : test.name;
        }
        tests.insert(tests.end(), found.runnable.begin(), found.runnable.end());
        tally.without_data += int64_t(found.without_data.size());
    }
    if (tests.empty()) {
        fmt::print(stderr, "graphbench: no test in {}\n", options.positional()[0]);
        return kExitTarget;
    }
    bool show = options.text("progress") != "never" && !options.flag("quiet");
    std::set<std::string> present;
    {
        Progress progress("conformance", show);
        for (size_t i = 0; i < tests.size(); ++i) {
            progress.update(double(i) / double(tests.size()), tests[i].name);
            present.insert(tests[i].name);
            if (!is_selected(tests[i].name, options)) {
                continue;
            }
            const Activity activity(
                fmt::format("testing '{}', {} of {} done", tests[i].name, i, tests.size()));
            Tolerance tolerance = tolerance_of(tests[i].folder);
            tolerance.relative = options.number("rtol", tolerance.relative);
            tolerance.absolute = options.number("atol", tolerance.absolute);
            count_outcome(tally, tests[i].name,
                          run_layout_test(runtime, tests[i].folder, *compile, tolerance));
        }
    }
    return report_tally(tally, present, options);
}

}  // namespace leat::bench
