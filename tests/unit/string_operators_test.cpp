// Strings through every operator that may move, compare or read them. ONNX's list of these
// operators says what has to stand here: one of leat's that is forgotten is an error.
#include "support/string_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/op_def.h"
#include "support/compiled_routes.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAreArray;
using Ints = std::vector<int64_t>;

constexpr int64_t kOpset = 21;

// Texts by number: some do not fit into the object of a std::string, one is empty, one has bytes
// that are no text. -1 is the text that nobody gives.
std::string text(int64_t number) {
    static const std::array<std::string, 6> kTexts = {
        "a", "one that is longer than what a string holds within itself",
        "",  std::string("zero \0 inside", 13),
        "é", "\xff\xfe, and then some more of what is no UTF-8 at all"};
    return number < 0 ? std::string() : kTexts.at(size_t(number));
}

Tensor texts(const Shape& shape, const Ints& numbers) {
    std::vector<std::string> elements;
    for (const int64_t number : numbers) {
        elements.push_back(text(number));
    }
    return *Tensor::from<std::string>(shape, elements);
}
Tensor words(const Shape& shape, const std::vector<std::string>& elements) {
    return *Tensor::from<std::string>(shape, elements);
}
Tensor ints(const Shape& shape, const Ints& elements) {
    return *Tensor::from<int64_t>(shape, elements);
}
Tensor list(const Ints& elements) {
    return ints({int64_t(elements.size())}, elements);
}
Tensor floats(const Shape& shape, const std::vector<float>& elements) {
    return *Tensor::from<float>(shape, elements);
}
Tensor truths(const Shape& shape, const std::vector<uint8_t>& elements) {
    Tensor tensor = *Tensor::allocate(DType::kBool, shape);
    std::transform(elements.begin(), elements.end(), tensor.mutable_bytes(),
                   [](uint8_t element) { return std::byte(element); });
    return tensor;
}
Tensor absent() {
    return {};
}

// [[0, 1, 2], [3, 4, 5]]
Tensor x() {
    return texts({2, 3}, {0, 1, 2, 3, 4, 5});
}
Tensor line() {
    return texts({6}, {0, 1, 2, 3, 4, 5});
}

struct StringCase {
    std::string op_type;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    Attributes attributes = {};
};

std::vector<StringCase> cases_of_views() {
    return {
        {"Identity", {x()}, {x()}},
        {"Reshape", {x(), list({3, -1})}, {texts({3, 2}, {0, 1, 2, 3, 4, 5})}},
        {"Flatten", {x()}, {texts({1, 6}, {0, 1, 2, 3, 4, 5})}, {{"axis", int64_t{0}}}},
        {"Squeeze", {texts({1, 2}, {1, 0}), list({0})}, {texts({2}, {1, 0})}},
        {"Unsqueeze", {texts({2}, {1, 0}), list({1})}, {texts({2, 1}, {1, 0})}},
        {"Shape", {x()}, {list({2, 3})}},
        {"Size", {x()}, {ints({}, {6})}},
    };
}

