// What graphbench gives the inputs of a target, those with defaults among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "graphbench/inputs.h"
#include "graphbench/target.h"
#include "graphbench/target_names.h"
#include "support/onnx_bytes.h"
#include "support/saved_graphs.h"

namespace leat::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
namespace onnx = leat::testing;

//  x[1] --- Add(c) --- y     c = {5}, declared as [m]
std::string model() {
    const std::string open =
        onnx::bytes(1, onnx::number(1, int64_t(DType::kFloat32)) +
                           onnx::bytes(2, onnx::bytes(1, onnx::bytes(2, "m"))));
    return onnx::model_bytes({.nodes = {onnx::node("Add", {"x", "c"}, {"y"})},
                              .initializers = {onnx::raw_tensor<float>("c", {1}, {5})},
                              .inputs = {onnx::f32_info("x", {1}), onnx::value_info("c", open)},
                              .outputs = {onnx::value_info("y", open)}});
}

class DefaultsOfTargets : public ::testing::Test {
  protected:
    DefaultsOfTargets() {
        const std::string file = folder_.write("m.onnx", model()).string();
        targets_.push_back(load_target(file).value());
        const Runtime runtime(testing_support::without_numa(1));
        const CompiledGraph compiled = runtime.compile(targets_[0].graph, {}).value();
        EXPECT_TRUE(compiled.save(file + ".leat").ok());
        targets_.push_back(load_target(file + ".leat").value());
    }
    // The shape of each input that gets a value; an error's message under "error".
    static std::map<std::string, std::string> shapes(const Target& target,
                                                     std::vector<std::string> arguments) {
        const Options options = Options::parse(*find_command("run"), std::move(arguments)).value();
        const CompileOptions compile = compile_options(options).value();
        const auto inputs = make_inputs(target, options, compile);
        if (!inputs.ok()) {
            return {{"error", inputs.error().message()}};
        }
        std::map<std::string, std::string> shapes;
        for (const NamedValue& input : *inputs) {
            shapes[input.name] = input.value.tensor().shape().to_string();
        }
        return shapes;
    }

    const onnx::TemporaryFolder folder_;
    std::vector<Target> targets_;  // a model, and the same compiled
};

TEST_F(DefaultsOfTargets, AreBoundWhereTheyAreAskedFor) {
    for (const Target& target : targets_) {
        EXPECT_THAT(shapes(target, {}), ElementsAre(Pair("x", "1")));
        EXPECT_THAT(shapes(target, {"--dim", "m=3"}), ElementsAre(Pair("x", "1")));
        EXPECT_THAT(shapes(target, {"--shape", "c=2"}),
                    ElementsAre(Pair("c", "2"), Pair("x", "1")));
        EXPECT_THAT(shapes(target, {"--input", "c=ones", "--dim", "m=3"}),
                    ElementsAre(Pair("c", "3"), Pair("x", "1")));
        EXPECT_THAT(shapes(target, {"--input", "c=ones"}),
                    ElementsAre(Pair("error", HasSubstr("--dim m=1"))));
    }
}

TEST_F(DefaultsOfTargets, NamesAreCheckedOfModelsAndOfCompiledGraphs) {
    for (const Target& target : targets_) {
        const auto check = [&](const char* option, const char* text) {
            const Options options = Options::parse(*find_command("run"), {option, text}).value();
            return check_options_of(target, options).message();
        };
        EXPECT_EQ(check("--dim", "m=3"), "ok");
        EXPECT_EQ(check("--shape", "c=2"), "ok");
        EXPECT_THAT(check("--dim", "n=3"), HasSubstr("no input has an extent 'n'"));
        EXPECT_THAT(check("--dim", "n=3"), HasSubstr("There are: m"));
        EXPECT_THAT(check("--shape", "z=1x2"), HasSubstr("--shape z=1x2: no input 'z'"));
        EXPECT_THAT(check("--input", "z=ones"), HasSubstr("There are: c, x"));
    }
}

TEST(NamesOfTargets, AreThoseOfOneTargetAtLeast) {
    const auto options = [](const char* option, const char* text) {
        return Options::parse(*find_command("bench"), {"a", "b", option, text}).value();
    };
    const std::vector<TargetNames> names{{{"x", "both"}, {"n"}, {}}, {{"y", "both"}, {}, {"node"}}};
    EXPECT_TRUE(check_names(options("--shape", "x=1"), names).ok());
    EXPECT_TRUE(check_names(options("--input", "y=ones"), names).ok());
    EXPECT_TRUE(check_names(options("--dim", "n=1"), names).ok());
    EXPECT_TRUE(check_names(options("--place", "node=cpu"), names).ok());
    EXPECT_TRUE(check_names(options("--shape", "both={1,2}"), names).ok());
    EXPECT_THAT(check_names(options("--shape", "z=1"), names).text(),
                HasSubstr("There are: both, x, y"));
    EXPECT_FALSE(check_names(options("--shape", "x={1,2}"), names).ok())
        << "a case of the target that lacks it would be the same as another";
    CompileOptions compile = compile_options(options("--shape", "x=1")).value();
    compile.dims["n"] = 3;
    keep_own_names(names[1], compile);
    EXPECT_TRUE(compile.shapes.empty());
    EXPECT_TRUE(compile.dims.empty());
}

}  // namespace
}  // namespace leat::bench
