// One test in the ONNX layout: a folder with model.onnx, test_data_set_N/{input,output}_N.pb, and
// perhaps data.json, expected_error.txt or expected.txt: see leat/conformance.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/values.h"
#include "leat/runtime.h"
#include "leat/status.h"

namespace leat {

struct OutputCheck {
    std::string data_set;
    std::string output;
    Difference difference;
};

struct TestOutcome {
    ConformanceVerdict verdict = ConformanceVerdict::kFailed;
    std::string reason;          // empty when passed
    bool expects_error = false;  // expected_error.txt is there
    Status error;                // what kept outputs from being compared, if something did
    bool failed_at_run = false;  // that was in a run, and not in loading or compiling
    std::vector<OutputCheck> outputs;
    int64_t time_ns = 0;
};

// The official rule, or what data.json says.
Tolerance tolerance_of(const std::filesystem::path& folder);

// Loads, compiles once and runs every data set with one request. Never throws, never ends the
// process.
TestOutcome run_layout_test(const Runtime& runtime,
                            const std::filesystem::path& folder,
                            const CompileOptions& compile,
                            Tolerance tolerance);

// Whether there is something to run in the folder: a data set, or an error that the model alone has
// to give.
bool is_runnable(const std::filesystem::path& folder);

struct TestFolder {
    std::string name;  // path below the folder that was searched
    std::filesystem::path folder;
};
struct FoundTests {
    std::vector<TestFolder> runnable;      // sorted by name
    std::vector<TestFolder> without_data;  // a model or its address, but nothing to compare with
};
// Whether the name contains one of them, or there is none.
bool is_selected(const std::string& name, const std::vector<std::string>& filters);
// The test with the options' tolerances and without fallback.
ConformanceTest run_conformance_test(const Runtime& runtime,
                                     const TestFolder& test,
                                     const ConformanceOptions& options);

// kNotFound: nothing is runnable.
Result<FoundTests> find_layout_tests(const std::filesystem::path& root);

}  // namespace leat
