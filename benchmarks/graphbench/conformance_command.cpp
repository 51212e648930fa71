// graphbench conformance: the strict official rule on folders of tests.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backend_difference.h"
#include "base/error.h"
#include "base/files/new_file.h"
#include "base/files/text_file.h"
#include "commands.h"
#include "conformance/data_sets.h"
#include "conformance/layout_test.h"
#include "conformance_report.h"
#include "device_options.h"
#include "exit_codes.h"
#include "files.h"
#include "interruption.h"
#include "leat/conformance.h"
#include "leat/onnx.h"
#include "machine.h"
#include "output.h"
#include "progress.h"
#include "result.h"
#include "target.h"
#include "worker.h"

namespace leat::bench {
namespace {

struct NamedTest {
    std::string name;  // with that of its root, where there are several
    TestFolder folder;
};

struct Suite {
    std::vector<NamedTest> tests;   // those that are run
    std::set<std::string> present;  // all that can be run
    std::vector<std::string> without_data;
};

// Writes each result as soon as it is there, and says on standard output which tests did not pass.
// The file of --json appears under its name when it is complete; pipes and devices get each result
// at once.
class Results {
  public:
    explicit Results(const Options& options)
        : backends_(backends_of(options)), file_(options.text("json")) {}
    void add(const ConformanceTest& test);
    // Totals; of an interrupted run those so far, if there are any. Errors: the file cannot be
    // written.
    Status finish(const std::vector<std::string>& without_data, bool is_whole);

    // What --junit and --markdown ask for.
    Status write_reports(const Options& options) const;

    int64_t failed() const { return failed_; }
    int64_t passed() const { return int64_t(passed_names_.size()); }
    int64_t total() const { return passed() + failed_ + not_compared_; }
    const std::set<std::string>& passed_names() const { return passed_names_; }

  private:
    bool takes_stdout() const { return file_ == "-"; }
    // Not before there is a result: whoever cannot begin writes nothing.
    void open() {
        if (file_.empty() || is_open_) {
            return;
        }
        is_open_ = true;
        if (!takes_stdout()) {
            error_ = out_.emplace(file_).status();
        }
        write(fmt::format("{{\n  \"schema\": {},\n  \"backend\": {},\n  \"tests\": [", kSchema,
                          Json(backends_).dump(-1)));
    }
    void write(std::string_view text) {
        if (!is_open_ || !error_.ok()) {
            return;
        }
        if (takes_stdout()) {
            print_text(text);
            (void)flush_output();
        } else {
            error_ = write_all(out_->descriptor(), std::as_bytes(std::span(text)));
        }
    }
    void write_totals(int64_t without_data, bool is_whole);

