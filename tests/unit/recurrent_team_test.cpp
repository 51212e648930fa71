// LSTM, GRU and RNN whose steps several workers share: the same bits as by one, also in bodies, in
// several requests at a time, and after a run that ended early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;

constexpr int64_t kInputs = 5;

struct Layer {
    std::string op = "LSTM";
    Attributes attributes = {};
    int64_t units = 264;
    int64_t batch = 1;
    int64_t steps = 12;
    bool has_peepholes = false;

    int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
    int64_t directions() const {
        const auto direction = attributes.find("direction");
        const bool is_both = direction != attributes.end() &&
                             std::get<std::string>(direction->second) == "bidirectional";
        return is_both ? 2 : 1;
    }
};

Tensor random_tensor(const Shape& shape, uint64_t seed) {
    SplitMix random(seed);
    std::vector<float> values(size_t(shape.element_count()));
    for (float& value : values) {
        value = 0.2F * (float(random.next() % 2001) / 1000.0F - 1.0F);
    }
    return *Tensor::from<float>(shape, values);
}

// x, lengths -> y, y_h, y_c. `h`: the state before, or none.
std::vector<ValueId> add_layer(
    Graph& graph, const Layer& layer, ValueId x, ValueId lengths, ValueId h) {
    const int64_t d = layer.directions();
    const int64_t rows = layer.gates() * layer.units;
    std::vector<ValueId> inputs = {x,
                                   graph.constant("w", random_tensor({d, rows, kInputs}, 1)),
                                   graph.constant("r", random_tensor({d, rows, layer.units}, 2)),
                                   graph.constant("b", random_tensor({d, 2 * rows}, 3)),
                                   lengths,
                                   h};
    if (layer.has_peepholes) {
        inputs.push_back(ValueId{});
        inputs.push_back(graph.constant("p", random_tensor({d, 3 * layer.units}, 4)));
    }
    return graph.add_multi(layer.op, inputs, layer.op == "LSTM" ? 3 : 2, layer.attributes, "layer");
}

Graph graph_of(const Layer& layer) {
    Graph graph(layer.op);
    const ValueId x = graph.input("x", DType::kFloat32, {layer.steps, layer.batch, kInputs});
    const ValueId lengths = graph.input("lengths", DType::kInt32, {layer.batch});
    const std::vector<ValueId> outputs = add_layer(graph, layer, x, lengths, ValueId{});
    for (size_t i = 0; i < outputs.size(); ++i) {
        graph.output("y" + std::to_string(i), outputs[i]);
    }
    return graph;
}

using Results = std::vector<std::vector<float>>;

Results results_of(const Request& request, size_t count) {
    Results results;
    for (size_t i = 0; i < count; ++i) {
        const std::span<const float> elements = request.get<float>("y" + std::to_string(i));
        results.emplace_back(elements.begin(), elements.end());
    }
    return results;
}

// x depends on the seed: a run that leaves everything as it was does not pass for one.
void bind(Request& request, const Layer& layer, uint64_t seed) {
    const Shape x{layer.steps, layer.batch, kInputs};
    EXPECT_TRUE(request.bind("x", random_tensor(x, seed)).ok());
    std::vector<int32_t> lengths;
    for (int64_t n = 0; n < layer.batch; ++n) {
        lengths.push_back(int32_t(n == 0 ? layer.steps : (n * 5) % layer.steps));
    }
    EXPECT_TRUE(request.bind("lengths", *Tensor::from<int32_t>({layer.batch}, lengths)).ok());
}

constexpr uint64_t kSeeds = 3;

// By seed, of runs of one request.
std::vector<Results> run(const CompiledGraph& compiled, const Layer& layer) {
    Request request = *compiled.make_request();
    std::vector<Results> results;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        bind(request, layer, seed);
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
        results.push_back(results_of(request, layer.op == "LSTM" ? 3 : 2));
    }
    return results;
}

std::vector<Results> run_with(int threads, const Layer& layer) {
    const Runtime runtime({.threads = threads});
    return run(*runtime.compile(graph_of(layer)), layer);
}

Layer layer_of(const std::string& op, int64_t batch, const char* direction) {
    Layer layer{op, {{"direction", std::string(direction)}}};
    layer.batch = batch;
    layer.has_peepholes = op == "LSTM" && batch == 3;
    return layer;
}

std::vector<Layer> layers() {
    std::vector<Layer> layers;
    for (const int64_t batch : {1, 3}) {
        for (const char* direction : {"forward", "reverse", "bidirectional"}) {
            for (const char* op : {"LSTM", "GRU", "RNN"}) {
                layers.push_back(layer_of(op, batch, direction));
            }
            layers.push_back(layer_of("GRU", batch, direction));
            layers.back().attributes.emplace("linear_before_reset", int64_t{1});
        }
    }
    return layers;
}

