#include "leat/conformance.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "conformance/layout_test.h"

namespace leat {
namespace {

bool is_selected(const std::string& name, const std::vector<std::string>& filters) {
    return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const auto& filter) {
               return name.find(filter) != std::string::npos;
           });
}

ConformanceTest run_test(const Runtime& runtime,
                         const TestFolder& test,
                         const ConformanceOptions& options,
                         const CompileOptions& compile) {
    Tolerance tolerance = tolerance_of(test.folder);
    tolerance.relative = options.relative_tolerance.value_or(tolerance.relative);
    tolerance.absolute = options.absolute_tolerance.value_or(tolerance.absolute);
    TestOutcome outcome = run_layout_test(runtime, test.folder, compile, tolerance);
    const ConformanceVerdict verdict = outcome.passed        ? ConformanceVerdict::kPassed
                                       : outcome.unsupported ? ConformanceVerdict::kUnsupported
                                                             : ConformanceVerdict::kFailed;
    return {test.name, verdict, std::move(outcome.reason), outcome.time_ns};
}

Result<ConformanceReport> run_all(const Runtime& runtime,
                                  const std::filesystem::path& folder,
                                  const ConformanceOptions& options) {
    const FoundTests found = find_layout_tests(folder);
    if (found.runnable.empty()) {
        return not_found("no folder with model.onnx and test_data_set_* in it")
            .with_file(folder.string());
    }
    CompileOptions compile = options.compile;
    compile.fallback = Fallback::kForbid;
    ConformanceReport report;
    report.tests.reserve(found.runnable.size());
    report.names.reserve(found.runnable.size());
    report.without_data.reserve(found.without_data.size());
    for (const TestFolder& test : found.without_data) {
        report.without_data.push_back(test.name);
    }
    for (const TestFolder& test : found.runnable) {
        if (is_selected(test.name, options.filters)) {
            if (options.on_test) {
                options.on_test(test.name, report.names.size(), found.runnable.size());
            }
            report.tests.push_back(run_test(runtime, test, options, compile));
        }
        report.names.push_back(test.name);
    }
    return report;
}

}  // namespace

int64_t ConformanceReport::count(ConformanceVerdict verdict) const {
    return std::count_if(tests.begin(), tests.end(), [verdict](const ConformanceTest& test) {
        return test.verdict == verdict;
    });
}

Result<ConformanceReport> run_conformance(const Runtime& runtime,
                                          const std::string& folder,
                                          const ConformanceOptions& options) {
    return catch_bad_alloc("run the tests", [&] { return run_all(runtime, folder, options); });
}

}  // namespace leat
