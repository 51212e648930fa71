// Passes keep what a graph computes: every graph of the golden files is evaluated with the
// reference kernels before and after each set of options. And the Rewriter, and the pipeline's
// reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <sstream>

#include "graph/inference.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "passes/pipeline.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GraphData parse(const std::string& text) {
    Result<Graph> graph = parse_graph(text);
    EXPECT_TRUE(graph.ok()) << graph.error().message();
    return graph.ok() ? graph->data() : GraphData();
}

// Seeded elements for an input whose open extents all become `open_extent`, as its only one does
// where the rank is open.
ValueFact make_input(const ValueData& value, int64_t open_extent, uint32_t seed) {
    std::vector<int64_t> extents;
    for (const DimSpec& dim : value.type.dims.value_or(std::vector{DimSpec(open_extent)})) {
        extents.push_back(dim.is_fixed() ? dim.extent() : open_extent);
    }
    Tensor tensor = *Tensor::allocate(value.type.dtype, *Shape::make(extents));
    std::mt19937 random(seed);
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
        const double number = double(random() % 4001) / 1000.0 - 2.0;
        switch (value.type.dtype) {
            case DType::kFloat32:
                tensor.mutable_data<float>()[size_t(i)] = float(number);
                break;
            case DType::kInt64:
                tensor.mutable_data<int64_t>()[size_t(i)] = int64_t(number);
                break;
            default:
                ADD_FAILURE() << "an input of type " << name_of(value.type.dtype);
        }
    }
    ValueFact fact;
    fact.type = TypeInfo::tensor(tensor.dtype(), tensor.shape());
    fact.value = std::move(tensor);
    return fact;
}

// The outputs by reference kernels.
std::vector<Tensor> evaluate(const GraphData& graph, const std::vector<ValueFact>& inputs) {
    InferenceOptions options;
    options.fold_everything = true;
    const Result<std::vector<ValueFact>> facts = infer_graph(graph, inputs, options);
    EXPECT_TRUE(facts.ok()) << facts.error().message();
    std::vector<Tensor> outputs;
    for (ValueId id : facts.ok() ? graph.outputs : std::vector<ValueId>()) {
        const std::optional<Tensor>& value = (*facts)[size_t(id.index)].value;
        EXPECT_TRUE(value.has_value()) << graph.value(id).name;
        outputs.push_back(value.value_or(Tensor()));
    }
    return outputs;
}

void expect_near(const Tensor& a, const Tensor& b, const std::string& what) {
    ASSERT_EQ(a.dtype(), b.dtype()) << what;
    ASSERT_EQ(a.shape(), b.shape()) << what;
    for (int64_t i = 0; i < a.element_count(); ++i) {
        if (a.dtype() == DType::kFloat32) {
            const float x = a.data<float>()[size_t(i)];
            const float y = b.data<float>()[size_t(i)];
            ASSERT_NEAR(x, y, 1e-5F * (1 + std::abs(x))) << what << " [" << i << "]";
        } else {
            ASSERT_EQ(a.data<int64_t>()[size_t(i)], b.data<int64_t>()[size_t(i)]) << what;
        }
    }
}

class KeepsResults : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(KeepsResults, UnderAllOptions) {
    std::stringstream file;
    file << std::ifstream(GetParam()).rdbuf();
    const std::string text = file.str();
    const size_t begin = text.find('\n') + 1;
    const GraphData before = parse(text.substr(begin, text.find("----\n") - begin));
    for (int options = 0; options < 8; ++options) {
        GraphData after = before;
        std::vector<PassReport> reports;
        const Status status = run_passes(
            after, {(options & 1) != 0, (options & 2) != 0, (options & 4) != 0}, reports);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(after.output_names, before.output_names);
        for (int64_t open_extent : {3, 1, 0}) {
            std::vector<ValueFact> inputs;
            for (ValueId id : before.inputs) {
                inputs.push_back(make_input(before.value(id), open_extent, uint32_t(id.index)));
            }
            const std::vector<Tensor> expected = evaluate(before, inputs);
            const std::vector<Tensor> found = evaluate(after, inputs);
            ASSERT_EQ(expected.size(), found.size());
            for (size_t i = 0; i < expected.size(); ++i) {
                expect_near(expected[i], found[i],
                            before.output_names[i] + " with " + std::to_string(options) + "\n" +
                                graph_to_text(after));
            }
        }
    }
}

std::vector<std::filesystem::path> golden_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(LEAT_GOLDEN_DIR)) {
        if (entry.path().extension() == ".txt") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}
INSTANTIATE_TEST_SUITE_P(Passes,
                         KeepsResults,
                         ::testing::ValuesIn(golden_files()),
                         [](const auto& info) { return info.param.stem().string(); });

