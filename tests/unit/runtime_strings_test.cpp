// Strings through operators whose results are their operands under another shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/compiled_routes.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAreArray;

const std::vector<std::string>& texts() {
    // Too long for the text to lie inside a std::string, and short ones.
    static const std::vector<std::string> kTexts = {
        "a", "",  "a text that is longer than a string object",
        "d", "é", "another one of some length"};
    return kTexts;
}

TensorsByName inputs() {
    return {{"x", *Tensor::from<std::string>({2, 3}, texts())}};
}

// Each view of x is an output; so is what the last node makes of a view of a view.
NamedModel model_of_views(bool is_constant) {
    const auto ints = [](const std::vector<int64_t>& values) {
        return *Tensor::from<int64_t>({int64_t(values.size())}, values);
    };
    NamedModel model;
    if (is_constant) {
        model.constants = {{"x", inputs().at("x")}};
    } else {
        model.inputs = {{"x", DType::kString, {2, 3}}};
    }
    model.constants.emplace_back("six", ints({6}));
    model.constants.emplace_back("two", ints({2, 3, 1}));
    model.constants.emplace_back("last", ints({-1}));
    model.constants.emplace_back("first", ints({0}));
    model.nodes = {
        {"Reshape", {"x", "six"}, {"reshaped"}},
        {"Flatten", {"x"}, {"flat"}, {{"axis", int64_t{0}}}},
        {"Unsqueeze", {"x", "first"}, {"wider"}},
        {"Squeeze", {"wider", "first"}, {"squeezed"}},
        {"Identity", {"x"}, {"same"}},
        {"Reshape", {"reshaped", "two"}, {"again"}},
        // A transposition that moves no element, and one that moves them.
        {"Transpose", {"wider"}, {"renamed"}, {{"perm", std::vector<int64_t>{1, 0, 2}}}},
        {"Transpose", {"x"}, {"moved"}, {{"perm", std::vector<int64_t>{1, 0}}}},
        {"Flatten", {"flat"}, {"nobody"}},
        {"Dropout", {"same"}, {"kept"}},
        {"Split", {"reshaped"}, {"", "half"}, {{"num_outputs", int64_t{2}}}},
        {"Reshape", {"half", "last"}, {"half_again"}},
        {"Concat", {"half_again", "reshaped"}, {"joined"}, {{"axis", int64_t{0}}}},
    };
    model.outputs = {"reshaped", "flat",  "wider", "squeezed",   "same",  "again",
                     "renamed",  "moved", "kept",  "half_again", "joined"};
    return model;
}

std::vector<std::string> elements_of(const Tensor& tensor) {
    const auto elements = tensor.data<std::string>();
    return {elements.begin(), elements.end()};
}

void check(const TensorsByName& outputs, const std::string& what) {
    const std::vector<std::string>& all = texts();
    const std::vector<std::string> half(all.begin() + 3, all.end());
    std::vector<std::string> joined = half;
    joined.insert(joined.end(), all.begin(), all.end());
    const std::map<std::string, std::vector<std::string>> others = {
        {"half_again", half},
        {"joined", joined},
        {"moved", {all[0], all[3], all[1], all[4], all[2], all[5]}}};
    for (const auto& [name, tensor] : outputs) {
        const auto other = others.find(name);
        EXPECT_THAT(elements_of(tensor),
                    ElementsAreArray(other == others.end() ? all : other->second))
            << what << ": " << name;
    }
    EXPECT_EQ(outputs.at("again").shape(), Shape({2, 3, 1}));
    EXPECT_EQ(outputs.at("flat").shape(), Shape({1, 6}));
    EXPECT_EQ(outputs.at("renamed").shape(), Shape({2, 1, 3}));
    EXPECT_EQ(outputs.size(), 11U);
}

void check_all_routes(const Runtime& runtime, const CompileOptions& options, bool is_constant) {
    const ScratchFolder folder;
    for (const Route& route :
         compile_by_all_routes(runtime, model_of_views(is_constant), options, 21, folder)) {
        const std::string what = options.devices + ", " + route.name +
                                 (options.optimize ? ", passes" : "") +
                                 (is_constant ? ", constant" : "");
        ASSERT_TRUE(route.compiled.ok()) << what << ": " << route.compiled.error().message();
        const Result<TensorsByName> outputs = outputs_of(*route.compiled, inputs());
        ASSERT_TRUE(outputs.ok()) << what << ": " << outputs.error().message();
        check(*outputs, what);
    }
}

TEST(Strings, PassThroughViews) {
    const Runtime runtime(with_built_backends(2));
    for (const char* devices : {"cpu", "reference"}) {
        for (const bool optimize : {true, false}) {
            CompileOptions options;
            options.devices = devices;
            options.optimize = optimize;
            check_all_routes(runtime, options, /*is_constant=*/false);
            check_all_routes(runtime, options, /*is_constant=*/true);
        }
    }
}

// Plans after the first start from it.
TEST(Strings, PassThroughViewsOfOtherShapes) {
    const Runtime runtime(with_built_backends(1));
    Graph graph("strings");
    const ValueId x = graph.input("x", DType::kString, {DimSpec("n"), 2});
    const ValueId flat = graph.add("Flatten", {x}, {{"axis", int64_t{0}}});
    graph.output("y", graph.add("Identity", {flat}));
    const Result<CompiledGraph> compiled = runtime.compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    for (const int64_t rows : {3, 1, 3, 2}) {
        const std::vector<std::string> all(texts().begin(), texts().begin() + rows * 2);
        const Result<TensorsByName> outputs =
            outputs_of(*compiled, {{"x", *Tensor::from<std::string>({rows, 2}, all)}});
        ASSERT_TRUE(outputs.ok()) << outputs.error().message();
        EXPECT_THAT(elements_of(outputs->at("y")), ElementsAreArray(all));
    }
}

}  // namespace
}  // namespace leat::testing
