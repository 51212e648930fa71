// What graphbench gives the inputs of a target, those with defaults among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "graphbench/inputs.h"
#include "graphbench/target.h"
#include "onnx_bytes.h"
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
        EXPECT_THAT(shapes(target, {"--shape", "z=1x2"}),
                    ElementsAre(Pair("error", HasSubstr("--shape z=1x2: no input 'z'"))));
    }
}

// compile() finds them in the options of a model.
TEST_F(DefaultsOfTargets, NamesOfExtentsAreCheckedOfCompiledGraphsToo) {
    const auto check = [&](const std::string& dim) {
        const Options options = Options::parse(*find_command("run"), {"--dim", dim}).value();
        return check_options_of(targets_[1], options);
    };
    EXPECT_TRUE(check("m=3").ok());
    EXPECT_THAT(check("n=3").message(), HasSubstr("no input has an extent 'n'"));
}

}  // namespace
}  // namespace leat::bench
