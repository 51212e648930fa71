// One test in the ONNX layout: a folder with model.onnx, test_data_set_N/{input,output}_N.pb, and
// perhaps data.json with tolerances.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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
    bool passed = false;
    bool unsupported = false;  // and therefore failed
    std::string reason;        // empty when passed
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

struct TestFolder {
    std::string name;  // path below the folder that was searched
    std::filesystem::path folder;
};
struct FoundTests {
    std::vector<TestFolder> runnable;      // sorted by name
    std::vector<TestFolder> without_data;  // a model or its address, but nothing to compare with
};
FoundTests find_layout_tests(const std::filesystem::path& root);

}  // namespace leat