std::vector<StringCase> cases_of_copies() {
    const Attributes axis_1 = {{"axis", int64_t{1}}};
    return {
        {"Transpose", {x()}, {texts({3, 2}, {0, 3, 1, 4, 2, 5})}, {{"perm", Ints{1, 0}}}},
        {"Slice",
         {x(), list({0, 2}), list({2, -4}), list({0, 1}), list({1, -1})},
         {texts({2, 3}, {2, 1, 0, 5, 4, 3})}},
        {"Slice", {x(), list({1}), list({9}), list({1})}, {texts({2, 2}, {1, 2, 4, 5})}},
        {"Split",
         {x(), list({1, 2})},
         {texts({2, 1}, {0, 3}), texts({2, 2}, {1, 2, 4, 5})},
         axis_1},
        {"Concat",
         {x(), x()},
         {texts({4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})},
         {{"axis", int64_t{0}}}},
        {"Concat", {x(), texts({2, 1}, {5, 0})}, {texts({2, 4}, {0, 1, 2, 5, 3, 4, 5, 0})}, axis_1},
        {"Expand", {texts({2, 1}, {1, 5}), list({2, 2})}, {texts({2, 2}, {1, 1, 5, 5})}},
        {"Tile", {x(), list({1, 2})}, {texts({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})}},
        {"Pad", {x(), list({0, 1, 0, 0})}, {texts({2, 4}, {-1, 0, 1, 2, -1, 3, 4, 5})}},
        {"Pad",
         {x(), list({0, 0, 1, 0}), texts({}, {1})},
         {texts({3, 3}, {0, 1, 2, 3, 4, 5, 1, 1, 1})}},
        {"Pad",
         {x(), list({0, -1, 0, 1})},
         {texts({2, 3}, {1, 2, 1, 4, 5, 4})},
         {{"mode", std::string("reflect")}}},
        {"Pad",
         {line(), list({1, 1})},
         {texts({8}, {0, 0, 1, 2, 3, 4, 5, 5})},
         {{"mode", std::string("edge")}}},
        {"Pad",
         {line(), list({1, 1})},
         {texts({8}, {5, 0, 1, 2, 3, 4, 5, 0})},
         {{"mode", std::string("wrap")}}},
        {"Resize",
         {x(), absent(), floats({2}, {2, 1})},
         {texts({4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
         {{"mode", std::string("nearest")}}},
        {"Where",
         {truths({2, 1}, {1, 0}), x(), texts({3}, {5, 1, 0})},
         {texts({2, 3}, {0, 1, 2, 5, 1, 0})}},
    };
}

std::vector<StringCase> cases_of_indices() {
    const Attributes axis_1 = {{"axis", int64_t{1}}};
    return {
        {"Gather", {x(), list({2, -3})}, {texts({2, 2}, {2, 0, 5, 3})}, axis_1},
        {"Gather", {line(), ints({}, {1})}, {texts({}, {1})}},
        {"GatherElements",
         {x(), ints({2, 2}, {0, 0, -1, 1})},
         {texts({2, 2}, {0, 0, 5, 4})},
         axis_1},
        {"GatherND", {x(), ints({2, 2}, {1, 2, 0, -3})}, {texts({2}, {5, 0})}},
        {"GatherND", {x(), ints({1, 1}, {1})}, {texts({1, 3}, {3, 4, 5})}},
        {"ScatterElements",
         {x(), ints({2, 1}, {1, 0}), texts({2, 1}, {5, 1})},
         {texts({2, 3}, {0, 5, 2, 1, 4, 5})},
         axis_1},
        {"ScatterND",
         {x(), ints({2, 2}, {1, 0, 0, 2}), texts({2}, {1, 1})},
         {texts({2, 3}, {0, 1, 1, 1, 4, 5})}},
        {"ScatterND",
         {x(), ints({1, 1}, {0}), texts({1, 3}, {5, 4, 3})},
         {texts({2, 3}, {5, 4, 3, 3, 4, 5})}},
    };
}

std::vector<StringCase> cases_of_texts() {
    const auto to = [](DType dtype) { return Attributes{{"to", int64_t(dtype)}}; };
    return {
        {"Equal", {x(), texts({3}, {0, 4, 2})}, {truths({2, 3}, {1, 0, 1, 0, 1, 0})}},
        {"Cast",
         {ints({3}, {-1, 0, 1234567890123})},
         {words({3}, {"-1", "0", "1234567890123"})},
         to(DType::kString)},
        {"Cast", {floats({2}, {0.5F, 1e20F})}, {words({2}, {"0.5", "1e+20"})}, to(DType::kString)},
        {"Cast",
         {words({3}, {"7", " -8", "9000000000"})},
         {ints({3}, {7, -8, 9000000000})},
         to(DType::kInt64)},
        {"Cast", {words({2}, {"1.5", "-2e3"})}, {floats({2}, {1.5F, -2000})}, to(DType::kFloat32)},
        {"Cast", {x()}, {x()}, to(DType::kString)},
        {"CastLike", {ints({3}, {-1, 0, 12}), texts({1}, {1})}, {words({3}, {"-1", "0", "12"})}},
        {"CastLike", {words({2}, {"7", " -8"}), list({0})}, {list({7, -8})}},
        {"Constant", {}, {texts({}, {1})}, {{"value_string", text(1)}}},
        {"Constant",
         {},
         {texts({2}, {1, 0})},
         {{"value_strings", std::vector<std::string>{text(1), text(0)}}}},
        {"StringNormalizer",
         {words({2}, {"a text that is not short at all", "É"})},
         {words({2}, {"A TEXT THAT IS NOT SHORT AT ALL", "É"})},
         {{"case_change_action", std::string("UPPER")}}},
        {"StringNormalizer",
         {words({1, 3}, {"b", "A", "c"})},
         {words({1, 2}, {"b", "c"})},
         {{"stopwords", std::vector<std::string>{"a"}}}},
    };
}

std::vector<StringCase> cases_of_nothing() {
    const Tensor none = texts({0, 3}, {});
    const Tensor no_indices = list({});
    return {
        {"Transpose", {none}, {texts({3, 0}, {})}, {{"perm", Ints{1, 0}}}},
        {"Reshape", {none, list({3, 0})}, {texts({3, 0}, {})}, {{"allowzero", int64_t{1}}}},
        {"Slice", {x(), list({2}), list({2}), list({0})}, {none}},
        {"Split", {x(), list({0, 2})}, {none, x()}},
        {"Concat", {none, x(), none}, {x()}, {{"axis", int64_t{0}}}},
        {"Expand", {texts({1, 3}, {0, 1, 2}), list({0, 3})}, {none}},
        {"Tile", {x(), list({0, 1})}, {none}},
        {"Pad", {none, list({1, 0, 0, 0}), texts({}, {1})}, {texts({1, 3}, {1, 1, 1})}},
        {"Where", {truths({0, 1}, {}), none, texts({3}, {5, 1, 0})}, {none}},
        {"Gather", {x(), no_indices}, {none}},
        {"GatherElements", {x(), ints({0, 3}, {})}, {none}},
        {"ScatterElements", {x(), ints({0, 3}, {}), none}, {x()}},
        {"ScatterND", {x(), ints({0, 1}, {}), none}, {x()}},
        {"Equal", {none, none}, {truths({0, 3}, {})}},
        {"Cast", {none}, {ints({0, 3}, {})}, {{"to", int64_t(DType::kInt64)}}},
        {"Size", {none}, {ints({}, {0})}},
    };
}

// Of operators that are there one day, too.
std::vector<StringCase> cases_of_further_operators() {
    return {
        {"CenterCropPad", {line(), list({4})}, {texts({4}, {1, 2, 3, 4})}},
        // What meets is joined, in the order of the block.
        {"Col2Im",
         {texts({1, 2, 2}, {5, 0, 3, 1}), list({2}), list({2})},
         {words({1, 1, 2}, {text(0) + text(3), text(1)})},
         {{"pads", Ints{1, 0}}}},
        {"Compress",
         {x(), truths({2}, {0, 1})},
         {texts({1, 3}, {3, 4, 5})},
         {{"axis", int64_t{0}}}},
        {"Compress", {x(), truths({4}, {0, 1, 0, 1})}, {texts({2}, {1, 3})}},
        {"DepthToSpace",
         {texts({1, 4, 1, 1}, {0, 1, 2, 3})},
         {texts({1, 1, 2, 2}, {0, 1, 2, 3})},
         {{"blocksize", int64_t{2}}}},
        {"GridSample",
         {texts({1, 1, 2}, {1, 4}), floats({1, 3, 1}, {1, -1, 3})},
         {texts({1, 1, 3}, {4, 1, -1})},
         {{"mode", std::string("nearest")}, {"align_corners", int64_t{1}}}},
        // What is not empty is not zero.
        {"NonZero", {x()}, {ints({2, 5}, {0, 0, 1, 1, 1, 0, 1, 0, 1, 2})}},
        {"OneHot",
         {list({1, 0}), ints({}, {2}), texts({2}, {5, 1})},
         {texts({2, 2}, {5, 1, 1, 5})}},
        // Only the shape is read. Numbers without a choice are the same in every run.
        {"RandomNormalLike",
         {x()},
         {floats({2, 3}, {2, 2, 2, 2, 2, 2})},
         {{"dtype", int64_t{1}}, {"mean", 2.0F}, {"scale", 0.0F}}},
        {"RandomUniformLike",
         {line()},
         {floats({6}, {3, 3, 3, 3, 3, 3})},
         {{"dtype", int64_t{1}}, {"low", 3.0F}, {"high", 3.0F}}},
        {"ReverseSequence",
         {x(), list({1, 2})},
         {texts({2, 3}, {0, 1, 2, 4, 3, 5})},
         {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}},
        {"RegexFullMatch",
         {words({3}, {"ab", "AB", "abc"})},
         {truths({3}, {1, 1, 0})},
         {{"pattern", std::string("(?i)ab")}}},
        {"SpaceToDepth",
         {texts({1, 1, 2, 2}, {0, 1, 2, 3})},
         {texts({1, 4, 1, 1}, {0, 1, 2, 3})},
         {{"blocksize", int64_t{2}}}},
        {"TensorScatter",
         {texts({2, 2, 1}, {0, 1, 2, 3}), texts({2, 1, 1}, {4, 5}), list({1, 0})},
         {texts({2, 2, 1}, {0, 4, 5, 3})}},
        {"Trilu", {texts({2, 2}, {0, 1, 3, 5})}, {texts({2, 2}, {0, 1, -1, 5})}},
        {"StringConcat",
         {words({2, 1}, {"a", "a text that is not short at all"}), words({2}, {"", "\xff"})},
         {words({2, 2}, {"a", "a\xff", "a text that is not short at all",
                         "a text that is not short at all\xff"})}},
        {"StringSplit",
         {words({3}, {"a b", "", "a text that is not short"})},
         {words({3, 3}, {"a", "b", "", "", "", "", "a", "text", "that is not short"}),
          list({2, 0, 3})},
         {{"maxsplit", int64_t{2}}}},
        {"TfIdfVectorizer",
         {words({3}, {"b", "a", "b"})},
         {floats({2}, {2, 1})},
         {{"mode", std::string("TF")},
          {"min_gram_length", int64_t{1}},
          {"max_gram_length", int64_t{2}},
          {"max_skip_count", int64_t{0}},
          {"ngram_counts", Ints{0, 1}},
          {"ngram_indexes", Ints{0, 1}},
          {"pool_strings", std::vector<std::string>{"b", "a", "b"}}}},
        {"Unique", {words({4}, {"b", "a", "b", "B"})}, {words({3}, {"B", "a", "b"})}},
        {"Unique",
         {words({4}, {"b", "a", "b", "B"})},
         {words({3}, {"b", "a", "B"}), list({0, 1, 3}), list({0, 1, 0, 2}), list({2, 1, 1})},
         {{"sorted", int64_t{0}}}},
    };
}

std::vector<StringCase> all_cases() {
    std::vector<StringCase> all;
    for (const auto& some : {cases_of_views(), cases_of_copies(), cases_of_indices(),
                             cases_of_texts(), cases_of_nothing(), cases_of_further_operators()}) {
        std::copy_if(some.begin(), some.end(), std::back_inserter(all),
                     [](const StringCase& each) { return find_op("", each.op_type) != nullptr; });
    }
    return all;
}

// Their bodies carry strings (strings_in_bodies_test.cpp).
const std::set<std::string, std::less<>> kOperatorsWithBodies = {"If", "Loop", "Scan"};

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
    ASSERT_EQ(got.dtype(), want.dtype()) << what;
    ASSERT_EQ(got.shape(), want.shape()) << what;
    if (want.dtype() == DType::kString) {
        EXPECT_THAT(got.data<std::string>(), ElementsAreArray(want.data<std::string>())) << what;
    } else if (want.byte_count() > 0) {
        EXPECT_EQ(std::memcmp(got.bytes(), want.bytes(), size_t(want.byte_count())), 0) << what;
    }
}

// Of the names of case i.
std::string prefix_of(size_t i) {
    return "n" + std::to_string(i);
}

void expect_outputs(const TensorsByName& outputs,
                    const std::vector<StringCase>& cases,
                    const std::string& what) {
    for (size_t i = 0; i < cases.size(); ++i) {
        for (size_t k = 0; k < cases[i].outputs.size(); ++k) {
            const std::string name = prefix_of(i) + "_out_" + std::to_string(k);
            SCOPED_TRACE(cases[i].op_type);
            expect_same(outputs.at(name), cases[i].outputs[k], what);
        }
    }
}

// is_constant: all operands of the node are constants; else its strings, and its first operand, are
// inputs of the graph.
void add_node(const StringCase& each,
              const std::string& prefix,
              bool is_constant,
              NamedModel& model,
              TensorsByName& given) {
    NamedModel::Node node{each.op_type, {}, {}, each.attributes};
    for (size_t i = 0; i < each.inputs.size(); ++i) {
        const Tensor& operand = each.inputs[i];
        const std::string name = prefix + "_in_" + std::to_string(i);
        node.inputs.push_back(operand.defined() ? name : "");
        if (!operand.defined()) {
            continue;
        }
        if (!is_constant && (operand.dtype() == DType::kString || i == 0)) {
            model.inputs.push_back({name, operand.dtype(), {}});
            for (const int64_t extent : operand.shape()) {
                model.inputs.back().dims.emplace_back(extent);
            }
            given.emplace(name, operand);
        } else {
            model.constants.emplace_back(name, operand);
        }
    }
    for (size_t i = 0; i < each.outputs.size(); ++i) {
        node.outputs.push_back(prefix + "_out_" + std::to_string(i));
        model.outputs.push_back(node.outputs.back());
    }
    model.nodes.push_back(std::move(node));
}

class StringOperators : public ::testing::TestWithParam<std::tuple<const char*, int, bool>> {
  protected:
    StringOperators() : runtime_(with_built_backends(std::get<1>(GetParam()))) {
        options_.devices = std::get<0>(GetParam());
        options_.optimize = std::get<2>(GetParam());
    }
    Runtime runtime_;
    CompileOptions options_;
};

// All in one graph, so that several run at once.
TEST_P(StringOperators, GiveWhatTheyOught) {
    const std::vector<StringCase> cases = all_cases();
    for (const bool is_constant : {false, true}) {
        NamedModel model;
        TensorsByName given;
        for (size_t i = 0; i < cases.size(); ++i) {
            add_node(cases[i], prefix_of(i), is_constant, model, given);
        }
        const ScratchFolder folder;
        for (const Route& route :
             compile_by_all_routes(runtime_, model, options_, kOpset, folder)) {
            ASSERT_TRUE(route.compiled.ok()) << route.name << route.compiled.error().message();
            const Result<TensorsByName> outputs = outputs_of(*route.compiled, given);
            ASSERT_TRUE(outputs.ok()) << route.name << outputs.error().message();
            expect_outputs(*outputs, cases, route.name);
        }
    }
}

// What leat writes as an ONNX file says the same.
TEST_P(StringOperators, AreExported) {
    const ScratchFolder folder;
    const std::string file = (folder.path() / "exported.onnx").string();
    for (const StringCase& each : all_cases()) {
        NamedModel model;
        TensorsByName given;
        add_node(each, "n", /*is_constant=*/true, model, given);
        const Status saved = save_onnx(graph_of(model), file);
        ASSERT_TRUE(saved.ok()) << each.op_type << saved.message();
        const Result<Graph> graph = load_onnx(file);
        ASSERT_TRUE(graph.ok()) << each.op_type << graph.error().message();
        const Result<CompiledGraph> compiled = runtime_.compile(*graph, options_);
        ASSERT_TRUE(compiled.ok()) << each.op_type << compiled.error().message();
        const Result<TensorsByName> outputs = outputs_of(*compiled, {});
        ASSERT_TRUE(outputs.ok()) << each.op_type << outputs.error().message();
        expect_same(outputs->at("n_out_0"), each.outputs[0], each.op_type);
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         StringOperators,
                         ::testing::Combine(::testing::Values("cpu", "reference"),
                                            ::testing::Values(1, 2),
                                            ::testing::Bool()));

TEST(StringOperatorsList, HasACaseForEachOperatorOfLeat) {
    std::set<std::string, std::less<>> covered = kOperatorsWithBodies;
    for (const StringCase& each : all_cases()) {
        covered.insert(each.op_type);
    }
    for (const std::string_view name : kStringOperators) {
        const OpDef* const def = find_op("", name);
        // tests/unit/sequences_test.cpp has strings as elements.
        const bool is_of_sequences =
            def != nullptr && (def->run_values != nullptr || name == "SequenceMap");
        if (def != nullptr && !is_of_sequences) {
            EXPECT_TRUE(covered.contains(name))
                << name << " may have strings, says ONNX: give it a case in this file";
        }
    }
}

// Kernels would take the objects for numbers.
TEST(StringOperatorsList, HasAllOperatorsThatTakeStrings) {
    // leat lets it pass anything where it drops nothing.
    const std::set<std::string_view> more = {"Dropout"};
    for (const OpDef* def : all_ops()) {
        const bool may = more.contains(def->name) || !def->domain.empty() ||
                         std::find(std::begin(kStringOperators), std::end(kStringOperators),
                                   def->name) != std::end(kStringOperators);
        if (may || def->min_inputs == 0) {
            continue;
        }
        NodeData node;
        node.op_type = std::string(def->name);
        node.def = def;
        node.inputs.resize(size_t(def->min_inputs));
        node.outputs.resize(size_t(std::max(def->min_outputs, 1)), ValueId{0});
        const ValueFact strings(TypeInfo::tensor(DType::kString, Shape({2, 2, 2, 2})));
        const std::vector<const ValueFact*> inputs(node.inputs.size(), &strings);
        std::vector<ValueFact> outputs(node.outputs.size());
        EXPECT_FALSE(infer_node(node, inputs, outputs).ok()) << def->name << " takes strings";
    }
}

}  // namespace
}  // namespace leat::testing
