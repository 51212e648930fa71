#include "conformance_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "markup.h"

namespace leat::bench {
namespace {

int64_t count_of(std::span<const ConformanceTest> tests, ConformanceVerdict verdict) {
    return std::count_if(tests.begin(), tests.end(), [verdict](const ConformanceTest& test) {
        return test.verdict == verdict;
    });
}

double seconds_of(const ConformanceTest& test) {
    return double(test.time_ns) * 1e-9;
}

// In a cell of a table: one line, and no end of the cell.
std::string cell(std::string_view text) {
    std::string cell;
    for (const char letter : text) {
        if (letter == '|') {
            cell += '\\';
        }
        cell += letter == '\n' || letter == '\r' ? ' ' : letter;
    }
    return cell;
}

std::string junit_end(const ConformanceTest& test) {
    switch (test.verdict) {
        case ConformanceVerdict::kPassed:
            return "/>\n";
        case ConformanceVerdict::kNotCompared:
            return fmt::format("><skipped message=\"{}\"/></testcase>\n", xml_escaped(test.reason));
        default:
            return fmt::format("><failure type=\"{}\" message=\"{}\"/></testcase>\n",
                               status_of(test.verdict), xml_escaped(test.reason));
    }
}

}  // namespace

std::string_view status_of(ConformanceVerdict verdict) {
    switch (verdict) {
        case ConformanceVerdict::kPassed:
            return "passed";
        case ConformanceVerdict::kUnsupported:
            return "unsupported";
        case ConformanceVerdict::kNotCompared:
            return "not_compared";
        case ConformanceVerdict::kFailed:
            break;
    }
    return "failed";
}

std::string junit_text(std::span<const ConformanceTest> tests, std::string_view backends) {
    double seconds = 0;
    for (const ConformanceTest& test : tests) {
        seconds += seconds_of(test);
    }
    const int64_t failures = count_of(tests, ConformanceVerdict::kFailed) +
                             count_of(tests, ConformanceVerdict::kUnsupported);
    std::string text = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" "
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.6f}\">\n",
        xml_escaped(backends), tests.size(), failures,
        count_of(tests, ConformanceVerdict::kNotCompared), seconds);
    for (const ConformanceTest& test : tests) {
        text += fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"",
                            xml_escaped(backends), xml_escaped(test.name), seconds_of(test));
        text += junit_end(test);
    }
    return text + "</testsuite>\n</testsuites>\n";
}

std::string markdown_text(std::span<const ConformanceTest> tests, std::string_view backends) {
    std::string text = fmt::format(
        "| backend | tests | passed | failed | unsupported | not compared |\n"
        "|---|---|---|---|---|---|\n| {} | {} | {} | {} | {} | {} |\n",
        cell(backends), tests.size(), count_of(tests, ConformanceVerdict::kPassed),
        count_of(tests, ConformanceVerdict::kFailed),
        count_of(tests, ConformanceVerdict::kUnsupported),
        count_of(tests, ConformanceVerdict::kNotCompared));
    if (count_of(tests, ConformanceVerdict::kPassed) == int64_t(tests.size())) {
        return text;
    }
    text += "\n| test | result | reason |\n|---|---|---|\n";
    for (const ConformanceTest& test : tests) {
        if (test.verdict != ConformanceVerdict::kPassed) {
            text += fmt::format("| {} | {} | {} |\n", cell(test.name), status_of(test.verdict),
                                cell(test.reason));
        }
    }
    return text;
}

}  // namespace leat::bench