TEST(Pipeline, ReportsEveryPassWithItsChange) {
    GraphData graph = parse(
        "graph \"g\" (x: f32[n,4]) -> (y: f32[n,4]) {\n"
        "  a = Identity(x)\n"
        "  y = Relu(a)\n"
        "}\n");
    std::vector<PassReport> reports;
    ASSERT_TRUE(run_passes(graph, {}, reports).ok());
    ASSERT_FALSE(reports.empty());
    const auto identity =
        std::find_if(reports.begin(), reports.end(),
                     [](const PassReport& report) { return report.name == "identity"; });
    ASSERT_NE(identity, reports.end());
    EXPECT_TRUE(identity->changed);
    EXPECT_EQ(identity->detail, "1 removed, 0 merged");
    EXPECT_GE(identity->time_ns, 0);
    EXPECT_EQ(graph.node_count(), 1);
    EXPECT_EQ(graph.value(graph.outputs[0]).type.to_string(), "f32[n,4]");
}

TEST(Pipeline, LeavesTheGraphAloneWithoutOptions) {
    const std::string text =
        "graph \"g\" (x: f32[n,4]) -> (y: f32[n,4]) {\n"
        "  a = Identity(x)\n"
        "  y = Relu(a)\n"
        "}\n";
    GraphData graph = parse(text);
    std::vector<PassReport> reports;
    ASSERT_TRUE(run_passes(graph, {false, false, false}, reports).ok());
    EXPECT_EQ(graph_to_text(graph), text);
}

TEST(Pipeline, KeepsAnOutputThatIsAnInputOrAConstant) {
    GraphData graph = parse(
        "graph \"g\" (x: f32[4]) -> (y: f32[4], z: f32[1], also = y: f32[4]) {\n"
        "  const c: f32[1] = {2}\n"
        "  y = Identity(x)\n"
        "  z = Identity(c)\n"
        "}\n");
    std::vector<PassReport> reports;
    ASSERT_TRUE(run_passes(graph, {}, reports).ok());
    EXPECT_THAT(graph.output_names, ElementsAre("y", "z", "also"));
    EXPECT_TRUE(graph.value(graph.outputs[0]).producer.valid());
    EXPECT_TRUE(graph.value(graph.outputs[1]).constant.has_value());
}

// The graph after all passes, in text form, and what was pinned.
std::string optimized(const char* text, NodeHistory& history) {
    GraphData graph = parse(text);
    std::vector<PassReport> reports;
    const Status status = run_passes(graph, {}, reports, &history);
    EXPECT_TRUE(status.ok()) << status.message();
    return graph_to_text(graph);
}

constexpr const char* kGelu =
    "graph \"g\" (x: f32[4]) -> (y: f32[4]) {\n"
    "  const root: f32[] = {0.70710678}\n"
    "  const one: f32[] = {1}\n"
    "  const half: f32[] = {0.5}\n"
    "  a = Mul(x, root)\n"
    "  b = Erf(a)\n"
    "  c = Add(b, one)\n"
    "  d = Mul(x, c)\n"
    "  y = Mul(d, half)\n"
    "}\n";

TEST(Pins, OfAPartAreThoseOfTheFusedNode) {
    NodeHistory history(NodeHistory::Pins{{"b", {"sim"}}});
    EXPECT_THAT(optimized(kGelu, history), ::testing::HasSubstr("y = Gelu(x)"));
    EXPECT_EQ(history.pin_of("y").device, "sim");
    ASSERT_FALSE(history.removed().empty());
    for (const RemovedNode& node : history.removed()) {
        EXPECT_EQ(node.fate, NodeFate::kJoined) << node.name;
        EXPECT_EQ(node.joined_into, "y");
    }
}

TEST(Pins, ThatDifferPreventFusion) {
    NodeHistory history(NodeHistory::Pins{{"b", {"sim"}}, {"d", {"cpu"}}});
    EXPECT_THAT(optimized(kGelu, history), ::testing::HasSubstr("b = Erf(a)"));
    EXPECT_EQ(history.pin_of("y").device, "");
    EXPECT_THAT(history.removed(), ::testing::IsEmpty());
}

//  x --> Relu --> y
//   \--> Relu --> z    equal nodes, one of them in the result where nothing forbids it
TEST(Pins, ThatDifferKeepEqualNodesApart) {
    constexpr const char* kTwins =
        "graph \"g\" (x: f32[4]) -> (y: f32[4]) {\n"
        "  a = Relu(x)\n"
        "  b = Relu(x)\n"
        "  y = Concat(a, b) {axis = 0}\n"
        "}\n";
    NodeHistory same(NodeHistory::Pins{{"b", {"cpu"}}});
    EXPECT_THAT(optimized(kTwins, same), ::testing::HasSubstr("Concat(a, a)"));
    EXPECT_EQ(same.pin_of("a").device, "cpu");
    NodeHistory differ(NodeHistory::Pins{{"a", {"sim"}}, {"b", {"cpu"}}});
    EXPECT_THAT(optimized(kTwins, differ), ::testing::HasSubstr("Concat(a, b)"));
    NodeHistory stages(NodeHistory::Pins{{"a", {"", 0}}, {"b", {"", 1}}});
    EXPECT_THAT(optimized(kTwins, stages), ::testing::HasSubstr("Concat(a, b)"));
}

