// Random graphs with bodies in bodies keep their meaning in every form that a graph has.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "graph/graph_data.h"
#include "graph/text.h"
#include "passes/pipeline.h"
#include "support/random_bodies.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using testing_support::GraphWithBodies;
using testing_support::kDeepestBodies;
using testing_support::output_bytes;
using testing_support::random_graph_with_bodies;
using testing_support::without_numa;
using testing_support::without_signs_of_zero;

using Outputs = std::map<std::string, std::string>;

constexpr uint64_t kGraphs = 2000;

int depth_of(const GraphData& graph) {
    int depth = 0;
    for (const NodeData& node : graph.nodes) {
        for (const auto& [key, body] : node.bodies()) {
            depth = std::max(depth, 1 + depth_of(*body));
        }
    }
    return depth;
}

class BodiesMeaning : public ::testing::Test {
  protected:
    static Result<Outputs> run(const Graph& graph, const GraphWithBodies& made) {
        static const Runtime kRuntime(without_numa(1));
        CompileOptions options;
        options.devices = "reference";
        options.optimize = false;
        LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, kRuntime.compile(graph, options));
        return output_bytes(compiled, made.inputs);
    }
    // What the graph of a seed gives.
    static const Outputs& wanted(uint64_t seed) {
        static std::map<uint64_t, Outputs> known;
        const auto [found, is_new] = known.try_emplace(seed);
        if (is_new) {
            const GraphWithBodies made = random_graph_with_bodies(seed);
            const Result<Outputs> outputs = run(made.graph, made);
            EXPECT_TRUE(outputs.ok()) << seed << ": " << outputs.error().message() << "\n"
                                      << made.graph.to_text();
            found->second = outputs.ok() ? *outputs : Outputs();
        }
        return found->second;
    }
    // Through `form`, which makes another graph of one.
    template <class Form>
    static void expect_kept(Form form) {
        for (uint64_t seed = 0; seed < kGraphs; ++seed) {
            const GraphWithBodies made = random_graph_with_bodies(seed);
            const Result<Graph> other = form(made.graph);
            ASSERT_TRUE(other.ok()) << seed << ": " << other.error().message() << "\n"
                                    << made.graph.to_text();
            const Result<Outputs> found = run(*other, made);
            ASSERT_TRUE(found.ok()) << seed << ": " << found.error().message() << "\n"
                                    << other->to_text();
            ASSERT_EQ(*found, wanted(seed)) << seed << "\n"
                                            << made.graph.to_text() << other->to_text();
        }
    }

    ScratchFolder folder_;
};

TEST_F(BodiesMeaning, TheGraphsAreDeepAndDifferent) {
    std::set<std::string> texts;
    int deepest = 0;
    for (uint64_t seed = 0; seed < kGraphs; ++seed) {
        const GraphWithBodies made = random_graph_with_bodies(seed);
        texts.insert(made.graph.to_text());
        deepest += int(depth_of(made.graph.data()) == kDeepestBodies);
    }
    EXPECT_EQ(texts.size(), kGraphs);
    EXPECT_GE(deepest, int(kGraphs / 4));
}

TEST_F(BodiesMeaning, IsKeptByTheTextForm) {
    expect_kept([](const Graph& graph) -> Result<Graph> {
        const std::string text = graph_to_text(graph.data(), -1);
        LEAT_ASSIGN_OR_RETURN(Graph parsed, parse_graph(text));
        const std::string again = graph_to_text(parsed.data(), -1);
        return again == text ? Result<Graph>(std::move(parsed))
                             : invalid_argument("the text is another one: {}", again);
    });
}

TEST_F(BodiesMeaning, IsKeptByOnnxFiles) {
    const std::string file = (folder_.path() / "model.onnx").string();
    expect_kept([&](const Graph& graph) -> Result<Graph> {
        LEAT_RETURN_IF_ERROR(save_onnx(graph, file));
        return load_onnx(file);
    });
}