TEST(RecurrentTeam, GivesTheSameBitsWithAnyNumberOfThreads) {
    for (const Layer& layer : layers()) {
        const Graph graph = graph_of(layer);
        const std::vector<Results> one = run_with(1, layer);
        for (const int threads : {2, 3, 4}) {
            SCOPED_TRACE(layer.op + ", " + std::to_string(layer.directions()) + " directions, " +
                         std::to_string(threads) + " threads");
            const Runtime runtime({.threads = threads});
            const CompiledGraph compiled = *runtime.compile(graph);
            // A direction is a piece, and pieces that come out even need no team.
            const bool has_team = layer.directions() % threads != 0;
            EXPECT_EQ(compiled.report().plans.at(0).tile_count > layer.directions(), has_team);
            ASSERT_EQ(run(compiled, layer), one);
        }
    }
}

TEST(RecurrentTeam, RunsInSeveralRequestsAtATime) {
    const Layer layer{"GRU"};
    const Runtime runtime({.threads = 2});
    const CompiledGraph compiled = *runtime.compile(graph_of(layer));
    const std::vector<Results> wanted = run_with(1, layer);
    constexpr size_t kCallers = 3;
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    for (size_t caller = 0; caller < kCallers; ++caller) {
        callers.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
                EXPECT_EQ(run(compiled, layer), wanted);
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
}

// Wherever the deadline strikes, tiles of the team may be left that never run.
TEST(RecurrentTeam, RunsAfreshAfterARunThatMissedItsDeadline) {
    Layer layer{"LSTM"};
    layer.steps = 60;
    const Runtime runtime({.threads = 2});
    const CompiledGraph compiled = *runtime.compile(graph_of(layer));
    const std::vector<Results> wanted = run_with(1, layer);
    Request request = *compiled.make_request();
    int missed = 0;
    for (int i = 0; i < 40; ++i) {
        bind(request, layer, uint64_t(i) % kSeeds);
        const Status status = request.run({.deadline = std::chrono::microseconds(10 * i)});
        EXPECT_THAT(status.code(), AnyOf(Eq(StatusCode::kTimeout), Eq(StatusCode::kOk)));
        missed += status.ok() ? 0 : 1;
        const uint64_t seed = uint64_t(i + 1) % kSeeds;
        bind(request, layer, seed);
        ASSERT_TRUE(request.run().ok());
        ASSERT_EQ(results_of(request, 3), wanted[seed]);
    }
    EXPECT_GT(missed, 0);
}

//  h -> [LSTM of a sequence, from h] -> h, for each of several sequences
Graph sequences_in_a_body(const Layer& layer, int64_t sequences) {
    Graph graph("sequences");
    const ValueId x =
        graph.input("x", DType::kFloat32, {sequences, layer.steps, layer.batch, kInputs});
    const ValueId h = graph.input("h", DType::kFloat32, {1, layer.batch, layer.units});
    Graph body("body");
    const ValueId own = body.input("own", DType::kFloat32, {1, layer.batch, layer.units});
    const ValueId part = body.input("part", DType::kFloat32, {layer.steps, layer.batch, kInputs});
    const std::vector<ValueId> outputs = add_layer(body, layer, part, ValueId{}, own);
    body.output("next", outputs[1]);
    body.output("y", outputs[0]);
    const std::vector<ValueId> results = graph.scan({h}, {x}, std::move(body));
    graph.output("y0", results[1]);
    graph.output("y1", results[0]);
    return graph;
}

TEST(RecurrentTeam, GivesTheSameBitsInABody) {
    for (const char* op : {"LSTM", "GRU", "RNN"}) {
        Layer layer{op};
        layer.steps = 50;
        constexpr int64_t kSequences = 5;
        const Graph graph = sequences_in_a_body(layer, kSequences);
        const Tensor x = random_tensor({kSequences, layer.steps, layer.batch, kInputs}, 8);
        const Tensor h = random_tensor({1, layer.batch, layer.units}, 9);
        Results one;
        for (const int threads : {1, 2, 3}) {
            const Runtime runtime({.threads = threads});
            const CompiledGraph compiled = *runtime.compile(graph);
            const std::vector<BodyReport> bodies = compiled.report().plans.at(0).bodies;
            ASSERT_EQ(bodies.size(), 1U);
            EXPECT_EQ(bodies[0].is_shared, threads > 1) << op;
            for (int i = 0; i < 3; ++i) {
                Request request = *compiled.make_request();
                ASSERT_TRUE(request.bind("x", x).ok());
                ASSERT_TRUE(request.bind("h", h).ok());
                ASSERT_TRUE(request.run().ok());
                const Results got = results_of(request, 2);
                one = one.empty() ? got : one;
                ASSERT_EQ(got, one) << op << ", " << threads << " threads";
            }
        }
    }
}

// Each step of the profile is timed by one thread, which is all of the team then.
TEST(RecurrentTeam, IsProfiledByOneThread) {
    const Layer layer{"RNN"};
    const Runtime runtime({.threads = 2});
    const CompiledGraph compiled = *runtime.compile(graph_of(layer));
    const std::vector<Results> wanted = run_with(1, layer);
    Request request = *compiled.make_request();
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        bind(request, layer, seed);
        ASSERT_TRUE(request.profile().ok());
        EXPECT_EQ(results_of(request, 2), wanted[seed]);
    }
}

}  // namespace
}  // namespace leat
