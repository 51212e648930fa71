// graphbench conformance: the strict official rule on folders of tests.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "commands.h"
#include "exit_codes.h"
#include "files.h"
#include "interruption.h"
#include "leat/conformance.h"
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

void count_test(Tally& tally, const std::string& name, const ConformanceTest& test) {
    const bool has_passed = test.verdict == ConformanceVerdict::kPassed;
    const bool is_unsupported = test.verdict == ConformanceVerdict::kUnsupported;
    const char* status = has_passed ? "passed" : is_unsupported ? "unsupported" : "failed";
    Json entry = Json::object();
    entry.set("name", name).set("status", status).set("time_ns", test.time_ns);
    if (has_passed) {
        ++tally.passed;
        tally.passed_names.insert(name);
    } else {
        ++tally.failed;
        tally.unsupported += is_unsupported ? 1 : 0;
        tally.report += fmt::format("{} {}: {}\n", is_unsupported ? "UNSUPPORTED" : "FAILED", name,
                                    test.reason);
        entry.set("reason", test.reason);
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

// Roots may hold tests of the same name: with several, the name of the root comes before.
std::string prefix_of(const std::string& root, const Options& options) {
    if (options.positional().size() < 2) {
        return {};
    }
    const std::filesystem::path stem = std::filesystem::path(root).lexically_normal();
    return (stem.has_filename() ? stem : stem.parent_path()).filename().string().append("/");
}

Status run_folder(const Runtime& runtime,
                  const std::string& root,
                  ConformanceOptions conformance,
                  const Options& options,
                  Tally& tally,
                  std::set<std::string>& present) {
    const bool show = options.text("progress") != "never" && !options.flag("quiet");
    Progress progress("conformance", show);
    std::optional<Activity> activity;
    conformance.on_test = [&](std::string_view name, size_t done, size_t total) {
        progress.update(double(done) / double(total), std::string(name));
        activity.reset();
        activity.emplace(fmt::format("testing '{}', {} of {} done", name, done, total));
    };
    LEAT_ASSIGN_OR_RETURN(const ConformanceReport report,
                          run_conformance(runtime, root, conformance));
    const std::string prefix = prefix_of(root, options);
    for (const std::string& name : report.names) {
        present.insert(prefix + name);
    }
    for (const ConformanceTest& test : report.tests) {
        count_test(tally, prefix + test.name, test);
    }
    tally.without_data += int64_t(report.without_data.size());
    return {};
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
    Runtime runtime(*wanted);
    if (Status status = check_backends(runtime, backends_of(options)); !status.ok()) {
        report_error(status);
        return kExitDevice;
    }
    ConformanceOptions conformance;
    conformance.compile = *std::move(compile);
    conformance.filters = options.list("filter");
    if (options.given("rtol")) {
        conformance.relative_tolerance = options.number("rtol", 0);
    }
    if (options.given("atol")) {
        conformance.absolute_tolerance = options.number("atol", 0);
    }
    Tally tally;
    std::set<std::string> present;
    for (const std::string& root : options.positional()) {
        if (Status status = run_folder(runtime, root, conformance, options, tally, present);
            !status.ok()) {
            fmt::print(stderr, "graphbench: {}\n", status.message());
            return kExitTarget;
        }
    }
    return report_tally(tally, present, options);
}

}  // namespace leat::bench