// x --> MatMul(w) --> Relu --> Neg    an epilogue as far as the pins allow
TEST(Pins, ThatDifferEndAnEpilogue) {
    constexpr const char* kProduct =
        "graph \"g\" (x: f32[1,2], w: f32[2,2]) -> (y: f32[1,2]) {\n"
        "  a = MatMul(x, w)\n"
        "  b = Relu(a)\n"
        "  y = Neg(b)\n"
        "}\n";
    NodeHistory history(NodeHistory::Pins{{"b", {"sim"}}, {"y", {"cpu"}}});
    const std::string text = optimized(kProduct, history);
    EXPECT_THAT(text, ::testing::HasSubstr("y = Neg(b)"));
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("b = Relu")));
    EXPECT_EQ(history.pin_of("a").device, "sim");
}

TEST(Pins, OfConstantsAndIdentitiesAreGoneWithThem) {
    constexpr const char* kFolded =
        "graph \"g\" (x: f32[2]) -> (y: f32[2]) {\n"
        "  const c: f32[2] = {1, 2}\n"
        "  a = Neg(c)\n"
        "  b = Identity(x)\n"
        "  y = Add(a, b)\n"
        "}\n";
    NodeHistory history(NodeHistory::Pins{{"a", {"sim"}}, {"b", {"cpu"}}});
    EXPECT_THAT(optimized(kFolded, history), ::testing::HasSubstr("y = Add("));
    ASSERT_EQ(history.removed().size(), 2U);
    EXPECT_EQ(history.removed()[0].fate, NodeFate::kComputed);
    EXPECT_EQ(history.removed()[1].fate, NodeFate::kIdentity);
    EXPECT_EQ(history.pin_of("y").device, "");
}

TEST(Rewriter, KeepsItsIndexOfReaders) {
    GraphData graph = parse(
        "graph \"g\" (x: f32[4]) -> (y: f32[4]) {\n"
        "  a = Relu(x)\n"
        "  b = Exp(a)\n"
        "  c = Exp(a)\n"
        "  y = Add(b, c)\n"
        "}\n");
    NodeHistory history;
    Rewriter rewriter(graph, history);
    const ValueId a = graph.nodes[0].outputs[0];
    const ValueId b = graph.nodes[1].outputs[0];
    const ValueId c = graph.nodes[2].outputs[0];
    EXPECT_FALSE(rewriter.only_reader(a));
    EXPECT_EQ(rewriter.only_reader(b), NodeId{3});
    rewriter.replace_uses(c, b);
    rewriter.remove({2});
    EXPECT_EQ(rewriter.only_reader(a), NodeId{1});
    EXPECT_EQ(rewriter.readers(b).size(), 2U);
    EXPECT_TRUE(rewriter.is_unused(c));
    const NodeId added = rewriter.add_node("", "Neg", {b}, "neg");
    rewriter.set_input({3}, 1, graph.node(added).outputs[0]);
    const std::span<const NodeId> readers = rewriter.readers(b);
    EXPECT_EQ(std::vector<NodeId>(readers.begin(), readers.end()),
              (std::vector<NodeId>{{3}, added}));
    graph.compact();
    EXPECT_TRUE(verify_graph(graph).ok()) << verify_graph(graph).message();
}

TEST(ReshapeTarget, CopiesAllOpenExtentsButOne) {
    auto dims = [](std::vector<DimSpec> list) {
        return TypeInfo::tensor(DType::kFloat32, std::move(list));
    };
    EXPECT_THAT(*reshape_target(dims({"a", "b", 6}), dims({"a", "b", 2, 3})),
                ElementsAre(0, -1, 2, 3));
    EXPECT_THAT(*reshape_target(dims({"a", "b", 6}), dims({"a*b", 6})), ElementsAre(-1, 6));
    EXPECT_THAT(*reshape_target(dims({2, 6}), dims({3, 4})), ElementsAre(3, 4));
    EXPECT_THAT(*reshape_target(dims({"a", "b", 6}), dims({"a", 2, "b", 3})),
                ElementsAre(0, 2, -1, 3));
    EXPECT_FALSE(reshape_target(dims({"a", "b", 6}), dims({"b", "a", 6})));
    EXPECT_FALSE(reshape_target(dims({"a", 0}), dims({0, "a"})));
    // With c = 0 the elements do not say what a becomes.
    EXPECT_FALSE(reshape_target(dims({"a", "c"}), dims({"b", "c"})));
}

}  // namespace
}  // namespace leat