    std::string backends_;
    std::string file_;
    bool is_open_ = false;
    std::optional<NewFile> out_;  // unless it is standard output
    Status error_;                // the first of the file
    int64_t failed_ = 0;          // with the unsupported ones
    int64_t unsupported_ = 0;
    int64_t not_compared_ = 0;
    std::set<std::string> passed_names_;
    std::vector<ConformanceTest> tests_;
};

std::string_view heading_of(ConformanceVerdict verdict) {
    switch (verdict) {
        case ConformanceVerdict::kUnsupported:
            return "UNSUPPORTED";
        case ConformanceVerdict::kNotCompared:
            return "NOT COMPARED";
        default:
            return "FAILED";
    }
}

void Results::add(const ConformanceTest& test) {
    const bool has_passed = test.verdict == ConformanceVerdict::kPassed;
    const bool is_unsupported = test.verdict == ConformanceVerdict::kUnsupported;
    Json entry = Json::object();
    entry.set("name", test.name).set("status", status_of(test.verdict));
    entry.set("time_ns", test.time_ns);
    if (!has_passed) {
        entry.set("reason", test.reason);
    }
    tests_.push_back(test);
    open();
    write((total() == 0 ? "\n    " : ",\n    ") + entry.dump(-1));
    if (has_passed) {
        passed_names_.insert(test.name);
    } else if (test.verdict == ConformanceVerdict::kNotCompared) {
        ++not_compared_;
    } else {
        ++failed_;
        unsupported_ += is_unsupported ? 1 : 0;
    }
    if (!has_passed && !takes_stdout()) {
        print_out("{} {}: {}\n", heading_of(test.verdict), test.name, test.reason);
        (void)flush_output();
    }
}

void Results::write_totals(int64_t without_data, bool is_whole) {
    const std::pair<const char*, int64_t> totals[] = {{"total", total()},
                                                      {"passed", passed()},
                                                      {"failed", failed_},
                                                      {"unsupported", unsupported_},
                                                      {"not_compared", not_compared_},
                                                      {"without_data", without_data}};
    write("\n  ]");
    for (const auto& [name, count] : totals) {
        write(fmt::format(",\n  \"{}\": {}", name, count));
    }
    write(is_whole ? "\n}\n" : ",\n  \"interrupted\": true\n}\n");
}

Status Results::finish(const std::vector<std::string>& without_data, bool is_whole) {
    if (total() == 0 && !is_whole) {
        return {};
    }
    open();
    write_totals(int64_t(without_data.size()), is_whole);
    if (!takes_stdout()) {
        print_out("total {}  passed {}  failed {}  (unsupported {} of them)  backend {}\n", total(),
                  passed(), failed_, unsupported_, backends_);
        if (not_compared_ > 0) {
            print_out("{} of them ran and are not compared: what is right is said in words\n",
                      not_compared_);
        }
        if (!without_data.empty()) {
            constexpr size_t kMostNames = 9;
            const auto begin = without_data.begin();
            const auto end = begin + std::ptrdiff_t(std::min(without_data.size(), kMostNames));
            print_out("{} more are not runnable, without a model or without data: {}{}\n",
                      without_data.size(), fmt::join(begin, end, ", "),
                      end == without_data.end() ? "" : ", ...");
        }
    }
    if (error_.ok() && out_) {
        error_ = out_->commit();
    }
    return Status(error_).with_file(file_);
}

Status Results::write_reports(const Options& options) const {
    if (const std::string file = options.text("junit"); !file.empty()) {
        LEAT_RETURN_IF_ERROR(write_text_file(file, junit_text(tests_, backends_)));
    }
    if (const std::string file = options.text("markdown"); !file.empty()) {
        LEAT_RETURN_IF_ERROR(write_text_file(file, markdown_text(tests_, backends_)));
    }
    return {};
}

// Names in the file of --expected, one a line; '#' begins a comment.
Result<std::vector<std::string>> read_names(const std::string& file) {
    LEAT_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
    std::vector<std::string> names;
    for (std::string line : split(text, '\n')) {
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
int check_expected(const std::set<std::string>& passed,
                   const std::set<std::string>& present,
                   const std::vector<std::string>& expected) {
    int64_t absent = 0;
    int64_t broken = 0;
    for (const std::string& name : expected) {
        if (present.count(name) == 0) {
            ++absent;
        } else if (passed.count(name) == 0) {
            ++broken;
            print_err("graphbench: expected to pass: {}\n", name);
        }
    }
    print_err(
        "expected {}: {} of them passed, {} failed, {} not in this folder; {} passed beside\n",
        expected.size(), int64_t(expected.size()) - absent - broken, broken, absent,
        int64_t(passed.size()) - (int64_t(expected.size()) - absent - broken));
    return broken == 0 ? kExitOk : kExitRegression;
}

Status write_passed(const std::set<std::string>& passed, const std::string& file) {
    std::string text;
    for (const std::string& name : passed) {
        text += name + "\n";
    }
    return write_text_file(file, text);
}

// Roots may hold tests of the same name: with several, the name of the root comes before.
std::string prefix_of(const std::string& root, const Options& options) {
    if (options.positional().size() < 2) {
        return {};
    }
    const std::filesystem::path stem = std::filesystem::path(root).lexically_normal();
    return (stem.has_filename() ? stem : stem.parent_path()).filename().string().append("/");
}

// --filter selects by a part of the name below the root, --only by the whole name as it is told.
bool is_wanted(const Options& options, const std::string& below_root, const std::string& name) {
    const std::vector<std::string>& only = options.list("only");
    return is_selected(below_root, options.list("filter")) &&
           (only.empty() || std::find(only.begin(), only.end(), name) != only.end());
}

Result<Suite> find_suite(const Options& options) {
    Suite suite;
    for (const std::string& root : options.positional()) {
        LEAT_ASSIGN_OR_RETURN(FoundTests found, find_layout_tests(root));
        const std::string prefix = prefix_of(root, options);
        for (TestFolder& test : found.runnable) {
            const std::string name = prefix + test.name;
            suite.present.insert(name);
            if (is_wanted(options, test.name, name)) {
                suite.tests.push_back({name, std::move(test)});
            }
        }
        for (const TestFolder& test : found.without_data) {
            suite.without_data.push_back(prefix + test.name);
        }
    }
    return suite;
}

// One test whose outputs are judged by another backend's, whatever the data set says.
Result<std::string> mismatch_with(const BackendPair& pair, const TestFolder& test) {
    LEAT_ASSIGN_OR_RETURN(const Graph graph, load_onnx(test.folder / "model.onnx"));
    for (const std::filesystem::path& data_set : data_sets_of(test.folder)) {
        LEAT_ASSIGN_OR_RETURN(const std::vector<NamedValue> inputs, load_inputs(graph, data_set));
        LEAT_ASSIGN_OR_RETURN(const auto found, backend_difference(pair, graph, inputs));
        if (found) {
            return fmt::format("{}: output '{}': {}; {}", data_set.filename().string(),
                               found->output, found->reason,
                               found->node.empty() ? "no part of the graph differs alone"
                                                   : "it begins at " + found->node);
        }
    }
    return std::string();
}

ConformanceTest run_against(const Runtime& runtime,
                            const TestFolder& test,
                            const ConformanceOptions& options,
                            const std::string& other) {
    BackendPair pair{runtime, options.compile, options.compile, options.relative_tolerance,
                     options.absolute_tolerance};
    pair.ours.fallback = Fallback::kForbid;
    pair.theirs.fallback = Fallback::kForbid;
    pair.theirs.devices = other;
    const int64_t begin = now_ns();
    Result<std::string> mismatch = mismatch_with(pair, test);
    ConformanceTest result{test.name, ConformanceVerdict::kPassed};
    if (!mismatch.ok()) {
        const StatusCode code = mismatch.error().code();
        result.verdict = code == StatusCode::kUnsupported || code == StatusCode::kPlacement
                             ? ConformanceVerdict::kUnsupported
                             : ConformanceVerdict::kFailed;
        result.reason = mismatch.error().message();
    } else if (!mismatch->empty()) {
        result.verdict = ConformanceVerdict::kFailed;
        result.reason = *std::move(mismatch);
    }
    result.time_ns = now_ns() - begin;
    return result;
}

std::string to_text(const ConformanceTest& test) {
    return Json::object()
        .set("verdict", int64_t(test.verdict))
        .set("reason", test.reason)
        .set("time_ns", test.time_ns)
        .dump(-1);
}

ConformanceTest test_of(const std::string& name, const JobEnd& end) {
    ConformanceTest test{name, ConformanceVerdict::kFailed, {}, end.time_ns};
    if (const Result<Json> json = Json::parse(end.result); json.ok()) {
        test.verdict = ConformanceVerdict((*json)["verdict"].integer());
        test.reason = (*json)["reason"].text();
        test.time_ns = (*json)["time_ns"].integer();
        if (!end.failure.empty()) {
            test.reason =
                fmt::format("{}, after the test, which {}{}{}", end.failure,
                            status_of(test.verdict), test.reason.empty() ? "" : ": ", test.reason);
        }
    } else {
        test.reason = end.failure;
    }
    if (!end.failure.empty()) {
        test.verdict = ConformanceVerdict::kFailed;
    }
    return test;
}

// Workers side by side would bind their threads to the same cores: each has one that may move,
// unless the options say something else.
RuntimeOptions shared_out(RuntimeOptions wanted, const Options& options) {
    if (options.integer("jobs", 1) > 1) {
        wanted.pin_threads = options.given("pin") && wanted.pin_threads;
        wanted.threads = options.given("threads") ? wanted.threads : 1;
    }
    return wanted;
}

int run_suite(const Suite& suite,
              const ConformanceOptions& conformance,
              const RuntimeOptions& wanted,
              const Options& options,
              Results& results) {
    const bool show = options.text("progress") != "never" && !options.flag("quiet");
    Progress progress("conformance", show);
    std::optional<Activity> activity;
    WorkerJobs jobs;
    jobs.count = suite.tests.size();
    jobs.workers = size_t(options.integer("jobs", 1));
    jobs.on_begin = [&](size_t job) {
        const std::string& name = suite.tests[job].name;
        progress.update(double(job) / double(jobs.count), name);
        activity.reset();
        activity.emplace(fmt::format("testing '{}', {} of {} done", name, job, jobs.count));
    };
    // Several workers end tests in any order: each waits for those before it, so that results of
    // two runs can be compared line by line.
    std::map<size_t, ConformanceTest> waiting;
    size_t next = 0;
    const auto add = [&](const ConformanceTest& test) {
        if (test.verdict != ConformanceVerdict::kPassed) {
            progress.clear();
        }
        results.add(test);
    };
    jobs.on_end = [&](size_t job, const JobEnd& end) {
        waiting.emplace(job, test_of(suite.tests[job].name, end));
        for (auto first = waiting.begin(); first != waiting.end() && first->first == next; ++next) {
            add(first->second);
            first = waiting.erase(first);
        }
    };
    const std::string other = options.text("against");
    const int code =
        run_isolated(options, wanted, std::move(jobs), [&](const Runtime& runtime, size_t job) {
            const TestFolder& test = suite.tests[job].folder;
            return to_text(other.empty() ? run_conformance_test(runtime, test, conformance)
                                         : run_against(runtime, test, conformance, other));
        });
    for (const auto& [job, test] : waiting) {  // an interruption came before others
        add(test);
    }
    return code;
}

}  // namespace

Result<int> conformance_command(const Options& options, const OptionValues& values) {
    if (options.positional().empty()) {
        return usage_error(options,
                           "needs a DIR with folders that hold model.onnx and test_data_set_*");
    }
    if (options.integer("jobs", 1) > 1 && options.text("isolate") == "off") {
        return usage_error(options, "--jobs needs processes: without --isolate off");
    }
    ConformanceOptions conformance;
    conformance.compile = values.compile;
    if (options.given("rtol")) {
        conformance.relative_tolerance = options.number("rtol", 0);
    }
    if (options.given("atol")) {
        conformance.absolute_tolerance = options.number("atol", 0);
    }
    const Result<Suite> suite = find_suite(options);
    if (!suite.ok()) {
        print_err("graphbench: {}\n", suite.error().message());
        return kExitTarget;
    }
    if (suite->tests.empty() && (options.given("filter") || options.given("only"))) {
        print_err("graphbench: none of {} tests has a name that {} selects\n",
                  suite->present.size(), options.given("only") ? "--only" : "--filter");
        return kExitTarget;
    }
    if (options.flag("list")) {
        for (const NamedTest& test : suite->tests) {
            print_out("{}\n", test.name);
        }
        return kExitOk;
    }
    std::vector<std::string> expected;
    if (options.given("expected")) {
        LEAT_ASSIGN_OR_RETURN(expected, read_names(options.text("expected")));
    }
    const InterruptGuard guard;
    Results results(options);
    int exit_code =
        run_suite(*suite, conformance, shared_out(values.runtime, options), options, results);
    const bool is_whole = exit_code == kExitOk;
    LEAT_RETURN_IF_ERROR(results.finish(suite->without_data, is_whole));
    LEAT_RETURN_IF_ERROR(results.write_reports(options));
    if (std::string file = options.text("list-passed"); !file.empty()) {
        LEAT_RETURN_IF_ERROR(write_passed(results.passed_names(), file));
    }
    if (!is_whole) {
        return exit_code;
    }
    if (options.given("expected")) {
        return check_expected(results.passed_names(), suite->present, expected);
    }
    return results.failed() == 0 ? kExitOk : kExitRegression;
}

}  // namespace leat::bench
