// ONNX's own backend tests, or any folder of tests in their layout, on any backend: which of them
// it passes alone.
//
// A test is a folder with model.onnx and test_data_set_N/{input,output}_N.pb, perhaps with
// data.json that tells tolerances ("rtol", "atol"). The rule is the official one: every output of
// every data set within atol + rtol * |expected|, NaN equal to NaN, types and shapes exactly.
//
// Beside the model may be, beyond ONNX's layout:
//   expected_error.txt  An error is right: of the model, or of every data set, whose outputs may be
//                       missing. Each line is a regular expression (ECMAScript, case ignored) that
//                       the message has to match, without paths and the folder's name.
//   expected.txt        Says in words what is right, where no data set has outputs. The data sets
//                       run, and are not compared.
//
// All of it runs in the calling process: a model that crashes it ends the program. The command
// `graphbench conformance` runs tests in a process of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/export.h"
#include "leat/runtime.h"
#include "leat/status.h"

namespace leat {

struct Tolerance {
    double relative = 1e-3;
    double absolute = 1e-7;
};

enum class ConformanceVerdict : uint8_t {
    kPassed,
    kFailed,
    kUnsupported,  // the backend refuses a node, or leat the model; counts as failed
    kNotCompared,  // it has no outputs, only words; neither passed nor failed
};

struct ConformanceTest {
    std::string name = {};  // path below the folder that was searched
    ConformanceVerdict verdict = ConformanceVerdict::kFailed;
    std::string reason = {};  // empty where it passed
    int64_t time_ns = 0;
};

struct ConformanceOptions {
    // `devices` names the backend. Fallback is forbidden, whatever it says: a node that runs
    // elsewhere would not count. Nodes of strings run on the host, as everywhere.
    CompileOptions compile = {};
    // Only tests whose names contain one of these; none: all.
    std::vector<std::string> filters = {};
    // Instead of the official tolerance, or that of data.json.
    std::optional<double> relative_tolerance = {};
    std::optional<double> absolute_tolerance = {};
    // Before each test: its name, how many were run, and how many there are.
    std::function<void(std::string_view name, size_t done, size_t total)> on_test = {};
    // After each test.
    std::function<void(const ConformanceTest& test)> on_result = {};
};

struct ConformanceReport {
    std::vector<ConformanceTest> tests;     // those that were run, sorted by name
    std::vector<std::string> names;         // all that can be run, filtered or not
    std::vector<std::string> without_data;  // a model or its address, but nothing to compare with
    LEAT_API int64_t count(ConformanceVerdict verdict) const;
};

// Runs every test below the folder, one after the other. An error only where there is no test at
// all: what a test does wrong is its verdict.
LEAT_API Result<ConformanceReport> run_conformance(const Runtime& runtime,
                                                   const std::string& folder,
                                                   const ConformanceOptions& options);

}  // namespace leat