TEST_F(BodiesMeaning, IsKeptByPasses) {
    for (const bool optimize : {false, true}) {
        expect_kept([&](const Graph& graph) -> Result<Graph> {
            Graph rewritten = graph;
            std::vector<PassReport> reports;
            LEAT_RETURN_IF_ERROR(run_passes(rewritten.data(), {.optimize = optimize}, reports));
            return rewritten;
        });
    }
}

// Changes every constant of the graph and of its bodies, and what each node is called.
void spoil(GraphData& graph) {
    graph.name += " spoilt";
    for (ValueData& value : graph.values) {
        value.name += " spoilt";
        if (value.constant) {
            value.constant = *Tensor::allocate(value.constant->dtype(), value.constant->shape());
        }
    }
    for (NodeData& node : graph.nodes) {
        node.name += " spoilt";
        for (const auto& [key, body] : node.bodies()) {
            spoil(*body);
        }
    }
}

TEST_F(BodiesMeaning, OfACopyIsItsOwn) {
    for (uint64_t seed = 0; seed < kGraphs; ++seed) {
        const GraphWithBodies made = random_graph_with_bodies(seed);
        const std::string text = graph_to_text(made.graph.data(), -1);
        Graph copy = made.graph;
        ASSERT_EQ(graph_to_text(copy.data(), -1), text);
        spoil(copy.data());
        ASSERT_EQ(graph_to_text(made.graph.data(), -1), text) << seed;
        Graph assigned;
        assigned = made.graph;
        Graph original = made.graph;
        spoil(original.data());
        ASSERT_EQ(graph_to_text(assigned.data(), -1), text) << seed;
    }
}

TEST_F(BodiesMeaning, IsKeptBySavedFiles) {
    const std::string file = (folder_.path() / "graph.leat").string();
    const Runtime runtime(without_numa(1));
    for (uint64_t seed = 0; seed < kGraphs; ++seed) {
        const GraphWithBodies made = random_graph_with_bodies(seed);
        const Result<CompiledGraph> compiled = runtime.compile(made.graph);
        ASSERT_TRUE(compiled.ok()) << seed << ": " << compiled.error().message();
        const Status saved = compiled->save(file);
        ASSERT_TRUE(saved.ok()) << seed << ": " << saved.message();
        const Result<CompiledGraph> loaded = runtime.load(file);
        ASSERT_TRUE(loaded.ok()) << seed << ": " << loaded.error().message();
        const Result<Outputs> found = output_bytes(*loaded, made.inputs);
        ASSERT_TRUE(found.ok()) << seed << ": " << found.error().message();
        ASSERT_EQ(without_signs_of_zero(*loaded, *found),
                  without_signs_of_zero(*loaded, wanted(seed)))
            << seed << "\n"
            << made.graph.to_text();
        ASSERT_EQ(loaded->to_text(), compiled->to_text()) << seed;
    }
}

//  c --> If {RandomUniform} --> y
TEST(RandomNumbersOfBodies, AreDrawnInEachRun) {
    for (const char* device : {"cpu", "reference"}) {
        Graph branch("branch");
        branch.output("drawn",
                      branch.add("RandomUniform", {}, {{"shape", std::vector<int64_t>{64}}}));
        Graph graph("draws");
        const ValueId condition = graph.input("c", DType::kBool, {});
        graph.output("y", graph.if_(condition, branch, branch)[0]);
        const Runtime runtime(without_numa(1));
        const Result<CompiledGraph> compiled = runtime.compile(graph, {.devices = device});
        ASSERT_TRUE(compiled.ok()) << device << ": " << compiled.error().message();
        Request request = *compiled->make_request();
        Tensor chosen = *Tensor::allocate(DType::kBool, {});
        ASSERT_TRUE(request.bind("c", chosen).ok());
        std::set<float> drawn;
        for (int run = 0; run < 3; ++run) {
            const Status status = request.run();
            ASSERT_TRUE(status.ok()) << device << ": " << status.message();
            for (const float number : request.get<float>("y")) {
                EXPECT_TRUE(number >= 0 && number < 1) << number;
                drawn.insert(number);
            }
        }
        EXPECT_GT(drawn.size(), 180U) << device << ": 3 runs of 64 numbers";
    }
}

}  // namespace
}  // namespace leat
