// Results of a conformance run for other tools: JUnit's XML, which servers that build read, and a
// table in Markdown.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "leat/conformance.h"

namespace leat::bench {

// "passed", "failed", "unsupported", "not_compared".
std::string_view status_of(ConformanceVerdict verdict);

// One <testsuite> called after the backends. Unsupported tests are failures, as they are in the
// totals; tests that are not compared are skipped ones.
std::string junit_text(std::span<const ConformanceTest> tests, std::string_view backends);

// A row of totals, and one for each test that did not pass.
std::string markdown_text(std::span<const ConformanceTest> tests, std::string_view backends);

}  // namespace leat::bench
