// Runs of LSTM, GRU and RNN: with any number of threads, of a sequence in pieces, and with lengths
// that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr int64_t kInputs = 7;
constexpr int64_t kUnits = 21;

std::vector<float> random_floats(int64_t count, uint64_t seed) {
    SplitMix random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
        value = float(random.next() % 2001) / 2000.0F - 0.5F;
    }
    return values;
}

Tensor random_tensor(const Shape& shape, uint64_t seed) {
    return *Tensor::from<float>(shape, random_floats(shape.element_count(), seed));
}

int64_t gates_of(const std::string& op) {
    return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
}
int states_of(const std::string& op) {
    return op == "LSTM" ? 2 : 1;
}

// x [steps, batch, kInputs], lengths, and states h0, c0 -> y, y_h, y_c
Graph recurrent_graph(const std::string& op, Attributes attributes = {}) {
    Graph graph(op);
    const bool is_both = attributes.count("direction") != 0;
    const int64_t directions = is_both ? 2 : 1;
    const int64_t rows = gates_of(op) * kUnits;
    std::vector<ValueId> inputs = {
        graph.input("x", DType::kFloat32, {"steps", "batch", kInputs}),
        graph.constant("w", random_tensor({directions, rows, kInputs}, 1)),
        graph.constant("r", random_tensor({directions, rows, kUnits}, 2)),
        graph.constant("b", random_tensor({directions, 2 * rows}, 3)),
        graph.input("lengths", DType::kInt32, {"batch"})};
    for (int i = 0; i < states_of(op); ++i) {
        inputs.push_back(
            graph.input(i == 0 ? "h0" : "c0", DType::kFloat32, {directions, "batch", kUnits}));
    }
    const std::vector<ValueId> outputs =
        graph.add_multi(op, inputs, 1 + states_of(op), std::move(attributes), "layer");
    const char* const names[] = {"y", "y_h", "y_c"};
    for (size_t i = 0; i < outputs.size(); ++i) {
        graph.output(names[i], outputs[i]);
    }
    return graph;
}

using Values = std::map<std::string, std::vector<float>>;

struct Given {
    int64_t steps = 0;
    std::vector<float> x = {};
    std::vector<int32_t> lengths = {};
    Values states = {};  // by input
};

Result<Values> run(const CompiledGraph& compiled, const std::string& op, const Given& given) {
    Request request = *compiled.make_request();
    const auto batch = int64_t(given.lengths.size());
    EXPECT_TRUE(request.bind<float>("x", {given.steps, batch, kInputs}, given.x).ok());
    EXPECT_TRUE(request.bind<int32_t>("lengths", {batch}, given.lengths).ok());
    for (const auto& [name, elements] : given.states) {
        const auto directions = int64_t(elements.size()) / (batch * kUnits);
        EXPECT_TRUE(request.bind<float>(name, {directions, batch, kUnits}, elements).ok());
    }
    if (Status status = request.run(); !status.ok()) {
        return status;
    }
    Values results;
    for (const char* name : {"y", "y_h", "y_c"}) {
        if (std::string(name) != "y_c" || op == "LSTM") {
            const std::span<const float> elements = request.get<float>(name);
            results[name].assign(elements.begin(), elements.end());
        }
    }
    return results;
}

class Recurrent : public ::testing::TestWithParam<std::string> {};

// Several tiles, whose sequences have lengths of their own.
TEST_P(Recurrent, GivesTheSameBitsWithAnyNumberOfThreads) {
    constexpr int64_t kBatch = 50;
    constexpr int64_t kSteps = 12;
    Given given{kSteps, random_floats(kSteps * kBatch * kInputs, 4)};
    for (int32_t n = 0; n < kBatch; ++n) {
        given.lengths.push_back(int32_t(n * int64_t{5} % (kSteps + 1)));
    }
    given.states["h0"] = random_floats(2 * kBatch * kUnits, 5);
    if (GetParam() == "LSTM") {
        given.states["c0"] = random_floats(2 * kBatch * kUnits, 6);
    }
    const Graph graph = recurrent_graph(GetParam(), {{"direction", std::string("bidirectional")}});
    Values one;
    for (const int threads : {1, 2, 3, 4}) {
        const Runtime runtime({.threads = threads});
        const Result<Values> values = run(*runtime.compile(graph), GetParam(), given);
        ASSERT_TRUE(values.ok()) << values.error().message();
        one = threads == 1 ? *values : one;
        for (const auto& [name, elements] : *values) {
            EXPECT_THAT(elements, ElementsAreArray(one.at(name))) << name << ", " << threads;
        }
    }
}

// What a stream does that has its steps one after the other.
TEST_P(Recurrent, GivesTheSameBitsForASequenceInPieces) {
    constexpr int64_t kSteps = 70;
    constexpr int64_t kCut = 23;
    const Runtime runtime({.threads = 1});
    for (const char* backend : {"cpu", "reference"}) {
        const CompileOptions options{.devices = backend};
        const CompiledGraph compiled =
            *runtime.compile(recurrent_graph(GetParam(), {{"clip", 3.0F}}), options);
        Given given{kSteps, random_floats(kSteps * kInputs, 7), {int32_t{kSteps}}};
        given.states["h0"] = random_floats(kUnits, 8);
        if (GetParam() == "LSTM") {
            given.states["c0"] = random_floats(kUnits, 9);
        }
        const Values whole = *run(compiled, GetParam(), given);
        Given first{kCut, {given.x.begin(), given.x.begin() + kCut * kInputs}, {int32_t{kCut}}};
        first.states = given.states;
        const Values begin = *run(compiled, GetParam(), first);
        Given rest{kSteps - kCut,
                   {given.x.begin() + kCut * kInputs, given.x.end()},
                   {int32_t{kSteps - kCut}}};
        rest.states["h0"] = begin.at("y_h");
        if (GetParam() == "LSTM") {
            rest.states["c0"] = begin.at("y_c");
        }
        const Values end = *run(compiled, GetParam(), rest);
        std::vector<float> y = begin.at("y");
        y.insert(y.end(), end.at("y").begin(), end.at("y").end());
        EXPECT_THAT(y, ElementsAreArray(whole.at("y"))) << backend;
        EXPECT_THAT(end.at("y_h"), ElementsAreArray(whole.at("y_h"))) << backend;
    }
}

TEST_P(Recurrent, NamesALengthThatTheSequenceCannotHave) {
    const Runtime runtime({.threads = 2});
    for (const char* backend : {"cpu", "reference"}) {
        const CompileOptions options{.devices = backend};
        const CompiledGraph compiled = *runtime.compile(recurrent_graph(GetParam()), options);
        for (const int32_t length : {-1, 6}) {
            Given given{5, random_floats(10 * kInputs, 7), {5, length}};
            given.states["h0"] = random_floats(2 * kUnits, 8);
            if (GetParam() == "LSTM") {
                given.states["c0"] = random_floats(2 * kUnits, 9);
            }
            const Result<Values> values = run(compiled, GetParam(), given);
            ASSERT_FALSE(values.ok());
            EXPECT_THAT(
                values.error().message(),
                AllOf(HasSubstr("node 'layer' (" + GetParam() + ")"), HasSubstr("sequence_lens"),
                      HasSubstr(std::to_string(length) + " of sequence 1"), HasSubstr("0 to 5")));
            given.lengths[1] = 4;
            EXPECT_TRUE(run(compiled, GetParam(), given).ok());
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Of,
                         Recurrent,
                         ::testing::Values("LSTM", "GRU", "RNN"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace leat
