// Tests in ONNX's layout that have to fail, or say in words what is right: leat::run_conformance.
#include "leat/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/expected_error.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// y = op(x), f32 [2]; an operator that there is not makes it fail.
std::string model_of(const std::string& op) {
    return testing::model_bytes({.nodes = {testing::node(op, {"x"}, {"y"}, {}, "n")},
                                 .inputs = {testing::f32_info("x", {2})},
                                 .outputs = {testing::f32_info("y", {2})}});
}

class Folder {
  public:
    // A test with one data set, without outputs.
    void add(const std::string& name,
             const std::string& op,
             const std::string& file,
             const std::string& text) const {
        fs::create_directories(folder_.path() / name / "test_data_set_0");
        folder_.write(name + "/model.onnx", model_of(op));
        folder_.write(name + "/" + file, text);
        folder_.write(name + "/test_data_set_0/input_0.pb",
                      testing::raw_tensor<float>("x", {2}, {1, -2}));
    }
    std::string path() const { return folder_.path().string(); }

  private:
    testing::TemporaryFolder folder_;
};

TEST(Conformance, ErrorsThatAreExpectedAreJudgedInProcess) {
    const Folder folder;
    folder.add("a_right", "Nonesuch", "expected_error.txt", "nonesuch\n\\bNOT\\b.*implemented\n");
    folder.add("b_other", "Nonesuch", "expected_error.txt", "Nonesuch\noverflow\n");
    folder.add("c_none", "Relu", "expected_error.txt", "Relu\n");
    folder.add("d_words", "Relu", "expected.txt", "no crash\nmore\n");
    folder.add("e_nothing", "Relu", "readme.txt", "");
    const Runtime runtime;
    ConformanceOptions options;
    std::vector<std::string> told;
    options.on_result = [&](const ConformanceTest& test) { told.push_back(test.name); };
    const auto report = run_conformance(runtime, folder.path(), options);
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_THAT(told, ElementsAre("a_right", "b_other", "c_none", "d_words", "e_nothing"));
    const std::vector<ConformanceTest>& tests = report->tests;
    EXPECT_EQ(tests[0].verdict, ConformanceVerdict::kPassed) << tests[0].reason;
    EXPECT_EQ(tests[1].verdict, ConformanceVerdict::kFailed);
    EXPECT_THAT(tests[1].reason, HasSubstr("does not match 'overflow': unsupported: "));
    EXPECT_EQ(tests[2].verdict, ConformanceVerdict::kFailed);
    EXPECT_THAT(tests[2].reason, HasSubstr("gives no error; needed one that matches 'Relu'"));
    EXPECT_EQ(tests[3].verdict, ConformanceVerdict::kNotCompared);
    EXPECT_THAT(tests[3].reason, HasSubstr("\"no crash\""));
    EXPECT_EQ(tests[4].verdict, ConformanceVerdict::kFailed);
    EXPECT_THAT(tests[4].reason, HasSubstr("the graph has 1 outputs, the data set 0"));
    EXPECT_EQ(report->count(ConformanceVerdict::kNotCompared), 1);
}

TEST(Conformance, AFileOfADataSetThatCannotBeReadIsNotTheExpectedError) {
    const Folder folder;
    folder.add("a", "Relu", "expected_error.txt", "x");
    std::filesystem::resize_file(fs::path(folder.path()) / "a/test_data_set_0/input_0.pb", 5);
    const auto report = run_conformance(Runtime(), folder.path(), {});
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->tests[0].verdict, ConformanceVerdict::kFailed);
    EXPECT_THAT(report->tests[0].reason, HasSubstr("input_0.pb"));
}

// Tests are called after their faults: "cycle/model.onnx".
TEST(ExpectedErrorText, HasNoPathsAndNoNameOfTheTest) {
    const auto text = [](const Status& status, const fs::path& folder) {
        return matched_text(status, folder);
    };
    const auto error = [](const std::string& message) {
        return Status(StatusCode::kInvalidArgument, message);
    };
    EXPECT_EQ(text(error("a cycle").with_file("/s/cycle/model.onnx").with_node("node 'n' (Add)"),
                   "/s/cycle"),
              "invalid_argument: node 'n' (Add): a cycle");
    EXPECT_EQ(
        text(error("cannot read '/s/cycle/test_data_set_0/output_0.pb': no file"), "/s/cycle"),
        "invalid_argument: cannot read '': no file");
    EXPECT_EQ(text(error("cannot read cycle/x.pb, in a cycle"), "cycle/"),
              "invalid_argument: cannot read , in a cycle");
    EXPECT_EQ(text(error("graph 'cycle' has a cycle"), "/s/cycle"),
              "invalid_argument: graph  has a cycle");
    EXPECT_THAT(text(error("see " + fs::absolute("s/cycle/m.onnx").string()), "s/cycle"),
                Not(HasSubstr("m.onnx")));
    // Names that the model itself gives stay.
    EXPECT_THAT(text(error("its file 'w.bin'").with_found("'../secret.bin'"), "/s/w"),
                HasSubstr("'w.bin'; found '../secret.bin'"));
}

}  // namespace
}  // namespace leat
