// Calibration when a graph is compiled: what is measured, kept, found again and left alone. No test
// looks at the times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/graph_data.h"
#include "leat/leat.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Settings = std::map<std::string, std::string, std::less<>>;

class Calibration : public ::testing::Test {
  protected:
    RuntimeOptions options(Settings sim = {}) {
        RuntimeOptions options;
        const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
        options.backend_path = folder == nullptr ? "." : folder;
        options.backend_settings["sim"] = std::move(sim);
        options.threads = 1;
        options.calibration_folder = (folder_.path() / "costs").string();
        options.logger = [this](LogLevel level, std::string_view line) {
            if (level >= LogLevel::kWarning) {
                warnings_.emplace_back(line);
            }
        };
        return options;
    }

    static CompileOptions calibrated(std::string devices) {
        CompileOptions options;
        options.devices = std::move(devices);
        options.fallback = Fallback::kAllow;
        options.calibrate = Calibrate::kMissing;
        return options;
    }

    static CalibrationReport report_of(const Runtime& runtime,
                                       const Graph& graph,
                                       const CompileOptions& options) {
        const auto compiled = runtime.compile(graph, options);
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        return compiled.ok() ? compiled->report().calibration : CalibrationReport();
    }

    ScratchFolder folder_;
    std::vector<std::string> warnings_;
};

