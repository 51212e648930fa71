#include "leat/conformance.h"

#include <algorithm>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "conformance/layout_test.h"

namespace leat {
namespace {

Result<ConformanceReport> run_all(const Runtime& runtime,
                                  const std::filesystem::path& folder,
                                  const ConformanceOptions& options) {
    LEAT_ASSIGN_OR_RETURN(const FoundTests found, find_layout_tests(folder));
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
            report.tests.push_back(run_conformance_test(runtime, test, options));
            if (options.on_result) {
                options.on_result(report.tests.back());
            }
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