// x[1,3,8,8] --> Conv --> Relu --> Conv like the first --> MaxPool --> Reshape --> Gemm --> y
//                  \--------------> Add ^
Graph small_network() {
    Graph graph("small");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 4, 8, 8});
    const auto weights = [&](const char* name, const Shape& shape) {
        return graph.constant(
            name,
            *Tensor::from<float>(shape, std::vector<float>(size_t(shape.element_count()), 0.25F)));
    };
    const std::vector<int64_t> pads = {1, 1, 1, 1};
    const ValueId first = graph.add("Conv", {x, weights("w0", {4, 4, 3, 3})}, {{"pads", pads}});
    const ValueId relu = graph.add("Sigmoid", {first});
    const ValueId second = graph.add("Conv", {relu, weights("w1", {4, 4, 3, 3})}, {{"pads", pads}});
    const ValueId pooled = graph.add(
        "MaxPool", {graph.add("Mul", {second, relu})},
        {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
    const ValueId shape =
        graph.constant("shape", *Tensor::from<int64_t>({2}, std::vector<int64_t>{1, 64}));
    const ValueId flat = graph.add("Reshape", {pooled, shape});
    graph.output("y", graph.add("MatMul", {flat, weights("w2", {64, 10})}));
    return graph;
}

std::vector<std::string> reasons_of(const CalibratedDevice& device) {
    std::vector<std::string> reasons;
    for (const CalibratedOperator& row : device.operators) {
        if (!row.skipped_because.empty()) {
            reasons.push_back(row.op_type + ": " + row.skipped_because);
        }
    }
    return reasons;
}

TEST_F(Calibration, MeasuresEachOperatorOnceAndKeepsIt) {
    for (const std::string device : {"reference", "cpu", "sim", "sim,reference,cpu"}) {
        SCOPED_TRACE(device);
        const Runtime runtime(options());
        const CalibrationReport report = report_of(runtime, small_network(), calibrated(device));
        ASSERT_FALSE(report.devices.empty());
        for (const CalibratedDevice& row : report.devices) {
            EXPECT_THAT(reasons_of(row), IsEmpty());
            EXPECT_EQ(contents_of(row.file).empty(), false) << row.file;
            for (const CalibratedOperator& measured : row.operators) {
                EXPECT_GT(measured.measured_ns, 0) << measured.signature;
                EXPECT_GE(measured.runs, 3);
                EXPECT_GT(measured.roofline_ns, 0) << measured.signature;
            }
            const bool is_plugin = row.device == "sim";
            EXPECT_EQ(row.has_links, is_plugin);
            if (is_plugin) {
                EXPECT_GT(row.to_device.bytes_per_s, 0);
                EXPECT_GT(row.from_device.bytes_per_s, 0);
                EXPECT_GT(row.contention, 0);
            }
        }
        // Neither this Runtime nor another process measures again.
        const Runtime other(options());
        for (const Runtime* each : {&runtime, &other}) {
            const CalibrationReport again = report_of(*each, small_network(), calibrated(device));
            EXPECT_EQ(again.measured_count, 0);
            EXPECT_EQ(again.skipped_count, 0);
            EXPECT_EQ(again.kept_count, report.measured_count + report.kept_count);
        }
    }
    EXPECT_THAT(warnings_, IsEmpty());
}

// The two convolutions are one row; a Reshape is none.
TEST_F(Calibration, JoinsNodesOfOneSignature) {
    const Runtime runtime(options());
    const CalibrationReport report = report_of(runtime, small_network(), calibrated("sim"));
    ASSERT_THAT(report.devices, SizeIs(1));
    std::map<std::string, int> nodes;
    for (const CalibratedOperator& row : report.devices[0].operators) {
        nodes[row.op_type] += row.node_count;
    }
    EXPECT_THAT(nodes, ElementsAre(std::pair<const std::string, int>("Conv", 2),
                                   std::pair<const std::string, int>("MatMul", 1),
                                   std::pair<const std::string, int>("MaxPool", 1),
                                   std::pair<const std::string, int>("Mul", 1),
                                   std::pair<const std::string, int>("Sigmoid", 1)));
    EXPECT_THAT(report.devices[0].operators, SizeIs(5));
    EXPECT_EQ(report.measured_count, 6);  // with the links
}

TEST_F(Calibration, MeasuresOnlyWhatIsMissing) {
    const Runtime runtime(options());
    report_of(runtime, small_network(), calibrated("reference"));
    Graph more = small_network();
    more.output("z", more.add("Neg", {more.data().inputs[0]}));
    const CalibrationReport report = report_of(runtime, more, calibrated("reference"));
    EXPECT_EQ(report.measured_count, 1);
    EXPECT_EQ(report.kept_count, 5);
}

TEST_F(Calibration, GivesEstimatesToLaterReports) {
    const Runtime runtime(options());
    CompileOptions plain = calibrated("sim,cpu");
    plain.calibrate = Calibrate::kNever;
    const auto before = runtime.compile(small_network(), plain);
    EXPECT_EQ(before->report().placement.devices[0].measured_count, 0);
    EXPECT_THAT(before->report().calibration.devices, IsEmpty());
    report_of(runtime, small_network(), calibrated("sim,cpu"));
    const Runtime other(options());
    const CompiledGraph after = *other.compile(small_network(), plain);
    const GraphPlacement placement = after.report().placement;
    EXPECT_EQ(placement.devices[0].measured_count, 6);
    EXPECT_EQ(placement.devices[0].link_source, "measured");
    for (const PlacedNode& node : placement.nodes) {
        if (!node.device.empty() && node.op_type != "Reshape") {
            EXPECT_EQ(node.source, CostSource::kMeasured) << node.name;
        }
    }
    // Another size of a known type is scaled; of a type that was not met the backend is asked.
    Graph larger;
    const ValueId x = larger.input("x", DType::kFloat32, {32, 32});
    larger.output("y", larger.add("Neg", {larger.add("Sigmoid", {x})}));
    const CompiledGraph scaled = *other.compile(larger, plain);
    const GraphPlacement estimated = scaled.report().placement;
    EXPECT_EQ(estimated.devices[0].scaled_count, 1);
    EXPECT_EQ(estimated.nodes[0].source, CostSource::kScaled);
    EXPECT_EQ(estimated.nodes[1].source, CostSource::kReported);
}

TEST_F(Calibration, OfAnotherDeviceIsItsOwn) {
    report_of(Runtime(options()), small_network(), calibrated("sim"));
    const CalibrationReport changed = report_of(Runtime(options({{"alignment_bytes", "256"}})),
                                                small_network(), calibrated("sim"));
    EXPECT_EQ(changed.kept_count, 0);
    EXPECT_EQ(changed.measured_count, 6);
    RuntimeOptions two = options();
    two.threads = 2;
    const CalibrationReport one_thread =
        report_of(Runtime(options()), small_network(), calibrated("reference"));
    const CalibrationReport two_threads =
        report_of(Runtime(two), small_network(), calibrated("reference"));
    EXPECT_EQ(one_thread.measured_count, 5);
    EXPECT_EQ(two_threads.measured_count, 5);
    EXPECT_NE(one_thread.devices[0].key, two_threads.devices[0].key);
    EXPECT_THAT(one_thread.devices[0].key, HasSubstr(std::string("leat ").append(version())));
}

TEST_F(Calibration, LeavesResultsAsTheyAre) {
    const std::vector<float> x(256, 0.5F);
    std::vector<std::vector<float>> results;
    for (const Calibrate calibrate : {Calibrate::kNever, Calibrate::kMissing}) {
        const Runtime runtime(options());
        CompileOptions how = calibrated("cpu");
        how.calibrate = calibrate;
        const CompiledGraph compiled = *runtime.compile(small_network(), how);
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", std::span<const float>(x)).ok());
        ASSERT_TRUE(request.run().ok());
        const std::span<const float> y = request.get<float>("y");
        results.emplace_back(y.begin(), y.end());
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_THAT(results[0], SizeIs(10));
}

// ids --> Gather of a table with two rows; the rows past them would be an error.
TEST_F(Calibration, MakesIndicesThatExist) {
    Graph graph;
    const ValueId ids = graph.input("ids", DType::kInt64, {50});
    const ValueId table =
        graph.constant("table", *Tensor::from<float>({2, 3}, std::vector<float>(6, 1)));
    graph.output("y", graph.add("Gather", {table, ids}));
    const CalibrationReport report =
        report_of(Runtime(options()), graph, calibrated("reference,sim"));
    for (const CalibratedDevice& device : report.devices) {
        EXPECT_THAT(reasons_of(device), IsEmpty());
    }
    EXPECT_EQ(report.measured_count, 3);
}

TEST_F(Calibration, SaysWhatItLeavesOut) {
    const Runtime runtime(options());
    Graph open;
    const ValueId x = open.input("x", DType::kFloat32, {"n", 2});
    open.output("y", open.add("Relu", {x}));
    CalibrationReport report = report_of(runtime, open, calibrated("reference"));
    EXPECT_THAT(reasons_of(report.devices.at(0)), ElementsAre(HasSubstr("not fixed")));
    EXPECT_EQ(report.skipped_count, 1);
    // With the extent given there is something to measure.
    CompileOptions fixed = calibrated("reference");
    fixed.dims["n"] = 3;
    report = report_of(runtime, open, fixed);
    EXPECT_EQ(report.measured_count, 1);
    Graph text;
    const ValueId words = text.input("words", DType::kString, {2});
    text.output("same", text.add("Equal", {words, words}));
    report = report_of(runtime, text, calibrated("reference"));
    EXPECT_THAT(reasons_of(report.devices.at(0)), ElementsAre(HasSubstr("string")));
}

// A device that fails while it is measured: reasons instead of times, and all else goes on.
TEST_F(Calibration, SurvivesADeviceThatFails) {
    for (const char* fault : {"execute:1", "execute:20", "compile:2", "link:3", "submit_copy:0",
                              "allocate_slab:2", "requirements:1", "clock_correlation:0"}) {
        SCOPED_TRACE(fault);
        const Runtime runtime(options({{"fail_call", fault}}));
        const auto compiled = runtime.compile(small_network(), calibrated("sim,reference"));
        // What fails each time fails the graph's own compilation too; never by a crash.
        if (compiled.ok()) {
            const CalibrationReport report = compiled->report().calibration;
            EXPECT_THAT(reasons_of(report.devices.at(1)), IsEmpty());
            EXPECT_GT(report.skipped_count, 0);
        }
        const auto elsewhere = runtime.compile(small_network(), calibrated("reference"));
        ASSERT_TRUE(elsewhere.ok()) << elsewhere.error().message();
        EXPECT_EQ(elsewhere->report().calibration.measured_count, 0);
    }
    const Runtime lost(options({{"lose_device_at", "40"}}));
    const CalibrationReport report = report_of(lost, small_network(), calibrated("sim,reference"));
    EXPECT_GT(report.skipped_count, 0);
    EXPECT_THAT(reasons_of(report.devices.at(1)), IsEmpty());
    EXPECT_THAT(reasons_of(report.devices.at(0)), Each(HasSubstr("lost")));
}

TEST_F(Calibration, GoesOnWithoutAFolderToKeepItIn) {
    RuntimeOptions where = options();
    write_contents(folder_.path() / "file", "");
    where.calibration_folder = (folder_.path() / "file").string();
    const Runtime runtime(where);
    EXPECT_EQ(report_of(runtime, small_network(), calibrated("reference")).measured_count, 5);
    EXPECT_THAT(warnings_, SizeIs(1));
    EXPECT_EQ(report_of(runtime, small_network(), calibrated("reference")).measured_count, 0);
}

}  // namespace
}  // namespace leat
